"""`stackplan init`: what it writes is fit to be used at once, and what is there already stays as it is."""

import json
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FILES = {
    "inventory.yaml",
    ".gitignore",
    ".pre-commit-config.yaml",
    ".github/workflows/stackplan.yaml",
    "README.md",
    "playbooks/cuda13-blackwell.yaml",
    "schemas/playbook.v1.json",
    "schemas/inventory.v1.json",
}


def written(folder):
    return {str(it.relative_to(folder)) for it in folder.rglob("*") if it.is_file()}


def test_the_files_and_what_is_said(stackplan, project):
    done = stackplan("init", "ops")
    assert done.returncode == 0, done.stderr
    assert written(project / "ops") == FILES
    assert {f"ops/{name}" for name in FILES} <= set(done.stdout.splitlines())
    assert "  cd ops\n  stackplan lint playbooks/cuda13-blackwell.yaml\n" in done.stdout
    assert "OWNER/stackplan and REVISION" in done.stdout
    told = (project / "ops/README.md").read_text()
    assert "## To fill in" in told
    assert "a tag or commit of it" in told


def test_it_lints_clean_with_its_inventory(stackplan):
    assert stackplan("init", "ops").returncode == 0
    done = stackplan(
        "lint", "ops/playbooks/cuda13-blackwell.yaml", "-i", "ops/inventory.yaml", "--strict", "--format", "json"
    )
    assert done.returncode == 0, done.stdout
    assert json.loads(done.stdout)["diagnoses"] == []


def test_plan_finds_the_playbook_by_name_and_the_inventory(stackplan, project):
    assert stackplan("init").returncode == 0
    inventory = project / "inventory.yaml"
    # An address where nothing answers, whatever this machine's resolver makes of the names.
    text = inventory.read_text().replace("gpu-01:\n", "gpu-01: {host: 127.0.0.1, port: 1}\n")
    inventory.write_text(text.replace("      gpu-02:\n", ""))
    done = stackplan("plan", "cuda13-blackwell", "--format", "json")
    assert done.returncode == 4, done.stderr
    (node,) = json.loads(done.stdout)["nodes"]
    assert (node["node"], node["outcome"]) == ("gpu-01", "unreachable")


@pytest.mark.parametrize("name", sorted(FILES))
def test_nothing_is_overwritten_and_then_nothing_is_written(stackplan, project, name):
    mine = project / name
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text("mine\n")
    done = stackplan("init")
    assert done.returncode == 2
    assert f". has {name} already, and nothing was written" in done.stderr
    assert mine.read_text() == "mine\n"
    assert written(project) == {name}


def test_a_link_that_leads_nowhere_is_not_written_through(stackplan, project, tmp_path):
    (project / "inventory.yaml").symlink_to(tmp_path / "elsewhere.yaml")
    assert stackplan("init").returncode == 2
    assert not (tmp_path / "elsewhere.yaml").exists()


def test_the_source_stands_in_the_workflow_and_the_hook(stackplan, project):
    done = stackplan("init", "--source", "my-team/plans@v1.2")
    assert done.returncode == 0, done.stderr
    assert "OWNER" not in done.stdout
    steps = yaml.safe_load((project / ".github/workflows/stackplan.yaml").read_text())["jobs"]["review"]["steps"]
    (review,) = [step for step in steps if step.get("id") == "stackplan"]
    assert review["uses"] == "my-team/plans@v1.2"
    assert (project / review["with"]["playbook"]).is_file()
    inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    assert set(review["with"]) <= set(inputs)
    (repo,) = yaml.safe_load((project / ".pre-commit-config.yaml").read_text())["repos"]
    hooks = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    assert (repo["repo"], repo["rev"]) == ("https://github.com/my-team/plans", "v1.2")
    assert {hook["id"] for hook in repo["hooks"]} <= hooks
    texts = {name: (project / name).read_text() for name in FILES}
    assert [name for name, text in texts.items() if "OWNER" in text or "REVISION" in text] == []


@pytest.mark.parametrize("source", ["stackplan", "my-team/plans", "my-team/plans@", "a b/c@d", "a/b@c; x"])
def test_a_source_that_is_none_is_refused(stackplan, project, source):
    done = stackplan("init", "--source", source)
    assert done.returncode == 2
    assert "`--source` names no repository of GitHub" in done.stderr
    assert written(project) == set()


def test_a_folder_that_cannot_be_made_is_told(stackplan, project):
    (project / "a").write_text("a file\n")
    done = stackplan("init", "a/b")
    assert done.returncode == 2
    assert "a/b/inventory.yaml cannot be written: Not a directory" in done.stderr
