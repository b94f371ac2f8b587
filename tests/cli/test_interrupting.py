"""Ctrl-C while an action runs on a node: the first lets it finish, the second ends it there."""

import contextlib
import json
import os
import signal
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
