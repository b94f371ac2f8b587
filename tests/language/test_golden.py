"""Every file of tests/playbooks/bad has what people read about it beside it; every file of good reads.

`pytest tests/reports tests/language --update-golden` writes the expected messages anew; they are reviewed like code.
"""

from pathlib import Path

import pytest

from stackplan.language import playbook
from stackplan.model.diagnosis import Invalid
from stackplan.reports import diagnostics

PLAYBOOKS = Path(__file__).parents[1] / "playbooks"
BAD = sorted(path.name for path in (PLAYBOOKS / "bad").glob("*.yaml"))
GOOD = sorted(path.name for path in (PLAYBOOKS / "good").glob("*.yaml"))


@pytest.mark.parametrize("name", BAD)
def test_bad_playbook_is_explained(name, monkeypatch, request):
    folder = PLAYBOOKS / "bad"
    monkeypatch.chdir(folder)
    with pytest.raises(Invalid, match=r"\w") as caught:
        playbook.read(Path(name), root=folder)
    text = diagnostics.render(caught.value.diagnoses, colour=False)
    text = text.replace(str(folder), "[PROJECT]")
    expected = folder / f"{Path(name).stem}.expected.txt"
    if request.config.getoption("--update-golden", default=False):
        expected.write_text(text, encoding="utf-8")
    assert text == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", BAD)
def test_every_diagnosis_has_a_place_in_a_file(name, monkeypatch):
    folder = PLAYBOOKS / "bad"
    monkeypatch.chdir(folder)
    with pytest.raises(Invalid, match=r"\w") as caught:
        playbook.read(Path(name), root=folder)
    for diagnosis in caught.value.diagnoses:
        assert diagnosis.at is not None
        assert Path(diagnosis.at.path).exists()
    assert list(caught.value.diagnoses) == sorted(caught.value.diagnoses, key=lambda it: it.at)


@pytest.mark.parametrize("name", GOOD)
def test_good_playbook_reads(name):
    found = playbook.read(PLAYBOOKS / "good" / name, root=PLAYBOOKS / "good")
    assert found.name == Path(name).stem.replace("_", "-")
    assert found.steps


def test_no_expectation_is_orphaned():
    expected = {path.name.removesuffix(".expected.txt") for path in (PLAYBOOKS / "bad").glob("*.expected.txt")}
    assert expected == {Path(name).stem for name in BAD}
