"""A playbook read from noted files is the one that was read from the disk, whatever is on the disk by then."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from stackplan.language import playbook as playbooks
from stackplan.language.secrets import Secrets
from stackplan.language.snapshot import Noting, Snapshot, SnapshotFile
from stackplan.language.template import render
from stackplan.language.variables import scope, settled
from stackplan.model.diagnosis import Invalid
from stackplan.model.node import Node, NodeName

PLAYBOOK = """\
stackplan: 1
nodes: all
vars_files: [../shared/vars.yaml]
steps:
  - include: ../shared/steps.yaml
"""
STEPS = """\
- id: greet
  file: {path: /motd, template: motd.txt}
  postconditions: [{file: {path: /motd}}]
"""
NODE = Node(name=NodeName("gpu"))


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    for path, text in {
        "real/p.yaml": PLAYBOOK,
        "shared/vars.yaml": "greeting: hello\n",
        "shared/steps.yaml": STEPS,
        "shared/motd.txt": "{{ greeting }} all\n",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rendered(path, files):
    read = playbooks.read(path, files=files)
    return read, render(read, scope(read, NODE), files)


def noted(path):
    """Read and render from the disk; return both and the snapshot."""
    files = Noting()
    read, filled = rendered(path, files)
    return read, filled, Snapshot(Path.cwd(), files.root, files.files.values(), "a1b2")


@pytest.mark.parametrize("linked", [False, True])
def test_what_is_read_from_a_snapshot_is_what_was_read_from_the_disk(here, monkeypatch, linked):
    path = Path("real/p.yaml")
    if linked:
        (here / "elsewhere").mkdir()
        path = Path("elsewhere/link.yaml")
        path.symlink_to(here / "real" / "p.yaml")
    read, filled, snapshot = noted(path)
    (here / "other").mkdir()
    monkeypatch.chdir(here / "other")
    for folder in ("real", "shared"):
        shutil.rmtree(here / folder)
    again, filled_again = rendered(path, snapshot)
    assert replace(again, revision=None) == replace(read, revision=None)
    assert again.revision == "a1b2"
    assert filled_again.steps == filled.steps
    assert filled_again.steps[0].action.arguments.values["content"] == "hello all\n"


def test_nothing_but_the_snapshot_is_read(here):
    _, _, snapshot = noted(Path("real/p.yaml"))
    (here / "shared" / "motd.txt").write_text("changed\n")
    (here / "real" / "new.yaml").write_text(PLAYBOOK)
    _, filled = rendered(Path("real/p.yaml"), snapshot)
    assert filled.steps[0].action.arguments.values["content"] == "hello all\n"
    with pytest.raises(Invalid, match=r"`real/new\.yaml` is not among the files of the plan"):
        playbooks.read(Path("real/new.yaml"), files=snapshot)


def test_a_file_that_was_taken_out_of_a_snapshot_is_missing(here):
    files = Noting()
    rendered(Path("real/p.yaml"), files)
    kept = [file for name, file in files.files.items() if not name.endswith("motd.txt")]
    snapshot = Snapshot(here, here, kept, None)
    with pytest.raises(Invalid, match=r"there is no file `motd\.txt`"):
        rendered(Path("real/p.yaml"), snapshot)


def test_a_snapshot_does_not_lead_out_of_its_project(here):
    text = PLAYBOOK.replace("../shared/steps.yaml", "/etc/passwd")
    files = [SnapshotFile(path="real/p.yaml", resolved=str(here / "real/p.yaml"), text=text)]
    with pytest.raises(Invalid, match="leads out of the project's folder"):
        playbooks.read(Path("real/p.yaml"), files=Snapshot(here, here, files, None))


def test_the_scope_of_settled_variables_is_the_same(here):
    read = playbooks.read(Path("real/p.yaml"))
    full = scope(read, NODE)
    again = settled(full.variables, NODE, read.sources, Secrets())
    assert again.resolved == {}
    assert again.value("greeting") == full.value("greeting") == "hello"
    assert again.value("node") == full.value("node")
    assert again.resolved == {"greeting": "hello"}
