"""A run whose controller died around a restart of its node: the node's boot decides, and nothing is restarted again."""

from dataclasses import dataclass

import pytest

from stackplan.connection.failure import ConnectionLost, Locked
from stackplan.connection.lock_owner import LockOwner
from stackplan.engine.exit_status import exit_status
from stackplan.model.job import Command, Ended, Exited, Interrupted, Job, Lost, NotRebooted, Rebooted, Vanished
from stackplan.model.outcome import NodeOutcome, Reason
from stackplan.model.room import ACTIONS
from tests.engine.test_resume import Story
from tests.engine.world import Set, World, bound, sets, step

OLD, NEW = "1a2b3c4d-0", "9f8e7d6c-0"
REBOOTED = Rebooted(OLD, NEW)
BOUND_S = 600.0


@dataclass(frozen=True, slots=True)
class Restart(Set):
    """As `set`, but it ends the boot."""

    def new_boot_within_s(self):
        return BOUND_S

    def job(self, facts):
        return Job((Command(argv=("set", self.name), display="restart"),), ends_boot=OLD)


@pytest.fixture
def tell(stage, tmp_path, monkeypatch):
    """Give a story of two steps, of which the first restarts the node and `ends` so; its controller has died then."""
    monkeypatch.setitem(ACTIONS._loaded, "restart", Restart)

    def tell(ends=REBOOTED, kernel="new", *, interruptible=True):
        def restart(world):
            world.values["kernel"] = kernel
            return ends

        world = World({"kernel": "old", "torch": "old"}, {"kernel": restart, "torch": sets()("torch")})
        steps = (step("kernel", action="restart"), step("torch"))
        if not interruptible:
            object.__setattr__(steps[0], "interruptible", False)
        return Story(stage, tmp_path, bound(*steps), gpu=world), world

    return tell


def killed(tale):
    """Let the controller be killed right after it announced the restart, which the node has heard of."""
    tale.apply()
    world = tale.stage.worlds["gpu"]
    lines = tale.journal.read_bytes().splitlines(keepends=True)
    (at, *_) = [index for index, line in enumerate(lines) if line.startswith(b'{"event":"StepStarted"')]
    tale.journal.write_bytes(b"".join(lines[: at + 1]))
    world.values["torch"] = "old"
    for job in [job for job in world.starts if ".torch." in job]:
        del world.starts[job], world.endings[job]


def outcomes(report):
    return {it.id: it.outcome.value for it in report.nodes[0].steps}


def test_another_boot_is_how_the_restart_was_to_end(tell):
    tale, _ = tell()
    report = tale.apply()
    assert outcomes(report) == {"kernel": "changed", "torch": "changed"}
    assert report.nodes[0].steps[0].action.ending == (
        "the node was restarted: boot 1a2b3c4d is over, it answers from boot 9f8e7d6c"
    )


@pytest.mark.parametrize(
    "found",
    [Vanished("restarted", rebooted=REBOOTED), Ended(REBOOTED), Ended(Exited(0)), Vanished("killed", {7: "python3"})],
    ids=["vanished", "ended", "exited", "going down"],
)
def test_a_node_that_was_restarted_while_nobody_watched_is_not_restarted_again(tell, found):
    tale, world = tell()
    killed(tale)
    world.found = {tale.job("kernel"): found}
    report = tale.resume()
    assert outcomes(report) == {"kernel": "changed", "torch": "changed"}
    assert [job for job in world.starts if ".kernel." in job] == [tale.job("kernel")]


def test_a_restart_that_was_never_begun_is_begun(tell):
    tale, world = tell()
    killed(tale)
    del world.starts[tale.job("kernel")], world.endings[tale.job("kernel")]
    world.values["kernel"] = "old"
    assert outcomes(tale.resume()) == {"kernel": "changed", "torch": "changed"}
    assert world.starts[tale.job("kernel")] == 1


@pytest.mark.parametrize("left", [NotRebooted(OLD), Interrupted()], ids=["same boot", "interrupted"])
def test_only_where_the_old_boot_goes_on_when_its_time_is_over_it_is_restarted_anew(tell, left):
    tale, world = tell()
    killed(tale)
    world.values["kernel"] = "old"
    world.endings[tale.job("kernel")] = left
    assert outcomes(tale.resume()) == {"kernel": "changed", "torch": "changed"}
    assert world.starts == {tale.job("kernel"): 1, tale.job("kernel", 2): 1, tale.job("torch"): 1}
    waited = tale.stage.clock.seconds
    assert (waited > BOUND_S - 10.0) is isinstance(left, NotRebooted)


def test_one_that_may_not_be_repeated_unasked_is_not(tell):
    tale, world = tell(interruptible=False)
    killed(tale)
    world.values["kernel"] = "old"
    world.endings[tale.job("kernel")] = NotRebooted(OLD)
    report = tale.resume()
    assert [it.code for it in report.nodes[0].steps[0].diagnoses] == ["SP250"]
    assert set(world.starts) == {tale.job("kernel")}
    assert outcomes(tale.resume("kernel")) == {"kernel": "changed", "torch": "changed"}


@pytest.mark.parametrize(
    ("ends", "reason", "node"),
    [
        (NotRebooted(OLD), Reason.TIMEOUT, NodeOutcome.FAILED),
        (Lost("its boot id cannot be read"), Reason.LOST, NodeOutcome.LOST),
        (Exited(1), Reason.ACTION, NodeOutcome.FAILED),
    ],
    ids=["same boot", "unreadable", "refused"],
)
def test_what_is_no_new_boot_stops_the_node_whatever_holds(tell, ends, reason, node):
    tale, _ = tell(ends)
    report = tale.apply()
    assert (report.nodes[0].outcome, report.nodes[0].reason) == (node, reason)
    assert outcomes(report)["torch"] == "not-reached"


def test_a_node_that_comes_back_without_what_the_restart_was_for_stops_there(tell):
    tale, _ = tell(kernel="old")
    report = tale.apply()
    assert (report.nodes[0].stopped_at, report.nodes[0].reason) == ("kernel", Reason.NO_OP)


def test_another_run_that_took_the_node_while_it_was_down_keeps_it(tell):
    tale, _ = tell()
    other = LockOwner(run="77bb", operator="eve", host="bench", playbook="p", time="2026-12-01T03:10:22Z")
    locks = []

    def fault(word):
        if word == "watching":
            raise ConnectionLost("cut")
        if word == "lock":
            locks.append(word)
            if len(locks) > 1:
                raise Locked(other)

    tale.stage.faults["gpu"] = fault
    report = tale.apply()
    assert report.nodes[0].outcome is NodeOutcome.LOCKED
    assert "by run 77bb of eve on bench" in report.nodes[0].message
    assert exit_status(report) == 7
