"""A run that is taken up again, at every point at which its controller may have gone."""

import json
import os
from dataclasses import replace

import pytest

from stackplan.connection.failure import ConnectionLost, LeftOver, Locked, NodeUnreachable, RunGoesOn
from stackplan.connection.holders import Holders, LivingJob
from stackplan.connection.lock_owner import LockOwner
from stackplan.engine.apply import Setting, apply
from stackplan.engine.fold import fold
from stackplan.engine.journal import journal_path, read
from stackplan.engine.resume import Resumption, resume
from stackplan.engine.stop import Level
from stackplan.model.event import Awaited, OutputSeen, RunResumed, StepEnded, StepStarted
from stackplan.model.job import Ended, Exited, Interrupted, Lost, Running, Signalled, TimedOut, Vanished
from stackplan.model.outcome import NodeOutcome, Reason, StepOutcome
from stackplan.model.playbook import Rollout, Share
from stackplan.model.secret import Redactor
from tests.engine.world import FakeStop, World, bound, condition, sets, step, target


class Killed(BaseException):
    """What ends a controller as SIGKILL does: nobody may handle it."""


class Story:
    """One node (or more), a playbook, and controllers that come one after the other."""

    def __init__(self, stage, state, book, **worlds):
        self.stage = stage(**worlds)
        self.state = state
        self.book = book
        self.events = []

    @property
    def setting(self):
        stage = self.stage
        stage.stop = FakeStop(stage.clock)
        return Setting(
            state=self.state, redactor=stage.redactor, operator="ops", clock=stage.clock, stop=stage.stop, parallel=1
        )

    @property
    def targets(self):
        return [target(name, self.book) for name in self.stage.worlds]

    @property
    def run(self):
        (folder,) = (self.state / "runs").iterdir()
        return folder.name

    @property
    def journal(self):
        return journal_path(self.state, self.run)

    def apply(self):
        return apply(self.targets, self.stage.connect, self.setting, self.events.append)

    def resume(self, *again):
        self.events.clear()
        resumption = Resumption(run=self.run, again=frozenset(again))
        return resume(self.targets, self.stage.connect, self.setting, resumption, self.events.append)

    def cut(self, kind, count=1):
        """Take things back to when a controller was killed right after its `count`-th event `kind` was on disk."""
        lines = self.journal.read_bytes().splitlines(keepends=True)
        at = [index for index, line in enumerate(lines) if line.startswith(b'{"event":"%s"' % kind.encode())]
        self.journal.write_bytes(b"".join(lines[: at[count - 1] + 1]))
        announced = {
            self.job(it.step, it.action.attempts, it.node) for it in read(self.journal) if isinstance(it, StepStarted)
        }
        for node in self.stage.worlds.values():
            for job in set(node.starts) - announced:
                del node.starts[job], node.endings[job]
                if job.endswith(".1"):
                    node.values[job.split(".")[-2]] = "old"

    def job(self, step="torch", attempt=1, node="gpu"):
        return f"{self.run}.{node}.{step}.{attempt}"


@pytest.fixture
def story(stage, tmp_path):
    def story(*steps, node=None, rollout=None, **worlds):
        book = bound(*(steps or (step("torch"), step("sglang"))), rollout=rollout)
        return Story(stage, tmp_path, book, **(worlds or {"gpu": node or world()}))

    return story


def world(**commands):
    commands = {"torch": sets()("torch"), "sglang": sets()("sglang"), **commands}
    return World({"torch": "old", "sglang": "old"}, commands, prints=b"one\ntwo\n")


def outcomes(report, node=0):
    return {it.id: it.outcome.value for it in report.nodes[node].steps}


BOTH = {"torch": "changed", "sglang": "changed"}


@pytest.mark.parametrize("kind", ["RunStarted", "NodeStarted", "NodeProven", "StepStarted", "OutputSeen", "StepEnded",
                                  "NodeEnded", "RunEnded"])  # fmt: skip
@pytest.mark.parametrize("torn", [b"", b'{"event":"StepEnded","node":"g'])
def test_after_whichever_event_the_controller_was_killed_no_action_runs_twice(story, kind, torn):
    tale = story()
    whole = tale.apply()
    starts = dict(tale.stage.worlds["gpu"].starts)
    tale.cut(kind)
    with tale.journal.open("ab") as file:
        file.write(torn)
    report = tale.resume()
    assert outcomes(report) == BOTH
    assert report.outcome is NodeOutcome.OK
    assert tale.stage.worlds["gpu"].starts == starts
    assert report.run == whole.run
    assert fold(read(tale.journal)) == report
    assert json.loads(tale.journal.read_bytes().splitlines()[-1])["event"] == "RunEnded"


def test_a_controller_that_is_killed_twice_leaves_a_run_that_can_be_taken_up(story):
    tale = story()
    tale.apply()
    tale.cut("StepStarted")
    tale.resume()
    tale.cut("StepStarted", 2)
    assert outcomes(tale.resume()) == BOTH
    assert set(tale.stage.worlds["gpu"].starts.values()) == {1}


@pytest.mark.parametrize("left", [b"", b'{"format":"stackpl', b'{"format":"stackplan.journal/1"}\n'])
def test_a_run_that_was_killed_before_it_said_anything_is_begun(story, left):
    tale = story()
    folder = tale.state / "runs" / "20261201T031022Z-4f2a"
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_bytes(left)
    report = tale.resume()
    assert outcomes(report) == BOTH
    assert report.run == "20261201T031022Z-4f2a"


def test_an_announced_step_that_never_started_is_started_under_its_own_name(story):
    tale = story()
    tale.apply()
    tale.cut("StepStarted")
    tale.stage.worlds["gpu"] = world()
    assert outcomes(tale.resume()) == BOTH
    assert tale.stage.worlds["gpu"].starts == {tale.job(): 1, tale.job("sglang"): 1}


def test_what_is_watched_to_its_end_is_judged_by_what_was_before(story):
    tale = story(step("torch", post=[condition("is", 3, name="torch", value="new")]), step("sglang"))
    tale.apply()
    tale.cut("StepStarted")
    report = tale.resume()
    torch = report.nodes[0].steps[0]
    assert [(it.name, it.before, it.after) for it in torch.changes] == [("torch", "old", "new")]
    assert [(it.before.value, it.status.value) for it in torch.conditions] == [("not-held", "held")]
    assert torch.action.exit_code == 0
    assert torch.action.output_tail == "one\ntwo"


def test_an_action_that_changed_nothing_is_a_no_op_for_the_next_controller_too(story):
    tale = story(node=world(torch=lambda it: Exited(0)))
    first = tale.apply()
    tale.cut("StepStarted")
    second = tale.resume()
    for report in (first, second):
        assert (report.nodes[0].stopped_at, report.nodes[0].reason) == ("torch", Reason.NO_OP)
    assert tale.stage.worlds["gpu"].starts == {tale.job(): 1}


def test_a_secret_in_the_facts_is_not_taken_for_a_change(story):
    tale = story(step("torch", post=[condition("is", 3, name="torch", value="new")]), node=world())
    tale.stage.redactor = Redactor(frozenset({"hunter2hunter2"}))
    tale.stage.worlds["gpu"].values["torch"] = "hunter2hunter2"
    tale.stage.worlds["gpu"].commands["torch"] = lambda it: Exited(0)
    tale.apply()
    assert b"hunter2" not in tale.journal.read_bytes()
    tale.cut("StepStarted")
    assert tale.resume().nodes[0].reason is Reason.NO_OP


def test_output_that_was_told_is_not_told_twice(story):
    tale = story()
    tale.apply()
    tale.cut("OutputSeen")
    lines = tale.journal.read_bytes().splitlines(keepends=True)
    told = json.loads(lines[-1])
    lines[-1] = json.dumps({**told, "text": "one\n"}).encode() + b"\n"
    tale.journal.write_bytes(b"".join(lines))
    tale.resume()
    seen = [it.text for it in read(tale.journal) if isinstance(it, OutputSeen) and it.step == "torch"]
    assert seen == ["one\n", "two\n"]


@pytest.mark.parametrize("ending", [Signalled(9), Exited(1), TimedOut(30.0, ("sleep (7)",))])
def test_retries_go_on_where_the_controller_was_killed(story, ending):
    endings = [ending, ending, Exited(0)]

    def torch(node):
        found = endings.pop(0)
        if found == Exited(0):
            node.values["torch"] = "new"
        return found

    tale = story(step("torch", retries=2), step("sglang"), node=world(torch=torch))
    tale.apply()
    starts = dict(tale.stage.worlds["gpu"].starts)
    assert starts[tale.job(attempt=3)] == 1
    tale.cut("StepStarted", 2)
    tale.stage.worlds["gpu"].values["torch"] = "old"
    endings.append(Exited(0))
    report = tale.resume()
    assert outcomes(report) == BOTH
    assert tale.stage.worlds["gpu"].starts == starts
    assert report.nodes[0].steps[0].action.attempts == 3


def test_a_node_that_failed_is_tried_again_under_another_number(story):
    endings = [Exited(1), Exited(0)]

    def torch(node):
        found = endings.pop(0)
        node.values["torch"] = "new" if found == Exited(0) else "old"
        return found

    tale = story(node=world(torch=torch))
    assert tale.apply().outcome is NodeOutcome.FAILED
    assert outcomes(tale.resume()) == BOTH
    assert tale.stage.worlds["gpu"].starts == {tale.job(): 1, tale.job(attempt=2): 1, tale.job("sglang"): 1}


UNKNOWN = [
    Vanished("the node was restarted while the job ran"),
    Ended(Lost("the supervisor broke")),
    Ended(Interrupted()),
]


@pytest.mark.parametrize("found", UNKNOWN)
def test_a_step_whose_end_nobody_knows_is_judged_by_its_conditions(story, found):
    tale = story()
    tale.apply()
    tale.cut("StepStarted")
    tale.stage.worlds["gpu"].found[tale.job()] = found
    report = tale.resume()
    torch = report.nodes[0].steps[0]
    assert torch.outcome is StepOutcome.CHANGED
    assert torch.message.endswith("all that it was to bring about holds")
    assert [it.name for it in torch.changes] == ["torch"]
    assert tale.stage.worlds["gpu"].starts[tale.job()] == 1
    assert tale.job(attempt=2) not in tale.stage.worlds["gpu"].starts


@pytest.mark.parametrize("found", UNKNOWN)
@pytest.mark.parametrize("interruptible", [True, False])
def test_where_they_do_not_hold_it_runs_again_unless_it_may_not_be_cut_off(story, found, interruptible):
    torch = replace(step("torch"), interruptible=interruptible)
    tale = story(torch, step("sglang"))
    tale.apply()
    tale.cut("StepStarted")
    node = tale.stage.worlds["gpu"]
    node.values["torch"] = "old"
    node.found[tale.job()] = found
    report = tale.resume()
    if not interruptible:
        (refused,) = report.nodes[0].steps[0].diagnoses
        assert refused.code == "SP250"
        assert f"`stackplan resume {tale.run} --again torch`" in refused.remedy
        assert (report.nodes[0].outcome, report.nodes[0].reason) == (NodeOutcome.LOST, Reason.LOST)
        assert node.starts == {tale.job(): 1}
        report = tale.resume("torch")
    assert outcomes(report) == BOTH
    assert node.starts == {tale.job(): 1, tale.job(attempt=2): 1, tale.job("sglang"): 1}


def test_what_lost_its_supervisor_is_waited_for_before_anything_runs_again(story):
    tale = story()
    tale.apply()
    tale.cut("StepStarted")
    node = tale.stage.worlds["gpu"]
    living = [{7: "sh"}, {7: "sh"}, {}]
    node.found[tale.job()] = Vanished("it was killed", living[0])

    def fault(word):
        if word == "find":
            node.found[tale.job()] = Vanished("it was killed", living.pop(0))

    tale.stage.faults["gpu"] = fault
    assert outcomes(tale.resume()) == BOTH
    assert living == []
    (awaited,) = [it for it in tale.events if isinstance(it, Awaited)]
    assert "will not be recorded on the node, and sh (7) live on" in awaited.what


def test_what_lost_its_supervisor_and_never_ends_stops_the_node(story):
    tale = story()
    tale.apply()
    tale.cut("StepStarted")
    tale.stage.worlds["gpu"].found[tale.job()] = Vanished("it was killed", {7: "sh"})
    (node,) = tale.resume().nodes
    assert (node.outcome, node.stopped_at) == (NodeOutcome.LOST, "torch")
    assert node.message == "how it ends will not be recorded on the node, and what it had started lives on: sh (7)"
    assert "stackplan unlock" in node.steps[0].diagnoses[0].remedy


def test_a_step_after_which_the_node_was_lost_is_watched_on(story):
    tale = story()
    drops = []

    def fault(word):
        if word == "watch" and not drops:
            drops.append(word)
            tale.stage.refusals["gpu"] = [NodeUnreachable("no route")] * 50
            raise ConnectionLost("cut")

    tale.stage.faults["gpu"] = fault
    assert tale.apply().outcome is NodeOutcome.LOST
    tale.stage.refusals["gpu"].clear()
    assert outcomes(tale.resume()) == BOTH
    assert set(tale.stage.worlds["gpu"].starts.values()) == {1}


def test_a_step_that_always_runs_does_so_once_a_run(story):
    tale = story(step("torch", always=True), step("sglang"))
    tale.apply()
    tale.cut("StepEnded")
    assert outcomes(tale.resume()) == BOTH
    assert set(tale.stage.worlds["gpu"].starts.values()) == {1}


def test_a_node_that_was_finished_is_proven_and_nothing_runs_there(story):
    tale = story()
    tale.apply()
    assert outcomes(tale.resume()) == BOTH
    assert not [it for it in tale.events if isinstance(it, StepStarted)]
    tale.stage.worlds["gpu"].values["torch"] = "old"
    (node,) = tale.resume().nodes
    assert (node.outcome, node.stopped_at, node.reason) == (NodeOutcome.FAILED, "torch", Reason.REGRESSION)
    assert not [it for it in tale.events if isinstance(it, StepStarted)]


def test_waves_and_failures_count_as_in_the_run(story):
    fails = lambda node: Exited(1)  # noqa: E731 - a command of a world
    tale = story(a=world(torch=fails), b=world(), c=world(), rollout=Rollout(canary=Share(count=1)))
    report = tale.apply()
    assert [it.outcome.value for it in report.nodes] == ["failed", "skipped", "skipped"]
    report = tale.resume()
    assert [it.outcome.value for it in report.nodes] == ["failed", "skipped", "skipped"]
    tale.stage.worlds["a"].commands["torch"] = sets()("torch")
    report = tale.resume()
    assert [it.outcome.value for it in report.nodes] == ["ok", "ok", "ok"]
    assert [it.wave for it in report.nodes] == [1, 2, 2]


def test_while_its_controller_lives_a_run_is_not_taken_up(story):
    tale = story()
    tale.apply()
    held = os.open(tale.journal, os.O_RDWR)
    import fcntl  # noqa: PLC0415

    fcntl.flock(held, fcntl.LOCK_EX)
    with pytest.raises(RunGoesOn, match=rf"run {tale.run} is still going on: process {os.getpid()} on "):
        tale.resume()
    os.close(held)
    assert outcomes(tale.resume()) == BOTH
    assert isinstance(tale.events[0], RunResumed)


def test_steps_before_the_one_that_runs_are_not_judged_while_it_is_in_the_middle_of_things(story):
    """What it has taken away for the moment must not have an earlier step run beside it."""
    tale = story()
    tale.apply()
    tale.cut("StepStarted", 2)
    node = tale.stage.worlds["gpu"]
    # `sglang` is at work, and `torch` is not there while it is.
    node.values.update(torch="gone")
    node.starts[tale.job("sglang")] = 1
    node.endings[tale.job("sglang")] = Exited(0)
    node.found[tale.job("sglang")] = Running(1.0)

    def fault(word):
        if word == "watching":
            node.values.update(torch="new", sglang="new")

    tale.stage.faults["gpu"] = fault
    assert outcomes(tale.resume()) == BOTH
    assert node.starts == {tale.job(): 1, tale.job("sglang"): 1}
    ends = [it.step.id for it in read(tale.journal) if isinstance(it, StepEnded)]
    assert ends == ["torch", "sglang", "torch"]


def test_what_the_open_step_broke_of_those_before_it_is_a_regression(story):
    tale = story()
    tale.apply()
    tale.cut("StepStarted", 2)
    node = tale.stage.worlds["gpu"]
    node.starts[tale.job("sglang")] = 1
    node.endings[tale.job("sglang")] = Exited(0)
    node.values.update(torch="gone", sglang="new")
    (ended,) = tale.resume().nodes
    assert (ended.stopped_at, ended.reason) == ("sglang", Reason.REGRESSION)
    assert ended.steps[1].broke.step == "torch"
    assert node.starts == {tale.job(): 1, tale.job("sglang"): 1}


def test_other_jobs_of_the_run_are_waited_for_first(story):
    tale = story()
    tale.apply()
    tale.cut("StepEnded")
    node = tale.stage.worlds["gpu"]
    restoring = LivingJob(job=f"{tale.run}.gpu._restore0.2", age_s=1.0, timeout_s=30.0)
    elsewhere = LivingJob(job=f"{tale.run}.gpu-2.torch.1")
    looks = [(restoring, elsewhere), (restoring,), (elsewhere,)]

    def fault(word):
        if word == "holders":
            node.holders = Holders(held=True, jobs=looks.pop(0))

    tale.stage.faults["gpu"] = fault
    assert outcomes(tale.resume()) == BOTH
    assert looks == []
    (awaited,) = [it for it in tale.events if isinstance(it, Awaited)]
    assert awaited.what == "step `_restore0` has been running there for 1.0 s"


def test_another_job_of_the_run_that_does_not_end_stops_the_node(story):
    tale = story()
    tale.apply()
    tale.cut("StepEnded")
    job = LivingJob(job=f"{tale.run}.gpu._restore0.2", age_s=1.0, timeout_s=30.0)
    tale.stage.worlds["gpu"].holders = Holders(held=True, jobs=(job,))
    (node,) = tale.resume().nodes
    assert node.outcome is NodeOutcome.LOST
    assert "does not end: step `_restore0` has been running there" in node.message
    assert "stackplan unlock" in node.remedy


OWNER = LockOwner(run="X", operator="eve", host="there", playbook="p", time="t")
JOB = LivingJob(job="X.gpu.torch.1", age_s=10.0, timeout_s=30.0)


@pytest.mark.parametrize("times", [1, 3])
def test_a_new_run_waits_for_the_job_of_a_controller_that_is_gone(story, times):
    tale = story()
    held = [Locked(OWNER, age_s=12.0, attended=False, jobs=(JOB,))] * times

    def fault(word):
        if word == "lock" and held:
            raise held.pop()

    tale.stage.faults["gpu"] = fault
    assert outcomes(tale.apply()) == BOTH
    (awaited,) = [it for it in tale.events if isinstance(it, Awaited)]
    assert awaited.what == "step `torch` has been running there for 10 s, for run X, whose controller is gone"


@pytest.mark.parametrize(
    ("locked", "waits"),
    [
        (Locked(OWNER, attended=False, jobs=(JOB,)), True),
        (Locked(OWNER, attended=True, jobs=(JOB,)), False),
        (Locked(OWNER, attended=False), False),
        (LeftOver("X.gpu.torch.1", {7: "sh"}), False),
    ],
)
def test_it_waits_no_longer_than_the_job_may_take_and_for_nothing_else(story, locked, waits):
    tale = story()

    def fault(word):
        if word == "lock":
            raise locked

    tale.stage.faults["gpu"] = fault
    (node,) = tale.apply().nodes
    assert node.outcome is NodeOutcome.LOCKED
    assert 80.0 <= tale.stage.clock.seconds < 81.0 if waits else tale.stage.clock.seconds == 0.0


def test_an_operator_who_stops_a_run_that_waits_is_heard(story):
    tale = story()

    def fault(word):
        if word == "lock":
            tale.stage.stop.request(Level.FINISH)
            raise Locked(OWNER, attended=False, jobs=(JOB,))

    tale.stage.faults["gpu"] = fault
    (node,) = tale.apply().nodes
    assert node.outcome is NodeOutcome.INTERRUPTED
