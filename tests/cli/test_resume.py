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


def test_what_a_newer_run_wrote_is_not_written_over_unasked(run, stackplan, project, environment):
    lines = (run / "events.jsonl").read_bytes().splitlines(keepends=True)
    (run / "events.jsonl").write_bytes(b"".join(lines[:-2]))
    motd = Path(environment["HOME"]) / "motd"
    motd.unlink()
    assert stackplan("apply", "motd.yaml", "--local", "--yes", "--var", "greeting=bye", TOKEN=SECRET).returncode == 0
    (newer,) = (it.name for it in run.parent.iterdir() if it.name != run.name)
    motd.unlink()
    ended = stackplan("resume", run.name, TOKEN=SECRET)
    assert (ended.returncode, motd.exists()) == (2, False)
    assert f"localhost: run {newer}, playbook motd, " in ended.stderr
    assert f"add `--yes` to take run {run.name} up" in ended.stderr
    environment = {**environment, "TOKEN": SECRET}
    terminal = Terminal(["resume", run.name], project, environment)
    terminal.wait_for(f"Take run {run.name} up again?")
    terminal.answer("n\n")
    assert terminal.end()[0] == 130
    assert stackplan("resume", newer, TOKEN=SECRET).returncode == 3, "it is finished: nothing of it runs"
    assert not motd.exists()
    assert stackplan("resume", run.name, "--yes", TOKEN=SECRET).returncode == 0
    assert motd.read_text().startswith("hello")


def test_which_run_the_last_one_is_is_said(run, stackplan):
    ended = stackplan("resume", "last", TOKEN=SECRET)
    assert f"This is run {run.name}: playbook motd on localhost, begun 20" in ended.stderr
    ended = stackplan("rollback", "last", "--yes")
    assert f"This is run {run.name}: playbook motd on localhost, begun 20" in ended.stderr


def test_a_plan_or_a_journal_of_another_run_is_not_believed(run, stackplan, project):
    (project / "other.yaml").write_text(PLAYBOOK.replace("name: motd", "name: other"))
    (project / "inventory.yaml").write_text(
        "stackplan: 1\ngroups:\n  gpus:\n    nodes:\n      elsewhere: {connection: local}\n"
    )
    ended = stackplan("apply", "other.yaml", "--yes", TOKEN=SECRET)
    assert ended.returncode == 0, ended.stderr
    (other,) = (it for it in run.parent.iterdir() if it.name != run.name)
    journal = (run / "events.jsonl").read_text()
    (run / "plan.json").write_text((other / "plan.json").read_text())
    ended = stackplan("resume", run.name, "--yes", TOKEN=SECRET)
    assert ended.returncode == 2
    assert f"the plan that was kept with run {run.name} is that of another run" in ended.stderr
    (run / "events.jsonl").write_text((other / "events.jsonl").read_text())
    before = (run / "events.jsonl").read_text()
    for words in (("resume", run.name), ("rollback", run.name, "--yes"), ("show", run.name)):
        ended = stackplan(*words, TOKEN=SECRET)
        assert ended.returncode == 2
        assert f"the journal in the folder of run {run.name} is of run {other.name}" in ended.stderr
    listed = json.loads(stackplan("runs", "--format", "json").stdout)["runs"]
    assert next(it["why"] for it in listed if it["run"] == run.name) == f"its journal is of run {other.name}"
    assert (run / "events.jsonl").read_text() == before
    assert len(list(run.parent.iterdir())) == 2
    # The nodes of the kept plan are none on which the run acted.
    (run / "events.jsonl").write_text(journal)
    (run / "plan.json").write_text((other / "plan.json").read_text())
    ended = stackplan("rollback", run.name, "--yes")
    assert (ended.returncode, "has none of the nodes on which the run acted" in ended.stderr) == (2, True)
    assert len(list(run.parent.iterdir())) == 2


def test_a_journal_that_is_damaged_in_the_middle_is_shown_up_to_there(run, stackplan):
    lines = (run / "events.jsonl").read_bytes().split(b"\n")
    (run / "events.jsonl").write_bytes(b"\n".join([*lines[:-3], b"#" * 40, *lines[-3:]]))
    ended = stackplan("show", "last", "--format", "json")
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    assert report["nodes"][0]["steps"][0]["outcome"] == "changed"
    assert f"what is told here ends ahead of line {len(lines) - 2} of" in report["diagnoses"][0]["summary"]
    for command in ("resume", "rollback"):
        ended = stackplan(command, "last", "--yes", TOKEN=SECRET)
        assert (ended.returncode, "the journal is damaged" in ended.stderr) == (2, True)


def test_a_run_without_an_end_says_how_it_is_taken_up(run, stackplan):
    lines = (run / "events.jsonl").read_bytes().splitlines(keepends=True)
    (run / "events.jsonl").write_bytes(b"".join(lines[:-2]))
    ended = stackplan("show", "last")
    assert ended.returncode == 0
    assert f"ended without a word; `stackplan resume {run.name}` takes it up again" in ended.stderr
