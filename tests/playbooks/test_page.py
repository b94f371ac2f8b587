"""What docs/playbooks.md says of the shipped playbooks is what they are; each of them passes lint without a word."""

import json
import subprocess
import sys

import pytest

from tests.playbooks.page import FOLDER, ROOT, figure, playbooks

PAGE = (ROOT / "docs" / "playbooks.md").read_text()


@pytest.mark.parametrize("name", playbooks())
def test_the_page_has_a_section_with_the_figure_of(name):
    _, found, after = PAGE.partition(f"\n## {name}\n")
    assert found, f"docs/playbooks.md has no section {name}"
    section = after.partition("\n## ")[0]
    assert figure(playbooks()[name]) in section, "`python -m tests.playbooks.page` prints it as it has to be"


def test_the_page_has_no_section_of_a_playbook_that_is_gone():
    sections = {line.removeprefix("## ") for line in PAGE.splitlines() if line.startswith("## ")}
    assert sections - set(playbooks()) == {"Using one"}


def test_all_shipped_playbooks_pass_lint_without_a_word():
    argv = [sys.executable, "-m", "stackplan", "lint", "--strict", "--format", "json", *sorted(FOLDER.glob("*.yaml"))]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stdout
    review = json.loads(done.stdout)
    assert (review["diagnoses"], review["ignored"]) == ([], [])


@pytest.mark.parametrize("name", playbooks())
def test_a_playbook_says_where_its_versions_are_from_and_takes_one_node_first(name):
    text, document = (FOLDER / f"{name}.yaml").read_text(), playbooks()[name]
    if any("version" in variable for variable in document["vars"]):
        assert "on 2026-12-01" in text
    if any("checkpoint" not in step for step in document["steps"]):
        assert document["rollout"]["canary"] == 1
    assert document["description"]
    for step in document["steps"]:
        # What a step installs from an index is plain; everything else says why it is there.
        assert step.get("why") or {"python_packages", "slurm_node", "kubernetes_node", "service"} & step.keys(), step[
            "id"
        ]
