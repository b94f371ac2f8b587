"""Ctrl-C while an action runs on a node: the first lets it finish, the second ends it there."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

# The action waits at a gate, so that the test and not the clock decides when it goes on.
PLAYBOOK = """\
stackplan: 1
name: gate
nodes: all
steps:
  - id: wait
    run:
      script: |
        mkfifo ~/gate
        echo waiting at the gate
        read line < ~/gate
        touch ~/through
    postconditions:
      - file: {path: ~/through}
  - id: after
    file: {path: ~/after, content: "x\\n"}
    postconditions:
      - file: {path: ~/after}
"""


def hear_hang_ups():
    """The tests themselves may run under nohup, which stackplan would respect."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def running(project, environment):
    """An apply whose first action stands at the gate."""
    (project / "gate.yaml").write_text(PLAYBOOK)
    process = subprocess.Popen(
        [sys.executable, "-m", "stackplan", "apply", "gate.yaml", "--local", "--yes", "--format", "json"],
        cwd=project,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_hang_ups,  # noqa: PLW1509 - sets one signal, nothing that a thread could hold
    )
    try:
        wait_for(process, "│ waiting at the gate")
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.communicate()


def wait_for(process, text):
    for line in process.stderr:
        if text in line:
            return
    pytest.fail(f"{text!r} did not come")


def ended(process):
    out, _ = process.communicate(timeout=60)
    (node,) = json.loads(out)["nodes"]
    return process.returncode, node


def test_one_lets_the_action_finish_and_starts_no_further_step(running, environment):
    home = Path(environment["HOME"])
    running.send_signal(signal.SIGINT)
    wait_for(running, "Stopping: actions that run now may finish")
    with (home / "gate").open("w") as gate:
        gate.write("go\n")
    status, node = ended(running)
    assert status == 130
    assert node["outcome"] == "interrupted"
    assert [step["outcome"] for step in node["steps"]] == ["changed", "not-reached"]
    assert (home / "through").exists()
    assert not (home / "after").exists()


def test_two_end_the_action_on_the_node(running, environment):
    running.send_signal(signal.SIGINT)
    wait_for(running, "Stopping: actions that run now may finish")
    running.send_signal(signal.SIGINT)
    wait_for(running, "Ending what runs on the nodes")
    status, node = ended(running)
    assert status == 130
    assert (node["stopped_at"], node["reason"]) == ("wait", "interrupted")
    assert not (Path(environment["HOME"]) / "through").exists()
    with pytest.raises(OSError, match="No such device"):
        # Nobody stands at the gate any more.
        os.close(os.open(Path(environment["HOME"]) / "gate", os.O_WRONLY | os.O_NONBLOCK))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_an_end_from_outside_ends_the_action_on_the_node_and_is_reported(running, environment, number):
    running.send_signal(number)
    wait_for(running, "Ending what runs on the nodes")
    status, node = ended(running)
    assert status == 130
    assert (node["outcome"], node["stopped_at"], node["reason"]) == ("interrupted", "wait", "interrupted")


@pytest.fixture
def silent():
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


@pytest.fixture
def asking(project, environment, silent):
    """Starts a command that waits for a node which never answers, and returns it once it does."""
    port = silent.getsockname()[1]
    (project / "gate.yaml").write_text(PLAYBOOK)
    (project / "inventory.yaml").write_text(
        f"stackplan: 1\nnodes:\n  gpu-01: {{host: 127.0.0.1, port: {port}, user: ops}}\n"
    )
    processes = []
    connections = []

    def start(*words):
        process = subprocess.Popen(
            [sys.executable, "-m", "stackplan", *words],
            cwd=project,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=hear_hang_ups,  # noqa: PLW1509 - see above
        )
        processes.append(process)
        silent.settimeout(60)
        connections.append(silent.accept()[0])
        return process

    yield start
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.communicate()
    for connection in connections:
        connection.close()


@pytest.mark.parametrize(
    ("words", "number"),
    [
        (("verify", "gate.yaml", "--format", "json"), signal.SIGINT),
        (("verify", "gate.yaml", "--format", "json"), signal.SIGHUP),
        (("plan", "gate.yaml", "--format", "json"), signal.SIGTERM),
        (("apply", "gate.yaml", "--yes", "--format", "json"), signal.SIGHUP),
    ],
    ids=lambda it: it[0] if isinstance(it, tuple) else it.name,
)
def test_who_is_interrupted_while_nodes_are_asked_reports_what_is_known(asking, words, number):
    process = asking(*words)
    # The second one comes while the first is still being answered.
    process.send_signal(number)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Interrupted." in err
    document = json.loads(out)
    assert (document["command"], document["outcome"], document["run"]) == (words[0], "interrupted", None)
    (node,) = document["nodes"]
    assert (node["outcome"], node["reason"]) == ("interrupted", "interrupted")
    assert "interrupted before this node had answered" in node["message"]


def test_facts_that_are_interrupted(asking, tmp_path):
    process = asking("facts", "gate.yaml", "-o", str(tmp_path / "facts"))
    process.send_signal(signal.SIGTERM)
    err = process.communicate(timeout=60)[1]
    assert "gpu-01: the command was interrupted before this node had answered" in err
    assert "Interrupted." in err
    assert process.returncode == 130
    assert not (tmp_path / "facts").exists()
