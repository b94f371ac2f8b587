"""Holding on to a node that is restarted: what is waited for how long, and what is taken for a new boot."""

from collections.abc import Callable

import pytest

from stackplan.connection.failure import (
    AuthenticationRefused,
    ConnectionFailure,
    ConnectionLost,
    HostKeyChanged,
    Locked,
    NodeProgramMissing,
    NodeUnreachable,
)
from stackplan.engine.attachment import Attachment, Losses
from stackplan.engine.wording import ending_text
from stackplan.model.job import Command, Ending, Exited, Job, Lost, NotRebooted, Rebooted, Work
from tests.engine.world import FakeClock, FakeSession, FakeStop, World

OLD = "1a2b3c4d-0000"
NEW = Rebooted(OLD, "9f8e7d6c-0000")
BOUND_S = 600.0
WORK = Work(
    name="job", job=Job((Command(argv=("set", "boot"), display=""),), ends_boot=OLD), step="reboot", timeout_s=BOUND_S
)


class Node:
    """A node that is restarted: each time it is watched it tells the next of `tells`, the last one for ever.

    A failure among them is raised; then each of `refusals` stands in the way of a new connection once, or `for_ever`.
    """

    for_ever = False

    def __init__(self, *tells: Ending | ConnectionFailure, refusals: tuple[ConnectionFailure, ...] = ()) -> None:
        self.tells = list(tells)
        self.refusals = list(refusals)
        self.clock = FakeClock()
        self.stop = FakeStop(self.clock)
        self.world = World({"boot": OLD}, {"boot": lambda world: Exited(0)})
        self.tries = 0

    def connect(self) -> FakeSession:
        self.tries += 1
        if self.tries > 1 and self.refusals:
            raise self.refusals[0] if self.for_ever else self.refusals.pop(0)
        session = FakeSession(self.world, self.fault)
        session.watch = self.watch  # type: ignore[method-assign] # what it tells changes with time
        return session

    def fault(self, word: str) -> None:
        pass

    def watch(self, name: str, on_output: Callable[[bytes], None], *, patience_s: float | None = None) -> Ending:
        told = self.tells.pop(0) if len(self.tells) > 1 else self.tells[0]
        if isinstance(told, ConnectionFailure):
            raise told
        return told

    def attach(self) -> Attachment:
        losses = Losses(dropped=lambda step, why: None, reattached=lambda step: None)
        return Attachment(self.connect, self.stop, self.clock, losses, reconnect_s=2.0)

    def restart(self) -> Ending:
        return self.attach().carry_out(WORK, lambda _: None)


CUT = ConnectionLost("cut")
DOWN = NodeUnreachable("nobody answers")


def test_a_node_is_waited_for_beyond_the_time_to_reconnect_and_its_new_boot_is_the_end() -> None:
    node = Node(CUT, NEW, refusals=(DOWN,) * 20)
    assert node.restart() == NEW
    assert node.world.starts == {"job": 1}
    assert 60.0 < node.clock.seconds < BOUND_S
    assert max(node.stop.waited) == 5.0


@pytest.mark.parametrize("seen", [NotRebooted(OLD), Lost("its boot id cannot be read")], ids=["same", "unreadable"])
def test_a_node_that_answers_from_its_old_boot_is_waited_for(seen: Ending) -> None:
    node = Node(seen, seen, CUT, seen, NEW)
    assert node.restart() == NEW
    assert node.world.starts == {"job": 1}


def test_a_node_that_keeps_its_boot_is_told_apart_from_one_that_is_lost_when_the_time_is_over() -> None:
    node = Node(CUT, NotRebooted(OLD, "System is going down."))
    ending = node.restart()
    assert ending == NotRebooted(OLD, "System is going down.")
    assert node.clock.seconds == BOUND_S
    assert ending_text(ending) == (
        "the node was not restarted in time: it answered, the boot id is still 1a2b3c4d; it says: System is going down."
    )


def test_a_boot_id_that_stays_unreadable_is_no_success() -> None:
    node = Node(CUT, Lost("the node answers, but its boot id cannot be read"))
    assert node.restart() == Lost("the node answers, but its boot id cannot be read")


def test_a_node_that_does_not_come_back_is_given_up_when_the_time_is_over() -> None:
    node = Node(CUT, refusals=(DOWN,))
    node.for_ever = True
    assert node.restart() == Lost("the node did not come back from its restart within 10 min 00 s: nobody answers")
    assert node.clock.seconds == BOUND_S


def test_a_node_that_lets_nobody_in_while_it_goes_down_or_comes_up_is_waited_for_and_its_words_are_kept() -> None:
    going = AuthenticationRefused("refused the login")
    coming = NodeProgramMissing(
        "the shell ended", printed="System is booting up. Unprivileged users are not permitted."
    )
    node = Node(CUT, NEW, refusals=(going, coming, coming))
    assert node.restart() == NEW
    node = Node(CUT, refusals=(coming,))
    node.for_ever = True
    ending = node.restart()
    assert isinstance(ending, Lost)
    assert "System is booting up." in ending.why


@pytest.mark.parametrize("refusal", [HostKeyChanged("another key"), Locked(None)], ids=["key", "locked"])
def test_another_host_or_another_run_ends_the_waiting_at_once(refusal: ConnectionFailure) -> None:
    node = Node(CUT, NEW, refusals=(DOWN, refusal))
    attachment = node.attach()
    assert attachment.carry_out(WORK, lambda _: None) == Lost(str(refusal))
    assert node.tries == 3
    assert (attachment.taken_by_another is refusal) is isinstance(refusal, Locked)


def test_a_refused_restart_is_not_waited_for() -> None:
    node = Node(Exited(1))
    assert node.restart() == Exited(1)
    assert node.clock.seconds == 0.0


def test_a_job_that_does_not_end_the_boot_is_not_watched_again() -> None:
    node = Node(NEW)
    plain = Work(name="job", job=Job(WORK.job.stages), step="torch", timeout_s=BOUND_S)
    assert node.attach().carry_out(plain, lambda _: None) == NEW
    assert node.clock.seconds == 0.0
