"""`stackplan rollback` on this machine as the node, by the real command line; and what it shows before it asks."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from stackplan.cli.rollback import _changed_nothing, _preview, _worth_asking
from stackplan.connection.failure import NodeUnreachable
from stackplan.engine.left_running import ServiceMoved
from stackplan.engine.rollback import Acted, node_report, undo
from stackplan.engine.take_back import TakenBack, Thing
from stackplan.model.change import Change
from stackplan.model.node import Node, NodeName
from stackplan.model.report import ActionReport, PlaybookIdentity
from stackplan.model.written import Written, WrittenKind

PLAYBOOK = """
stackplan: 1
name: p
nodes: all
steps:
  - id: settings
    file: {path: ~/settings.ini, content: "new"}
    postconditions:
      - file: {path: ~/settings.ini, content: {equals: "new"}}
  - id: link
    symlink: {path: ~/current, target: /nowhere}
    postconditions:
      - file: {path: ~/current, type: symlink}
  - id: script
    run: {script: "echo there >~/left-over"}
    postconditions:
      - file: {path: ~/left-over, exists: true}
"""


@pytest.fixture
def home(environment, tmp_path):
    return tmp_path / "home"


@pytest.fixture
def applied(stackplan, project):
    """Apply the playbook to this machine; return the report."""

    def apply(text=PLAYBOOK, status=0):
        (project / "p.yaml").write_text(text)
        done = stackplan("apply", "p.yaml", "--local", "--yes", "--format", "json")
        assert done.returncode == status, done.stdout + done.stderr
        return json.loads(done.stdout)

    return apply


def test_files_and_links_are_put_back_and_what_a_script_did_is_named(stackplan, applied, home):
    (home / "settings.ini").write_text("old")
    run = applied()["run"]
    assert (home / "settings.ini").read_text() == "new"
    done = stackplan("rollback", run[-4:], "--yes", "--format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (home / "settings.ini").read_text() == "old"
    assert not (home / "current").is_symlink()
    (node,) = json.loads(done.stdout)["nodes"]
    assert {step["id"]: step["outcome"] for step in node["steps"]} == {
        "settings": "rolled-back",
        "link": "rolled-back",
        "script": "skipped",
    }
    text = stackplan("show", "last")
    assert "rolled back" in text.stdout
    assert "Put back and proven on 1 node: 2 steps taken back, 1 step not." in " ".join(text.stdout.split())
    assert "`run` did is not taken back" in text.stdout


def test_a_second_run_that_finds_everything_satisfied_takes_no_snapshot(stackplan, applied, home):
    applied()
    second = applied()
    assert {step["outcome"] for step in second["nodes"][0]["steps"]} == {"satisfied"}
    done = stackplan("rollback", second["run"], "--yes")
    assert done.returncode == 2
    assert "started no action on any node" in done.stderr
    (snapshots,) = home.glob(".local/state/stackplan/*/snapshots")
    assert len([it for it in snapshots.iterdir() if it.is_dir()]) == 1


def test_a_file_that_somebody_made_a_folder_is_not_put_back(stackplan, applied, home):
    run = applied()["run"]
    (home / "settings.ini").unlink()
    (home / "settings.ini").mkdir()
    done = stackplan("rollback", run, "--yes", "--format", "json")
    assert done.returncode == 3
    (node,) = json.loads(done.stdout)["nodes"]
    assert node["message"].startswith("THE ROLLBACK FAILED: ")
    assert "settings.ini" in node["message"]
    assert f"stackplan rollback {run}" in node["remedy"]
    assert (home / "settings.ini").is_dir()
    assert "1 of 1 node not taken back." in " ".join(stackplan("show", "last").stdout.split())


def test_a_step_that_fails_takes_back_the_run(applied, home):
    (home / "settings.ini").write_text("old")
    fails = PLAYBOOK.replace("~/left-over, exists", "~/never, exists").replace(
        "run: {", "on_failure: rollback\n    run: {"
    )
    report = applied(fails, status=3)
    (node,) = report["nodes"]
    assert (home / "settings.ini").read_text() == "old"
    assert [step["outcome"] for step in node["steps"]] == ["rolled-back", "rolled-back", "failed"]
    assert node["message"].startswith("rolled back: ")
    assert "not taken back: `script`" in node["message"]
    (condition,) = [it for it in node["steps"][0]["conditions"] if "content" in it["text"] or it["kind"] == "file"][:1]
    assert condition["verdict"] == "not-held"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rollback", "last"), "no terminal to ask on"),
        (("rollback", "no-such"), "there is no run `no-such`"),
        (("show", "x" * 5000), f"there is no run `{'x' * 80}…`"),
        (("rollback", "no-such-run", "--yes"), "there is no run"),
        (("rollback", "last", "--yes", "-l", "elsewhere"), "elsewhere"),
    ],
)
def test_what_cannot_be_meant_is_refused(stackplan, applied, words, said):
    applied()
    done = stackplan(*words)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_rollback_is_not_rolled_back(stackplan, applied):
    applied()
    assert stackplan("rollback", "last", "--yes").returncode == 0
    done = stackplan("rollback", "last", "--yes")
    assert done.returncode == 2
    assert "is a rollback itself" in done.stderr


def test_what_would_be_put_back_is_shown_before_it_is_asked():
    identity = PlaybookIdentity(name="p", path="p.yaml", sha256="0" * 64)
    venv = Written(kind=WrittenKind.ENVIRONMENT, path="/home/ops/ml-env")
    done = {
        "torch": Acted(ActionReport(kind="python_packages"), (venv,)),
        "script": Acted(ActionReport(kind="run")),
    }
    undos = [undo(Node(name=NodeName(name)), identity, "R", done) for name in ("gpu-01", "gpu-02")]
    thing = Thing(
        path="/home/ops/ml-env",
        steps=("torch",),
        changes=(Change("package", "torch", "2.11.0+cu130", "2.10.0+cu128"),),
        later=("R2",),
    )
    lines = _preview(undos, {"gpu-01": TakenBack(things=(thing,)), "gpu-02": NodeUnreachable("gone", "look")})
    assert lines == [
        "gpu-01",
        "  ↩ /home/ops/ml-env (torch)",
        "      torch 2.11.0+cu130 → 2.10.0+cu128",
        "      written since by R2, which is taken back with it",
        "  · script: what `run` did is not taken back: there is no snapshot of it, and it stays as it is now",
        "gpu-02",
        "  ? cannot be asked: gone",
    ]
    here = {name: TakenBack(things=(replace(thing, path=f"/nodes/{name}/ml-env"),)) for name in ("gpu-01", "gpu-02")}
    assert _preview(undos, here) == [
        "gpu-01, gpu-02 (2 nodes)",
        "  ↩ /nodes/<node>/ml-env (torch)",
        *lines[2:5],
    ]


COUNTED = """
stackplan: 1
name: p
nodes: all
steps:
  - id: settings
    file: {path: ~/settings.ini, content: "new"}
    postconditions:
      - file: {path: ~/settings.ini, content: {equals: "new"}}
  - id: bad
    on_failure: rollback
    run: {script: "echo ran >>~/counter; exit 7"}
    postconditions:
      - file: {path: ~/never, exists: true}
"""


def cut_after(journal, event, *, count=1):
    """Make a journal that of a controller which was killed right after it wrote its `count`-th such event."""
    lines = journal.read_bytes().splitlines(keepends=True)
    at = [index for index, line in enumerate(lines) if line.startswith(b'{"event":"%s"' % event.encode())]
    journal.write_bytes(b"".join(lines[: at[count - 1] + 1]))


def journal_of(environment, run):
    return Path(environment["STACKPLAN_STATE"]) / "runs" / run / "events.jsonl"


def in_a_line(text):
    return " ".join(text.split())


@pytest.mark.parametrize("last", [("StepEnded", 2), ("RestoreStarted", 1)])
def test_a_failure_that_was_being_answered_is_answered_to_the_end_and_nothing_runs_again(
    stackplan, applied, home, environment, last
):
    event, count = last
    (home / "settings.ini").write_text("old")
    run = applied(COUNTED, status=3)["run"]
    cut_after(journal_of(environment, run), event, count=count)
    if event == "RestoreStarted":
        shown = in_a_line(stackplan("show", run).stdout)
        assert "`bad` failed, and what run" in shown
        assert "was being put back when the controller ended; how far is not known" in shown
        assert f"`stackplan resume {run}` puts it back to the end" in shown
    done = stackplan("resume", run, "--format", "json")
    assert done.returncode == 3, done.stdout + done.stderr
    (node,) = json.loads(done.stdout)["nodes"]
    assert [step["outcome"] for step in node["steps"]] == ["rolled-back", "failed"]
    assert node["message"].startswith("rolled back: ")
    assert (home / "settings.ini").read_text() == "old"
    assert (home / "counter").read_text() == "ran\n"
    # It has ended as failed by now: another resume tries again.
    assert stackplan("resume", run).returncode == 3
    assert (home / "counter").read_text() == "ran\nran\n"


def test_what_a_step_changed_is_told_the_other_way_round_once_it_is_taken_back(applied, home):
    (home / "settings.ini").write_text("old")
    (node,) = applied(COUNTED, status=3)["nodes"]
    (change,) = node["steps"][0]["changes"]
    assert (change["before"], change["after"]) == ("as the run left it", "as it was before the run")


def test_a_rollback_that_was_cut_off_says_so_and_which_command_ends_it(stackplan, applied, home, environment):
    (home / "settings.ini").write_text("old")
    run = applied()["run"]
    report = json.loads(stackplan("rollback", run, "--yes", "--format", "json").stdout)
    cut_after(journal_of(environment, report["run"]), "RestoreStarted")
    shown = in_a_line(stackplan("show", report["run"]).stdout)
    assert "was being put back when the controller ended; how far is not known" in shown
    assert f"`stackplan rollback {run}` puts it back to the end" in shown
    assert "not reached" not in shown
    listed = in_a_line(stackplan("runs").stdout)
    assert f"`stackplan rollback {run}` brings a rollback to its end" in listed
    assert "stackplan resume" not in listed
    resumed = stackplan("resume", report["run"])
    assert resumed.returncode == 2
    assert "is a rollback, which is not resumed" in resumed.stderr
    assert f"stackplan rollback {run}" in in_a_line(resumed.stderr)
    assert "stackplan apply" not in resumed.stderr
    again = stackplan("rollback", report["run"], "--yes")
    assert f"`stackplan rollback {run}` brings it to its end" in in_a_line(again.stderr)
    ended = stackplan("rollback", run, "--yes")
    assert ended.returncode == 0
    assert "Nothing to put back: 2 steps taken back on 1 node before" in in_a_line(ended.stdout)
    assert "done and proven" not in ended.stderr
    assert "put back and proven" in ended.stderr


def test_what_was_edited_by_hand_since_is_named_and_kept(stackplan, applied, home):
    run = applied()["run"]
    (home / "settings.ini").write_text("edited by hand")
    done = stackplan("rollback", run, "--yes", "--format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (home / "settings.ini").exists()
    (kept,) = home.glob(".settings.ini.stackplan-*-kept")
    assert kept.read_text() == "edited by hand"
    (node,) = json.loads(done.stdout)["nodes"]
    assert str(kept) in node["message"]
    assert node["message"].count("changed since the run wrote it") == 1
    assert "changed since" not in node["steps"][0]["message"]
    assert f"  · {home / 'settings.ini'}:" in stackplan("show", "last").stdout
    assert node["steps"][0]["changes"][0]["before"] == "as it is now"
    assert not list(home.glob(".current.stackplan-*"))


@pytest.mark.parametrize("words", [("last",), ("last", "--limit", "localhost"), ("last", "--format", "json")])
def test_without_a_terminal_it_is_shown_what_would_be_put_back(stackplan, applied, home, words):
    (home / "settings.ini").write_text("old")
    applied()
    done = stackplan("rollback", *words)
    assert done.returncode == 2
    said = in_a_line(done.stderr + done.stdout)
    assert "the same command with `--yes` does it" in said
    assert f"↩ {home / 'settings.ini'} (settings)" in said
    assert said.index("↩") < said.index("no terminal to ask on")
    assert (home / "settings.ini").read_text() == "new"


def test_without_a_terminal_and_with_nothing_to_put_back_nobody_is_sent_for_a_flag(stackplan, applied):
    """What a script did is not taken back, asked or not."""
    applied(PLAYBOOK[: PLAYBOOK.index("  - id: settings")] + PLAYBOOK[PLAYBOOK.index("  - id: script") :])
    done = stackplan("rollback", "last")
    assert done.returncode == 3
    assert "Nothing of this can be put back; nothing was done." in done.stderr
    assert "--yes" not in done.stderr


def test_a_run_of_scripts_alone_is_not_proven_to_be_put_back_with_yes_either(stackplan, applied):
    run = applied(PLAYBOOK[: PLAYBOOK.index("  - id: settings")] + PLAYBOOK[PLAYBOOK.index("  - id: script") :])["run"]
    done = stackplan("rollback", "last", "--yes")
    assert done.returncode == 3
    said = in_a_line(done.stdout)
    assert f"nothing of run {run} can be put back here; what its actions did stays" in said
    assert "1 node not taken back." in said
    assert "put back and proven" not in said + done.stderr
    assert "script skipped" in said


@pytest.mark.parametrize("changed", [False, True])
def test_what_changed_nothing_needs_no_putting_back(changed):
    """Its snapshot is not kept then; where one should be there and is not, that is no good end."""
    identity = PlaybookIdentity(name="p", path="p.yaml", sha256="0" * 64)
    venv = Written(kind=WrittenKind.ENVIRONMENT, path="/home/ops/ml-env")
    torch = Acted(ActionReport(kind="python_packages"), (venv,), changed=changed)
    undos = [undo(Node(name=NodeName("gpu-01")), identity, "R", {"torch": torch})]
    found = {"gpu-01": TakenBack()}
    assert not _worth_asking(found)
    assert _changed_nothing(undos, found) is not changed
    gone = "✘ torch: there is no snapshot of /home/ops/ml-env any more: of each thing the last three are kept"
    assert _preview(undos, found) == ["gpu-01", f"  {gone if changed else '· torch: it had changed nothing'}"]
    assert not _changed_nothing(undos, {"gpu-01": NodeUnreachable("gone", "look")})
    assert not _changed_nothing(undos, {"gpu-01": TakenBack(trouble="no room")})


def test_later_runs_that_are_taken_back_with_it_are_named_and_listed(stackplan, applied, home):
    (home / "settings.ini").write_text("old")
    first = applied()["run"]
    second = applied(PLAYBOOK.replace('"new"', '"newer"'))["run"]
    done = stackplan("rollback", first, "--yes", "--format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (home / "settings.ini").read_text() == "old"
    report = json.loads(done.stdout)
    (node,) = report["nodes"]
    assert node["also_taken_back"] == [second]
    assert f"written since by {second}, which was taken back with it" in node["message"]
    assert f"written since by {second}" in in_a_line(done.stderr)
    listed = {it["run"]: it for it in json.loads(stackplan("runs", "--format", "json").stdout)["runs"]}
    told = {run: (it["rolled_back_by"], it["rolled_back_in_part"]) for run, it in listed.items()}
    assert told == {report["run"]: (None, False), first: (report["run"], False), second: (report["run"], True)}
    text = in_a_line(stackplan("runs").stdout)
    assert f"then rolled back by {report['run']}" in text
    assert f"then rolled back in part by {report['run']}" in text


def test_the_question_names_the_command_that_the_report_will_name():
    identity = PlaybookIdentity(name="p", path="p.yaml", sha256="0" * 64)
    venv = Written(kind=WrittenKind.ENVIRONMENT, path="/opt/venv")
    done = {
        "torch": Acted(ActionReport(kind="python_packages"), (venv,)),
        "serve": Acted(ActionReport(kind="service"), services=(ServiceMoved("sglang", "started", ran=False),)),
    }
    thing = Thing(path="/opt/venv", steps=("torch",), changes=(Change("package", "torch", "2", "1"),))
    target = undo(Node(name=NodeName("n")), identity, "R", done)
    lines = _preview([target], {"n": TakenBack(things=(thing,))})
    assert lines[-1] == "    once it is put back, run `systemctl stop sglang` on the node"
    assert "stop it after the rollback; until then it will run from files that are replaced or gone" in lines[-2]
    assert node_report(target, TakenBack(things=(thing,)), ()).remedy == "run `systemctl stop sglang` on the node"


def test_what_changed_since_is_in_the_question():
    identity = PlaybookIdentity(name="p", path="p.yaml", sha256="0" * 64)
    done = {"torch": Acted(ActionReport(kind="python_packages"), ())}
    thing = Thing(
        path="/home/ops/ml-env", steps=("torch",), changes=(Change("package", "torch", "2", "1"),),
        since=("handfile is new", "models is new"), since_count=3,
    )  # fmt: skip
    lines = _preview([undo(Node(name=NodeName("n")), identity, "R", done)], {"n": TakenBack(things=(thing,))})
    assert "      changed since the run wrote it: handfile is new; models is new; and 1 more" in lines
    assert any("is therefore kept" in line for line in lines)
    assert _worth_asking({"n": TakenBack(things=(thing,))})
    assert _worth_asking({"n": NodeUnreachable("gone", "look")})
    assert not _worth_asking({"n": TakenBack(things=(replace(thing, why="it cannot be put back"),))})
