"""Playbooks as people write them, with nothing wrong in them: no rule may speak."""

from pathlib import Path

import pytest

from stackplan.engine.bind import faults
from stackplan.language import linting, playbook
from stackplan.language.alone import render_alone
from stackplan.language.template import as_written

GOOD = sorted((Path(__file__).parent / "good").glob("*.yaml"))


def test_there_are_ten_of_them():
    assert len(GOOD) >= 10


@pytest.mark.parametrize("path", GOOD, ids=lambda it: it.stem)
def test_a_good_playbook_is_left_alone(path):
    read = playbook.read(path)
    rendering = render_alone(read)
    wrong = [*rendering.wrong, *faults(rendering.playbook, as_written)]
    found = linting.review(read, rendering.playbook).findings
    assert [(it.code, str(it.at), it.summary) for it in (*wrong, *found)] == []
