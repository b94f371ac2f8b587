"""Which services a rollback leaves running from what it puts back, and what is said of them."""

from dataclasses import replace

import pytest

from stackplan.engine.exit_status import exit_status
from stackplan.engine.left_running import ServiceMoved, left_running, next_step, services_moved
from stackplan.engine.on_failure import with_running
from stackplan.engine.rollback import acted, node_report, step_reports, undo
from stackplan.engine.take_back import TakenBack, Thing
from stackplan.model.change import Change
from stackplan.model.event import NodeEnded, StepEnded, StepStarted
from stackplan.model.node import Node, NodeName
from stackplan.model.outcome import NodeOutcome, StepOutcome
from stackplan.model.report import ActionReport, NodeReport, PlaybookIdentity, Report, StepReport
from stackplan.model.written import Written, WrittenKind
from stackplan.reports import text
from stackplan.reports.progress import plain_line

RUNNING = "active (running), enabled"
VENV = Thing(path="/opt/venv", steps=("torch",), changes=(Change("package", "torch", "2.11.0+cu130", "2.10.0+cu128"),))
RESTARTED = ServiceMoved("sglang", "restarted")


def moved(before, after, command="systemctl start sglang"):
    change = Change("service", "sglang", before, after)
    return [it.how for it in services_moved([change], ActionReport(kind="service", command=command))]


@pytest.mark.parametrize(
    ("before", "after", "command", "how"),
    [
        ("inactive (dead), enabled", RUNNING, "systemctl start sglang", ["started"]),
        (None, RUNNING, "echo", ["started"]),
        (RUNNING, RUNNING, "systemctl restart sglang", ["restarted"]),
        (RUNNING, RUNNING, "sudo /opt/restart-all", ["restarted"]),
        (RUNNING, RUNNING, "systemctl reload sglang", ["reloaded"]),
        ("active (exited), disabled", RUNNING, "systemctl enable sglang\nsystemctl restart sglang", ["restarted"]),
        ("active (running), disabled", RUNNING, "systemctl enable sglang\nsystemctl start sglang", []),
        (RUNNING, "inactive (dead), enabled", "systemctl stop sglang", [None]),
        (RUNNING, None, "rm", [None]),
    ],
)
def test_what_became_of_a_service_is_read_from_what_is_proven_to_have_changed(before, after, command, how):
    assert moved(before, after, command) == how


def test_other_changes_are_no_services():
    assert services_moved([Change("package", "sglang", "1", "2")], None) == ()


def test_only_a_service_that_came_after_what_is_put_back_is_told():
    after = left_running({"torch": (), "serve": (RESTARTED,)}, [VENV])
    assert [(it.name, it.how, it.paths) for it in after] == [("sglang", "restarted", ("/opt/venv",))]
    assert left_running({"serve": (RESTARTED,), "torch": ()}, [VENV]) == ()
    assert left_running({"torch": (), "serve": (RESTARTED,), "end": (ServiceMoved("sglang", None),)}, [VENV]) == ()


@pytest.mark.parametrize("thing", [replace(VENV, why="no room"), replace(VENV, changes=())])
def test_what_is_not_put_back_takes_nothing_away_from_a_service(thing):
    assert left_running({"torch": (), "serve": (RESTARTED,)}, [thing]) == ()


def test_a_service_that_was_restarted_and_then_reloaded_needs_a_restart():
    left = left_running({"torch": (), "a": (RESTARTED,), "b": (ServiceMoved("sglang", "reloaded"),)}, [VENV])
    assert next_step(left) == "run `systemctl restart sglang` on the node"


INACTIVE = "inactive (dead), enabled"


@pytest.mark.parametrize(
    ("states", "verb"),
    [
        ([(INACTIVE, RUNNING)], "stop"),
        ([(INACTIVE, RUNNING), (RUNNING, RUNNING)], "stop"),
        ([(INACTIVE, "inactive (dead), disabled"), (INACTIVE, RUNNING)], "stop"),
        ([(RUNNING, INACTIVE), (INACTIVE, RUNNING)], "restart"),
        ([(RUNNING, RUNNING)], "restart"),
    ],
)
def test_what_did_not_run_before_the_run_is_to_be_stopped_and_nothing_else(states, verb):
    steps = {
        f"s{at}": services_moved([Change("service", "sglang", *both)], ActionReport(kind="service"))
        for at, both in enumerate(states)
    }
    (left,) = left_running({"torch": (), **steps}, [VENV])
    assert next_step([left]) == f"run `systemctl {verb} sglang` on the node"
    for said in (left.sentence, left.warning):
        assert f": {verb} it" in said
        assert ("which did not run before" in said) is (verb == "stop")


def test_ahead_of_the_rollback_nobody_is_told_that_a_restart_by_then_would_help():
    (left,) = left_running({"torch": (), "serve": (RESTARTED,)}, [VENV])
    assert left.warning == (
        "service sglang was restarted by the run after it wrote /opt/venv: restart it after the rollback; until then "
        "it will run from files that are replaced or gone, as far as it uses them"
    )


def test_a_service_is_stopped_while_systemd_still_knows_its_unit():
    unit = Thing(path="/etc/systemd/system/sglang.service", steps=("unit",), changes=(Change("file", "u", "a", "b"),))
    steps = {
        "unit": (),
        "serve": (ServiceMoved("sglang", "started", ran=False),),
        "proxy": (ServiceMoved("x", "restarted"),),
    }
    said = next_step(left_running(steps, [unit]))
    assert said == "run `systemctl stop sglang && systemctl daemon-reload && systemctl restart x` on the node"


def test_the_next_step_reloads_what_the_run_only_reloaded_and_has_systemd_read_a_unit_that_was_put_back():
    unit = Thing(path="/etc/systemd/system/sglang.service", steps=("unit",), changes=(Change("file", "u", "a", "b"),))
    steps = {"unit": (), "serve": (RESTARTED,), "proxy": (ServiceMoved("nginx", "reloaded"),)}
    said = next_step(left_running(steps, [unit]))
    assert said is not None
    assert said.startswith(
        "run `systemctl daemon-reload && systemctl restart sglang && systemctl reload nginx` on the node"
    )
    assert next_step(()) is None


IDENTITY = PlaybookIdentity(name="p", path="p.yaml", sha256="0" * 64)
VENV_WRITTEN = Written(kind=WrittenKind.ENVIRONMENT, path="/opt/venv")


def events():
    """Return the journal of a run that wrote an environment, ran a script and restarted a service."""
    steps = [
        ("torch", ActionReport(kind="python_packages", writes=(VENV_WRITTEN,)), Change("package", "torch", "1", "2")),
        ("fix", ActionReport(kind="run", command="echo"), Change("file", "/x", None, "x")),
        (
            "serve",
            ActionReport(kind="service", command="systemctl restart sglang"),
            Change("service", "sglang", RUNNING, RUNNING),
        ),
    ]
    for step, action, change in steps:
        yield StepStarted(node="gpu-01", step=step, action=action, time="t")
        ended = StepReport(id=step, outcome=StepOutcome.CHANGED, changes=(change,))
        yield StepEnded(node="gpu-01", step=ended, time="t")


def rolled_back(taken):
    target = undo(Node(name=NodeName("gpu-01")), IDENTITY, "R", acted(events())["gpu-01"])
    steps = step_reports(target, taken)
    return replace(node_report(target, taken, steps), steps=steps)


def test_a_rollback_says_which_service_runs_from_what_it_took_away_and_what_to_do():
    node = rolled_back(TakenBack(things=(VENV,)))
    assert node.outcome is NodeOutcome.OK
    assert node.message == (
        "service sglang was restarted by the run after it wrote /opt/venv: restart it; until then it runs, unless it "
        "was stopped since, from files that are replaced or gone, as far as it uses them"
    )
    assert node.remedy == "run `systemctl restart sglang` on the node"


def test_what_is_kept_and_what_runs_on_are_notes_of_their_own_and_the_kept_path_is_not_cut_off():
    kept = "/opt/.venv.stackplan-R-kept"
    many = tuple(f"lib/python3.12/site-packages/sgl_kernel/part_{it}.so is new" for it in range(40))
    node = rolled_back(TakenBack(things=(replace(VENV, kept=(kept,), since=many, since_count=400),)))
    assert node.message is not None
    first, second = node.message.split("\n")
    assert first.startswith(f"/opt/venv: what was there is kept in {kept}; changed since the run wrote it: lib/")
    assert second.startswith("service sglang was restarted")
    report = Report(command="rollback", outcome=NodeOutcome.OK, playbook=IDENTITY, nodes=(node,), run="R2")
    lines = [line.strip() for line in text.render(report, width=100, colour=False).splitlines()]
    assert any(kept in line for line in lines)
    assert any(line.startswith("· service sglang was restarted") for line in lines)
    told = plain_line(NodeEnded(node="gpu-01", outcome=node.outcome, report=node, time="t"), "rollback")
    assert told is not None
    assert "\\n" not in told


def test_a_rollback_that_failed_in_part_says_it_of_what_it_put_back():
    other = Thing(path="/etc/x", steps=("torch",), why="/etc/x was not put back")
    node = rolled_back(TakenBack(things=(VENV, other)))
    assert node.outcome is NodeOutcome.FAILED
    assert node.message is not None
    assert node.message.startswith("THE ROLLBACK FAILED: /etc/x was not put back\nservice sglang was restarted")
    assert "`systemctl restart sglang` on the node" in node.message


@pytest.mark.parametrize(
    ("interrupted", "why", "status"),
    [(True, "/opt/venv was not put back", 130), (False, "/opt/venv was not put back", 3), (True, None, 0)],
)
def test_a_rollback_that_the_operator_ended_is_interrupted_unless_it_is_proven(interrupted, why, status):
    node = rolled_back(TakenBack(things=(replace(VENV, why=why),), interrupted=interrupted))
    assert exit_status(Report(command="rollback", outcome=node.outcome, playbook=IDENTITY, nodes=(node,))) == status
    if status:
        assert node.message is not None
        head, _, rest = node.message.partition(": ")
        assert head == ("THE ROLLBACK FAILED, as the operator ended it" if interrupted else "THE ROLLBACK FAILED")
        assert rest.startswith("/opt/venv was not put back")
        assert node.remedy == "Look at it on the node; `stackplan rollback R` tries again."


def test_the_last_line_says_which_steps_a_rollback_left_in_place():
    node = rolled_back(TakenBack(things=(VENV,)))
    report = Report(command="rollback", outcome=NodeOutcome.OK, playbook=IDENTITY, nodes=(node,), run="R2")
    said = " ".join(text.render(report, width=100, colour=False).split())
    assert "1 step taken back, 2 steps not. Not taken back: what `fix` and `serve` did stays as it is now." in said


@pytest.mark.parametrize(("count", "said"), [(1, "`s0`"), (6, "`s4` and `s5`"), (7, "`s4` and 2 more steps")])
def test_of_many_steps_that_stay_the_first_are_named(count, said):
    stays = "what `run` did is not taken back: there is no snapshot of it"
    steps = [StepReport(id=f"s{it}", outcome=StepOutcome.SKIPPED, message=stays) for it in range(count)]
    quiet = StepReport(id="quiet", outcome=StepOutcome.SKIPPED, message="it had changed nothing")
    node = replace(rolled_back(TakenBack(things=(VENV,))), steps=(*steps, quiet))
    report = Report(command="rollback", outcome=NodeOutcome.OK, playbook=IDENTITY, nodes=(node,), run="R2")
    closing = text.closing(report)
    assert f"{said} did stays as it is now." in closing
    assert "quiet" not in closing


def test_a_run_that_takes_itself_back_says_it_too():
    stopped = NodeReport(node="gpu-01", outcome=NodeOutcome.FAILED, message="rolled back: /opt/venv is as before")
    ended = with_running(stopped, left_running({"torch": (), "serve": (RESTARTED,)}, [VENV]))
    assert ended.message is not None
    assert ended.message.startswith("rolled back: /opt/venv is as before\nservice sglang was restarted by the run")
    assert ended.message.endswith(": run `systemctl restart sglang` on the node")
    assert with_running(stopped, ()) is stopped
