"""`resume` and `unlock` as commands: what is kept of a run, what they refuse, what they ask."""

import json
import os
import signal
import stat
from pathlib import Path

import pytest

from tests.cli.test_asking import Terminal
from tests.node.waiting import wait_until

SECRET = "correct horse battery staple"
PLAYBOOK = """\
stackplan: 1
name: motd
nodes: all
vars:
  greeting: hello
  token: {secret: true, env: TOKEN}
steps:
  - id: greet
    file: {path: ~/motd, content: "{{ greeting }} {{ token }}\\n"}
    postconditions:
      - file: {path: ~/motd}
"""


@pytest.fixture
def run(stackplan, project, tmp_path):
    """The folder of a run that is done."""
    (project / "motd.yaml").write_text(PLAYBOOK)
    ended = stackplan("apply", "motd.yaml", "--local", "--yes", TOKEN=SECRET)
    assert ended.returncode == 0, ended.stderr
    (folder,) = (tmp_path / "state" / "runs").iterdir()
    return folder


def test_what_is_needed_to_go_on_is_kept_with_the_run_and_no_secret(run):
    assert stat.S_IMODE((run / "plan.json").stat().st_mode) == 0o600
    text = (run / "plan.json").read_text()
    assert SECRET not in text
    kept = json.loads(text)
    assert [file["path"] for file in kept["sources"]["files"]] == ["motd.yaml"]
    assert [it["node"]["name"] for it in kept["nodes"]] == ["localhost"]


def test_a_resumed_run_needs_neither_the_playbook_nor_its_folder(run, stackplan, project):
    (project / "motd.yaml").unlink()
    ended = stackplan("resume", "last", "--format", "json", TOKEN=SECRET)
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    assert (report["run"], report["nodes"][0]["steps"][0]["outcome"]) == (run.name, "changed")
    assert f"Run {run.name} had come to its end: nothing was left to do" in ended.stderr
    ended = stackplan("resume", "last")
    assert ended.returncode == 2
    assert "TOKEN" in ended.stderr


def test_a_run_that_was_cut_off_before_its_plan_was_kept_cannot_be_taken_up(run, stackplan):
    (run / "plan.json").unlink()
    ended = stackplan("resume", run.name[-4:])
    assert ended.returncode == 2
    assert "its plan was not kept" in ended.stderr
    assert "`stackplan apply PLAYBOOK` begins a new run" in ended.stderr


def test_no_plan_with_a_secret_in_clear_is_kept(stackplan, project, tmp_path):
    (project / "motd.yaml").write_text(PLAYBOOK.replace("greeting: hello", f"greeting: {SECRET}"))
    ended = stackplan("apply", "motd.yaml", "--local", "--yes", TOKEN=SECRET)
    assert ended.returncode == 0, ended.stderr
    assert "this run cannot be resumed" in ended.stderr
    (folder,) = (tmp_path / "state" / "runs").iterdir()
    assert [it.name for it in folder.iterdir()] == ["events.jsonl"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["resume", "last"], "there is no run in"),
        (["resume", "last", "--reconnect-timeout", "soon"], "'soon' is not a duration such as 30s"),
        (["unlock"], "no node is named"),
    ],
)
def test_what_is_wrong_is_said_before_a_node_is_asked(stackplan, words, said):
    ended = stackplan(*words)
    assert ended.returncode == 2
    assert said in ended.stderr


def test_a_step_that_the_run_does_not_have_is_not_run_again(run, stackplan):
    ended = stackplan("resume", "last", "--again", "great", TOKEN=SECRET)
    assert ended.returncode == 2
    assert "the run has no step `great`" in ended.stderr
    assert "did you mean `greet`" in ended.stderr


def test_a_node_that_nobody_holds_needs_no_unlocking(stackplan):
    ended = stackplan("unlock", "--local")
    assert (ended.returncode, ended.stdout) == (0, "localhost: nobody holds it, and nothing of any run lives there\n")


GATE = """\
stackplan: 1
name: firmware
nodes: all
steps:
  - id: flash
    interruptible: false
    run:
      script: |
        echo ran >>~/ran
        test -e ~/again || { touch ~/again; read -r line <~/gate; }
        touch ~/flashed
    postconditions:
      - file: {path: ~/flashed}
"""


@pytest.mark.parametrize(("answer", "status", "ran"), [("y\n", 0, 2), ("n\n", 4, 1)])
def test_whether_a_step_that_may_not_be_cut_off_runs_again_is_asked(project, environment, answer, status, ran):
    (project / "firmware.yaml").write_text(GATE)
    home = Path(environment["HOME"])
    os.mkfifo(home / "gate")
    terminal = Terminal(["apply", "firmware.yaml", "--local", "--yes"], project, environment)
    wait_until((home / "again").exists, seconds=60)
    terminal.process.kill()
    terminal.end()
    (spool,) = home.glob(".local/state/stackplan/*/spool/*.flash.1")
    leader = int((spool / "sessions").read_text().split()[0])
    os.kill(int((spool / "pid").read_text()), signal.SIGKILL)
    os.killpg(leader, signal.SIGKILL)
    terminal = Terminal(["resume", "last", "--format", "json"], project, environment)
    terminal.wait_for("Run it again?")
    assert "`flash`" in terminal.seen
    terminal.answer(answer)
    found, out = terminal.end()
    assert found == status
    assert json.loads(out)["nodes"][0]["stopped_at"] == (None if status == 0 else "flash")
    assert (home / "ran").read_text().count("ran") == ran
