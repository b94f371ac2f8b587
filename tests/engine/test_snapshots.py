"""Snapshots around actions: room first, what was not begun, what was written into; pure, and on a fake node."""

from dataclasses import dataclass, field, replace

import pytest

from stackplan.engine.inquiry import Inquiry
from stackplan.engine.job_name import job_name
from stackplan.engine.perform import NodeAtWork, Run
from stackplan.engine.recorder import Recorder
from stackplan.engine.rollback import Acted, acted, node_report, step_reports, undo
from stackplan.engine.snapshots import Protection, lacking, protect, room_query, shortage, snapshots_query
from stackplan.engine.take_back import TakenBack, Thing, look, remedy, take_back
from stackplan.model.change import Change
from stackplan.model.event import StepEnded, StepStarted
from stackplan.model.facts import Facts, Failed, Known, Origin
from stackplan.model.job import Absent, Command, Ended, Exited, Interrupted, Job, NotStarted, Signalled
from stackplan.model.kind import CannotAct
from stackplan.model.node import Node, NodeName
from stackplan.model.outcome import NodeOutcome, Reason, StepOutcome
from stackplan.model.report import ActionReport, PlaybookIdentity, StepReport
from stackplan.model.room import ACTIONS
from stackplan.model.secret import Redactor
from stackplan.model.written import Written, WrittenKind, environment
from tests.engine.world import FakeClock, FakeStop, Set, bound, step

VENV = Written(kind=WrittenKind.ENVIRONMENT, path="/home/ops/ml-env")
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Fill(Set):
    """As `set`, and it says that it writes an environment."""

    def writes(self, facts):
        return environment(VENV.path)


@pytest.fixture(autouse=True)
def fill(monkeypatch):
    monkeypatch.setitem(ACTIONS._loaded, "fill", Fill)


@dataclass
class Told:
    """A node that answers what it was told to."""

    answers: dict
    asked: int = 0

    def ask(self, queries):
        self.asked += 1
        return {query: self.answers[query] for query in queries}


@dataclass
class Restoring:
    """Knows jobs that earlier controllers started, and carries out others."""

    ended: set
    started: list = field(default_factory=list)

    def find(self, name):
        return Ended(Exited(0)) if name in self.ended else Absent()

    def carry_out(self, work, on_output):
        self.started.append(work.name)
        return Exited(0)


def room(path=VENV.path, *, needed=MIB, free=10 * MIB, files=100, free_files=None, device=1):
    rooms = [
        {"place": "/home/ops", "device": device, "needed_bytes": needed, "free_bytes": free, "needed_files": files,
         "free_files": free_files}
    ]  # fmt: skip
    return {"path": path, "state": "/home/ops/.local/state/stackplan/gpu-01", "kept": False, "rooms": rooms}


def row(path=VENV.path, **changed):
    return {
        "path": path,
        "kind": "environment",
        "complete": True,
        "was": "environment",
        "clone": "/home/ops/.ml-env.stackplan-R-1",
        "steps": ["torch"],
        "restored": False,
        "clone_fault": None,
        "later": [],
        "packages": {"torch": "2.10.0+cu128"},
        "packages_now": {"torch": "2.11.0+cu130", "triton": "3.5"},
        "differences": {"count": 7, "first": ["a is gone", "b is new"]},
        **changed,
    }


def facts(answers):
    return Facts("gpu-01", Origin.LIVE, "", answers)


def inquiry(answers):
    return Inquiry("gpu-01", Told(answers), FakeClock())


def the_step():
    (found,) = bound(step("torch", action="fill")).bound_steps
    return found


def protected(answer):
    return protect(the_step(), facts({}), "R", inquiry({room_query("R", VENV): answer}))


def test_a_step_that_writes_nothing_asks_nothing_and_runs_as_it_is():
    (plain,) = bound(step("torch")).bound_steps
    told = Told({})
    found = protect(plain, facts({}), "R", Inquiry("gpu-01", told, FakeClock()))
    job = Job((Command(argv=("set",), display="set"),))
    assert (told.asked, found.around(job), found.queries) == (0, job, ())


def test_the_snapshot_is_the_first_stage_and_dropping_it_the_last():
    found = protected(Known(room(path="/data/ml-env")))
    stages = found.around(Job((Command(argv=("set",), display="set"),))).stages
    assert [getattr(stage, "kind", "command") for stage in stages] == ["snapshot", "command", "release"]
    assert stages[0].arguments["things"] == ({"kind": "environment", "path": VENV.path},)
    assert found.writes == (replace(VENV, path="/data/ml-env"),)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Known(room(needed=20 * MIB)), "20.0 MiB are needed in /home/ops, 10.0 MiB are free"),
        (Known(room(free_files=99)), "100 files are to be made in /home/ops, there is room for 99"),
        (
            Failed("no right"),
            "it is not known whether there is room for a snapshot of /home/ops/ml-env: no right",
        ),
    ],
)
def test_without_room_the_step_cannot_act(answer, said):
    refusal = protected(answer)
    assert isinstance(refusal, CannotAct)
    assert said in refusal.summary


def test_what_several_things_need_on_one_disk_counts_together():
    one, other = room(needed=6 * MIB), room(path="/home/ops/b", needed=6 * MIB)
    assert lacking([one]) is None
    assert "12.0 MiB are needed" in lacking([one, other])
    assert lacking([one, room(path="/data/b", needed=6 * MIB, device=2)]) is None


def test_the_room_of_all_steps_is_asked_in_one_round_trip_and_each_thing_counts_once():
    steps = bound(step("torch", action="fill"), step("sglang", action="fill")).bound_steps
    told = Told({room_query("R", VENV): Known(room(needed=6 * MIB))})
    assert shortage(steps, facts({}), "R", Inquiry("gpu-01", told, FakeClock())) is None
    assert told.asked == 1
    lack = shortage(steps, facts({}), "R", inquiry({room_query("R", VENV): Known(room(needed=60 * MIB))}))
    assert (lack.step.id, "no room for a snapshot" in lack.refusal.summary) == ("torch", True)


@pytest.mark.parametrize(
    ("rows", "ending", "expected"),
    [
        ([], Exited(1), True),
        ([row(complete=False)], Exited(1), True),
        ([row()], Exited(1), False),
        ([], Exited(0), False),
        ([], Signalled(9), False),
    ],
)
def test_an_action_without_a_whole_snapshot_was_not_begun(rows, ending, expected):
    found = Protection(run="R", step="torch", things=(VENV,), paths=(VENV.path,), state="/s")
    assert found.not_begun(facts({snapshots_query("R", None): Known(rows)}), ending) is expected


def test_whether_it_was_begun_is_not_guessed():
    found = Protection(run="R", step="torch", things=(VENV,), paths=(VENV.path,), state="/s")
    assert found.not_begun(facts({snapshots_query("R", None): Failed("no answer")}), Exited(1)) is False


def test_a_clone_that_was_written_into_is_warned_of():
    found = Protection(run="R", step="torch", things=(VENV,), paths=(VENV.path,), state="/s")
    answers = {snapshots_query("R", None): Known([row(clone_fault="torch/__init__.py: another size")])}
    (warning,) = found.warnings(facts(answers))
    assert "torch/__init__.py: another size" in warning.summary


def looked(*rows, users=(None,)):
    answers = {snapshots_query("R", user, things=True): Known(list(rows)) for user in users}
    return look("R", users, inquiry(answers))


def test_what_would_be_put_back_is_told_with_its_packages():
    (thing,) = looked(row()).things
    assert thing.changes == (
        Change("package", "torch", "2.11.0+cu130", "2.10.0+cu128"),
        Change("package", "triton", "3.5", None),
    )
    assert thing.why is None


def test_what_was_never_finished_is_nothing_to_put_back_and_a_bad_clone_is_told():
    assert looked(row(complete=False)).things == ()
    (thing,) = looked(row(clone_fault="x: another size")).things
    assert (thing.why, thing.clone) == (f"{VENV.path} cannot be put back: x: another size", row()["clone"])


def test_of_what_two_users_wrote_the_first_one_knows_what_it_was():
    answers = {
        snapshots_query("R", None, things=True): Known([row(clone="/first")]),
        snapshots_query("R", "root", things=True): Known([row(clone_fault="x", clone="/second", steps=["sglang"])]),
    }
    (thing,) = look("R", (None, "root"), inquiry(answers)).things
    assert (thing.why, thing.steps) == (None, ("torch", "sglang"))


def test_putting_back_again_is_a_job_of_its_own_whichever_controller_did_it_first():
    """A node starts a name once: under one that is taken, it would tell how the other attempt ended."""
    query = snapshots_query("R", None, things=True)
    attachment = Restoring(ended={job_name("R", "gpu-01", "_restore0", 1)})
    node = NodeAtWork(
        name="gpu-01",
        attachment=attachment,
        inquiry=inquiry({query: Known([row()])}),
        run=Run(id="R", recorder=Recorder(Redactor(), None, None), clock=FakeClock(), stop=FakeStop(FakeClock())),
    )
    take_back("R", (None,), node, lambda _: None)
    assert attachment.started == [job_name("R", "gpu-01", "_restore0", 2)]


def test_a_node_that_does_not_answer_is_trouble():
    found = look("R", (None,), inquiry({snapshots_query("R", None, things=True): Failed("no right")}))
    assert not found.proven
    assert "no right" in found.faults[0]


def started(name, *writes, kind="fill"):
    action = ActionReport(kind=kind, attempts=1, writes=writes)
    return StepStarted(node="gpu-01", step=name, action=action, time="")


def ended(name, *changes, reason=None):
    report = StepReport(id=name, outcome=StepOutcome.CHANGED, reason=reason, changes=changes)
    return StepEnded(node="gpu-01", step=report, time="")


CHANGE = Change("package", "torch", "a", "b")


def test_what_a_run_did_is_read_from_its_journal():
    found = acted(
        [started("torch", VENV), ended("torch", CHANGE), started("script", kind="run"), ended("script"),
         started("no-op", VENV), ended("no-op"), started("lost", VENV), ended("lost", reason=Reason.LOST),
         started("open", VENV), ended("satisfied")]
    )["gpu-01"]  # fmt: skip
    assert {name: it.changed for name, it in found.items()} == {
        "torch": True, "script": False, "no-op": False, "lost": True, "open": True,
    }  # fmt: skip


def undone(**done):
    identity = PlaybookIdentity(name="p", path="p.yaml", sha256="0" * 64)
    return undo(Node(name=NodeName("gpu-01")), identity, "R", done)


def reported(taken, **done):
    target = undone(**done)
    steps = step_reports(target, taken)
    return {step.id: step.outcome for step in steps}, node_report(target, taken, steps)


WRITTEN = Acted(ActionReport(kind="fill"), (VENV,))


def test_a_run_that_is_taken_back_names_what_is_not():
    script = Acted(ActionReport(kind="run"))
    thing = Thing(path=VENV.path, steps=("torch",), changes=(CHANGE,))
    steps, node = reported(TakenBack(things=(thing,)), torch=WRITTEN, script=script)
    assert steps == {"torch": StepOutcome.ROLLED_BACK, "script": StepOutcome.SKIPPED}
    assert node.outcome is NodeOutcome.OK


def test_of_a_node_on_which_nothing_can_be_taken_back_nothing_is_proven():
    script = Acted(ActionReport(kind="run"))
    steps, node = reported(TakenBack(), script=script, torch=replace(WRITTEN, changed=False))
    assert steps == {"script": StepOutcome.SKIPPED, "torch": StepOutcome.SKIPPED}
    assert node.outcome is NodeOutcome.FAILED
    assert node.message == "nothing of run R can be put back here; what its actions did stays"


def test_what_is_not_proven_is_said_first_with_where_the_clone_lies():
    thing = Thing(path=VENV.path, steps=("torch",), why="/home/ops/ml-env was not put back", clone="/home/ops/.c")
    steps, node = reported(TakenBack(things=(thing,)), torch=WRITTEN)
    assert steps == {"torch": StepOutcome.FAILED}
    assert node.outcome is NodeOutcome.FAILED
    assert node.message == ("THE ROLLBACK FAILED: /home/ops/ml-env was not put back; what it was lies in /home/ops/.c")


@pytest.mark.parametrize(("changed", "outcome"), [(True, StepOutcome.FAILED), (False, StepOutcome.SKIPPED)])
def test_a_snapshot_that_is_gone_proves_nothing_unless_nothing_was_changed(changed, outcome):
    steps, node = reported(TakenBack(), torch=replace(WRITTEN, changed=changed))
    assert steps == {"torch": outcome}
    assert (node.outcome is NodeOutcome.OK) is not changed


def test_a_step_that_wrote_two_things_is_taken_back_only_with_both():
    things = (Thing(path="/a", steps=("torch",)), Thing(path="/b", steps=("torch", "sglang"), why="no"))
    assert TakenBack(things=things).steps == frozenset()


def test_what_was_put_back_before_is_told_as_such():
    thing = Thing(path=VENV.path, steps=("torch",))
    target = undone(torch=WRITTEN)
    (report,) = step_reports(target, TakenBack(things=(thing,)))
    assert (report.outcome, report.message) == (StepOutcome.SATISFIED, f"{VENV.path} as before the run, already")


def test_a_snapshot_that_is_not_what_was_taken_is_not_said_to_be_what_it_was_nor_to_be_worth_another_try():
    (thing,) = looked(row(clone_fault="x: another size")).things
    assert thing.spoiled
    taken = TakenBack(things=(thing,))
    _, node = reported(taken, torch=WRITTEN)
    assert "the snapshot, which is not what was taken, lies in " in node.message
    assert "Trying again cannot help" in node.remedy
    assert "tries again" in remedy(TakenBack(things=(replace(thing, spoiled=False),)), "R")


@pytest.mark.parametrize(
    ("since", "said", "now"),
    [
        ({"count": 0, "first": []}, None, "as the run left it"),
        (
            {"count": 3, "first": ["handfile is new"]},
            "changed since the run wrote it: handfile is new; and 2 more",
            "as it is now",
        ),
        (None, "whether it was changed since the run wrote it is not known", "as it is now"),
    ],
)
def test_what_others_changed_since_is_named_and_never_called_as_the_run_left_it(since, said, now):
    (thing,) = looked(row(since=since, packages_now=None)).things
    assert thing.changed_since == said
    assert thing.changes == (Change("environment", VENV.path, now, "as it was before the run"),)


@dataclass
class Failing(Restoring):
    """Says something, and fails."""

    said: bytes = b""
    ending: object = Exited(1)

    def carry_out(self, work, on_output):
        on_output(self.said)
        return self.ending


@pytest.mark.parametrize(
    ("said", "ending", "full", "why"),
    [
        (f"{VENV.path} was not put back: /x: No space left on device; make room in /\n".encode(), Exited(1), None,
         f"{VENV.path} was not put back: /x: No space left on device; make room in /"),
        (b"", NotStarted("/s/spool: No space left on device"), None,
         f"{VENV.path} was not put back: the action was not started: /s/spool: No space left on device"),
        (b"", Signalled(9), None, f"{VENV.path} was not put back: ended by SIGKILL"),
        (b"", Interrupted(), None,
         f"{VENV.path} was not put back: ended on the node because the operator asked for it"),
        (b"", Exited(1), "/home/ops",
         (f"{VENV.path} was not put back: exit status 1; there is no room in /home/ops: make some, "
         "and put it back again")),
    ],
)  # fmt: skip
def test_why_something_was_not_put_back_is_told(said, ending, full, why):
    query = snapshots_query("R", None, things=True)
    node = NodeAtWork(
        name="gpu-01",
        attachment=Failing(ended=set(), said=said, ending=ending),
        inquiry=inquiry({query: Known([row(full=full)])}),
        run=Run(id="R", recorder=Recorder(Redactor(), None, None), clock=FakeClock(), stop=FakeStop(FakeClock())),
    )
    taken = take_back("R", (None,), node, lambda _: None)
    (thing,) = taken.things
    assert thing.why == why
    assert taken.interrupted is isinstance(ending, Interrupted)
