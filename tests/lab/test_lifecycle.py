"""A lab in a process of its own: started, found, refused a second time, ended, and recognised when it was killed."""

import json
import os
import shlex
import signal
import subprocess
import threading

import pytest

from stackplan.lab import lifecycle
from stackplan.lab.failure import LabFailed


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "state" / "lab"
    yield folder
    lifecycle.stop(folder)


def test_a_lab_is_started_found_and_ended(folder):
    state = lifecycle.start(1, folder)
    assert lifecycle.status(folder) == state
    assert state.nodes == ("gpu-01",)
    assert state.inventory in lifecycle.describe(state)
    login = next(line.strip() for line in lifecycle.describe(state).splitlines() if line.startswith("  ssh "))
    said = subprocess.run([*shlex.split(login), "pwd"], capture_output=True, text=True, timeout=60, check=True).stdout
    assert said.strip() == str(folder / "current" / "nodes" / "gpu-01" / "home")
    typed = subprocess.run(
        shlex.split(login), input="echo in $HOME\nexit 3\n", capture_output=True, text=True, timeout=60, check=False
    )
    assert (typed.returncode, typed.stdout) == (3, f"in {folder}/current/nodes/gpu-01/home\n")
    with pytest.raises(LabFailed, match="runs already") as caught:
        lifecycle.start(1, folder)
    assert "stackplan lab stop" in caught.value.remedy
    assert lifecycle.stop(folder) == state
    assert lifecycle.status(folder) is None
    assert sorted(path.name for path in folder.iterdir()) == ["lab.lock", "lab.log"]


def test_a_lab_of_before_there_were_families_is_known_and_ended(folder):
    state = lifecycle.start(1, folder)
    record = json.loads((folder / "lab.json").read_text())
    assert record.pop("family") == "blackwell"
    (folder / "lab.json").write_text(json.dumps(record))
    assert lifecycle.status(folder) == state
    assert lifecycle.stop(folder) == state
    assert lifecycle.status(folder) is None


def test_what_a_killed_lab_left_is_removed_and_a_new_one_starts(folder):
    killed = lifecycle.start(1, folder)
    os.kill(killed.pid, signal.SIGKILL)
    assert lifecycle._released(folder, 10)
    assert (folder / "current").is_dir()
    assert lifecycle.status(folder) is None
    assert not (folder / "current").exists()
    assert lifecycle.start(1, folder).pid != killed.pid


def test_a_lab_that_never_ran_has_no_status_and_nothing_to_stop(tmp_path):
    assert lifecycle.status(tmp_path / "none") is None
    assert lifecycle.stop(tmp_path / "none") is None
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("nodes", [0, -1, 501])
def test_a_lab_has_a_sensible_number_of_nodes(nodes, tmp_path):
    with pytest.raises(LabFailed, match="1 to 500 nodes"):
        lifecycle.start(nodes, tmp_path)


def test_why_a_background_lab_did_not_start_is_passed_on(folder, monkeypatch):
    folder.mkdir(parents=True)
    with lifecycle._lock(folder) as free:
        assert free
        with pytest.raises(LabFailed, match="another lab is being started"):
            lifecycle.start(1, folder)


def test_who_is_interrupted_while_a_lab_starts_leaves_none(folder, monkeypatch):
    processes = []
    popen = lifecycle.subprocess.Popen

    def started(*arguments, **named):
        processes.append(popen(*arguments, **named))
        processes[-1].stdout.close()
        processes[-1].stdout = Interrupting()
        return processes[-1]

    monkeypatch.setattr(lifecycle.subprocess, "Popen", started)
    with pytest.raises(KeyboardInterrupt, match="while waiting"):
        lifecycle.start(1, folder)
    assert processes[0].returncode is not None
    assert lifecycle.status(folder) is None


class Interrupting:
    """An output that is interrupted while it is waited for."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def readline(self):
        raise KeyboardInterrupt("while waiting")


def test_the_folder_follows_the_state_variable(monkeypatch, tmp_path):
    monkeypatch.setenv("STACKPLAN_STATE", str(tmp_path))
    assert lifecycle.default_folder() == tmp_path / "lab"


def test_serving_in_the_foreground_ends_at_sigterm(folder, monkeypatch):
    told = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def announce(state):
        told.append(state)
        signal.raise_signal(signal.SIGTERM)

    try:
        lifecycle.serve(1, folder, announce)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert [state.pid for state in told] == [os.getpid()]
    assert lifecycle.status(folder) is None
    assert threading.current_thread() is threading.main_thread()
