"""Finding playbooks and inventories."""

import os
import socket

import pytest

from stackplan.cli.places import find_playbook, git_root
from stackplan.engine.facts_folder import read_folder
from stackplan.engine.saved_plan_file import is_plan_file
from stackplan.model.diagnosis import Invalid


@pytest.fixture
def repository(project):
    (project / "playbooks").mkdir()
    (project / "playbooks" / "cuda13.yaml").write_text("stackplan: 1\n")
    (project / "deep" / "down").mkdir(parents=True)
    return project


def test_a_path_is_taken_as_it_is(repository, monkeypatch):
    monkeypatch.chdir(repository)
    assert str(find_playbook("playbooks/cuda13.yaml", None, repository)) == "playbooks/cuda13.yaml"


@pytest.mark.parametrize("name", ["cuda13.yaml", "cuda13"])
def test_a_name_is_found_from_anywhere_in_the_repository(repository, monkeypatch, name):
    here = repository / "deep" / "down"
    monkeypatch.chdir(here)
    assert find_playbook(name, None, here) == repository / "playbooks" / "cuda13.yaml"


def test_the_folder_beside_the_inventory_goes_first(repository, tmp_path, monkeypatch):
    monkeypatch.chdir(repository)
    other = tmp_path / "other" / "playbooks"
    other.mkdir(parents=True)
    (other / "cuda13.yaml").write_text("stackplan: 1\n")
    assert find_playbook("cuda13", tmp_path / "other" / "inv.yaml", repository) == other / "cuda13.yaml"


def test_a_name_that_is_wrong_is_met_with_the_nearest(repository, monkeypatch):
    monkeypatch.chdir(repository)
    with pytest.raises(Invalid, match="there is no playbook cuda12") as caught:
        find_playbook("cuda12", None, repository)
    (diagnosis,) = caught.value.diagnoses
    assert diagnosis.remedy == "did you mean `cuda13`?"
    assert "playbooks" in diagnosis.observed


def test_a_folder_is_no_playbook(repository, monkeypatch):
    monkeypatch.chdir(repository)
    with pytest.raises(Invalid, match="playbooks is a folder"):
        find_playbook("playbooks", None, repository)


def test_the_search_does_not_leave_the_repository(repository, tmp_path):
    (tmp_path / "playbooks").mkdir()
    (tmp_path / "playbooks" / "stray.yaml").write_text("")
    with pytest.raises(Invalid, match="there is no playbook stray"):
        find_playbook("stray", None, repository)


def test_git_root(repository):
    assert git_root(repository / "deep" / "down") == repository


@pytest.fixture
def odd(project, monkeypatch):
    """A folder with all that a name may lead to instead of a playbook."""
    monkeypatch.chdir(project)
    os.mkfifo("pipe")
    (project / "gone").symlink_to("nowhere")
    (project / "circle").symlink_to("circle")
    (project / "zero").symlink_to("/dev/zero")
    (project / "empty").write_text("")
    (project / "blank").write_text(" \n\n")
    (project / "braces").write_text("{}\n")
    (project / "plan").write_text('{"format": "stackplan.plan/1", "nodes": []}')
    (project / "recorded").write_text('{"answers": [], "format": "stackplan.facts/1"}')
    (project / "marked").write_text('\ufeff{"format": "stackplan.plan/1", "nodes": []}')
    (project / "strange").write_text('{"format": "stackplan.other/7"}')
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        yield project


ODD = {
    "pipe": "pipe is a pipe, which can be read only once",
    "gone": "gone is a symbolic link that leads nowhere",
    "circle": "circle is a symbolic link that leads in a circle",
    "zero": "zero is no regular file",
    "socket": "socket is no regular file",
    "empty": "empty is empty: neither a playbook nor a saved plan",
    "blank": "blank is empty: neither a playbook nor a saved plan",
    "braces": "braces holds an empty mapping: neither a playbook nor a saved plan",
    "recorded": "recorded holds the recorded facts of a node: neither a playbook nor a saved plan",
    "marked": "marked is a saved plan",
    "strange": "strange holds a document of the format stackplan.other/7",
    "plan": "plan is a saved plan",
}


@pytest.mark.parametrize("name", ODD)
def test_what_is_no_playbook_is_called_what_it_is(odd, name):
    with pytest.raises(Invalid, match=ODD[name]):
        find_playbook(name, None, odd)


def test_a_saved_plan_is_met_with_what_to_do_with_it(odd):
    with pytest.raises(Invalid, match="is a saved plan") as caught:
        find_playbook("plan", None, odd)
    assert "`stackplan apply plan`" in caught.value.diagnoses[0].remedy


@pytest.mark.parametrize("name", sorted({*ODD} - {"plan", "marked"}))
def test_only_a_plan_is_a_plan_and_nothing_is_waited_for(odd, name):
    assert not is_plan_file(odd / name)
    assert is_plan_file(odd / "plan")


def test_a_long_beginning_is_not_taken_for_all_of_it(odd):
    (odd / "p.yaml").write_text("\n" * 5000 + "stackplan: 1\n")
    assert str(find_playbook("p.yaml", None, odd)) == "p.yaml"


def test_diff_calls_it_the_same(odd, stackplan):
    (odd / "p.yaml").write_text("stackplan: 1\n")
    for words, name in ((("plan", "p.yaml"), "plan"), (("p.yaml", "pipe"), "pipe")):
        ended = stackplan("diff", *words)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert ODD[name] in ended.stderr


def test_a_pipe_among_recorded_facts_is_not_waited_for(odd):
    (odd / "facts").mkdir()
    os.mkfifo(odd / "facts" / "gpu-01.json")
    with pytest.raises(Invalid, match="it is no file"):
        read_folder(odd / "facts")
