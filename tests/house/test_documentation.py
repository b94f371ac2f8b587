"""The documentation: what it shows as a whole playbook is one that lint has nothing to say about."""

import os
import re
from pathlib import Path

import pytest

from tests import command_line

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
"""Not the reference: it shows the rules' failing examples, which have tests of their own."""
BLOCK = re.compile(r"^```ya?ml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def whole_playbooks(text: str) -> list[str]:
    return [
        block
        for block in BLOCK.findall(text)
        if re.search(r"^stackplan:", block, re.MULTILINE) and re.search(r"^steps:", block, re.MULTILINE)
    ]


def test_every_whole_playbook_in_the_documentation_lints_clean(tmp_path):
    (tmp_path / ".git").mkdir()
    names = []
    for page in PAGES:
        for index, block in enumerate(whole_playbooks(page.read_text("utf-8"))):
            names.append(f"{page.stem}-{index}.yaml")
            (tmp_path / names[-1]).write_text(block, "utf-8")
    assert {"README-0.yaml", "playbook-0.yaml"} <= set(names)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    ended = command_line.run("lint", "--strict", *names, environment=environment, folder=tmp_path)
    assert ended.returncode == 0, ended.stdout
    assert "no problem found." in ended.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_line_of_prose_is_longer_than_a_screen(page):
    """Tables and code have lines as long as they need; `architecture.md` and `field.md` consist of them."""
    fenced, long = False, []
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        fenced ^= line.startswith("```")
        if len(line) > 200 and not fenced and not line.startswith(("|", "```")):
            long.append(number)
    assert long == []
