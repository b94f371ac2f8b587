"""Finding playbooks and inventories."""

import pytest

from stackplan.cli.places import find_playbook, git_root
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
    (other / "cuda13.yaml").write_text("")
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
