"""Dry runs on nodes in a bad way: no room, nothing that may be written, nowhere to put temporary files."""

import shutil
import sys
from pathlib import Path

import pytest

from stackplan.model.facts import Failed, Known, Query
from tests.actions.test_real_installers import UV, needs_uv, wheel
from tests.node.isolated import available, isolated_node

pytestmark = [needs_uv, pytest.mark.skipif(not available(), reason="needs root, and the right to mount overlays")]

HOME = "/mnt/home"
FULL = f"mount -t tmpfs -o size=64k tmpfs {HOME}; dd if=/dev/zero of={HOME}/filled bs=4k 2>/dev/null; true"
READ_ONLY = f"mount -t tmpfs -o ro tmpfs {HOME}"
NO_TEMPORARY = "for place in /tmp /var/tmp /dev/shm; do mount -t tmpfs -o ro tmpfs $place; done"
NO_EXEC = "for place in /tmp /var/tmp /dev/shm; do mount -t tmpfs -o noexec tmpfs $place; done"
NOWHERE = f"{NO_TEMPORARY}; {READ_ONLY}"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheels")
    wheel(folder, "torch", "2.11.0+cu130")
    return folder


@pytest.fixture
def node(wheels):
    """A node with uv, an environment and a folder of wheels in /mnt, and a home there, whatever becomes of the rest."""
    with isolated_node(environment={"HOME": HOME, "XDG_STATE_HOME": f"{HOME}/.local/state"}) as running:
        inside = running.inside("/mnt")
        (inside / "home").mkdir()
        shutil.copy(UV, inside / "uv")
        shutil.copytree(wheels, inside / "wheels")
        running.run(str(Path(sys.executable).resolve()), "-m", "venv", "--without-pip", "/mnt/venv")
        yield running


def question(**more):
    line = ("/mnt/uv", "pip", "install", "torch", "--no-index", "--find-links", "/mnt/wheels")
    install = {"argv": (*line, "--python", "{shadow}/bin/python"), "drop_environment": ("UV_*", "PIP_*")}
    return Query("dry_run", {"installer": "uv", "venv": "/mnt/venv", "install": install, **more})


@pytest.mark.parametrize(
    "fault", [FULL, READ_ONLY, NO_TEMPORARY, NO_EXEC], ids=["full", "read-only", "no-tmp", "noexec"]
)
def test_a_dry_run_needs_neither_a_home_nor_a_folder_for_temporary_files(node, fault):
    node.run("sh", "-c", fault)
    (answer,) = node.ask(question()).answers.values()
    assert isinstance(answer, Known), answer
    assert answer.value["refused"] is None, answer.value["refused"]
    assert answer.value["changes"] == [{"name": "torch", "before": None, "after": "2.11.0+cu130"}]


def test_where_nothing_can_be_written_at_all_that_is_said(node):
    node.run("sh", "-c", NOWHERE)
    (answer,) = node.ask(question()).answers.values()
    assert isinstance(answer, Failed)
    assert "there is no place for temporary files" in answer.why


def test_an_environment_of_somebody_else_says_who_may_not_look(node):
    node.run("chmod", "700", "/mnt/venv")
    (answer,) = node.ask(question().asked_by("nobody")).answers.values()
    assert isinstance(answer, Failed)
    assert "/mnt/venv" in answer.why
    assert "Traceback" not in answer.why + answer.stderr
