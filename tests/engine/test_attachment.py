"""Holding on to a node: what is tried again for how long, and what is not."""

import pytest

from stackplan.connection.failure import (
    AuthenticationRefused,
    ConnectionFailure,
    ConnectionLost,
    HostKeyChanged,
    HostKeyUnknown,
    LockBroken,
    Locked,
    NodeProgramMissing,
    NodeUnreachable,
    ProgramSilent,
)
from stackplan.engine.attachment import OVERDUE_S, RECONNECT_S, Attachment, Losses
from stackplan.model.facts import Query
from stackplan.model.job import Command, Exited, Job, Lost, Work
from tests.engine.world import FakeClock, FakeSession, FakeStop, World

WORK = Work(name="job", job=Job((Command(argv=("set", "torch"), display=""),)), step="torch", timeout_s=30.0)


class Way:
    """The way to one node: after the first session, each of `refusals` stands in the way once."""

    def __init__(self, refusals: list[ConnectionFailure], drop_at: str) -> None:
        self.refusals = refusals
        self.drop_at = drop_at
        self.tries = 0
        self.clock = FakeClock()
        self.stop = FakeStop(self.clock)
        self.world = World({"torch": "old"}, {"torch": lambda world: Exited(0)})

    def connect(self) -> FakeSession:
        self.tries += 1
        if self.tries > 1 and self.refusals:
            raise self.refusals.pop(0)
        return FakeSession(self.world, self.fault)

    def fault(self, word: str) -> None:
        if word == self.drop_at and self.tries == 1:
            raise ConnectionLost("cut")

    def attach(self) -> Attachment:
        losses = Losses(dropped=lambda step, why: None, reattached=lambda step: None)
        return Attachment(self.connect, self.stop, self.clock, losses)


PASSING = pytest.mark.parametrize(
    "refusal",
    [
        NodeUnreachable("x"),
        ConnectionLost("x"),
        ProgramSilent("x"),
        NodeProgramMissing("x"),
        AuthenticationRefused("x"),
    ],
    ids=lambda it: type(it).__name__,
)


# Pauses of 0.5, 1, 2, 4, 8, 16, 30, 30 s, and what is left of two minutes.
TRIES = 9


@PASSING
def test_while_a_job_is_out_there_whatever_stands_in_the_way_is_tried_again(refusal: ConnectionFailure) -> None:
    way = Way([refusal] * (TRIES - 1), drop_at="watching")
    assert way.attach().carry_out(WORK, lambda _: None) == Exited(0)
    assert way.world.starts == {"job": 1}
    assert way.tries == 1 + TRIES


@PASSING
def test_the_last_reason_is_told_when_the_time_is_used_up(refusal: ConnectionFailure) -> None:
    way = Way([refusal] * TRIES, drop_at="watching")
    assert way.attach().carry_out(WORK, lambda _: None) == Lost("x")
    assert way.clock.seconds == RECONNECT_S


def test_the_time_to_reconnect_is_the_operators_to_choose() -> None:
    way = Way([NodeUnreachable("x")] * TRIES, drop_at="watching")
    losses = Losses(dropped=lambda step, why: None, reattached=lambda step: None)
    attachment = Attachment(way.connect, way.stop, way.clock, losses, reconnect_s=2.0)
    assert attachment.carry_out(WORK, lambda _: None) == Lost("x")
    assert way.stop.waited == [0.5, 1.0, 0.5]
    assert way.clock.seconds == 2.0


@pytest.mark.parametrize(("word", "drops"), [("ask", 6), ("watching", 10)])
def test_a_connection_that_comes_and_goes_is_held_on_to_for_as_long_while_a_job_is_out_there(
    word: str, drops: int
) -> None:
    way = Way([], drop_at="never")
    seen = []

    def fault(told: str) -> None:
        if told == word:
            seen.append(told)
            raise ConnectionLost("cut")

    way.fault = fault
    attachment = way.attach()
    if word == "ask":
        with pytest.raises(ConnectionLost, match="cut"):
            attachment.ask((Query("value", {"name": "torch"}),))
    else:
        assert attachment.carry_out(WORK, lambda _: None) == Lost("cut")
    assert len(seen) == drops
    assert way.clock.seconds == sum([0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0][: drops - 1])


@pytest.mark.parametrize(
    "refusal",
    [HostKeyChanged("x"), HostKeyUnknown("x"), Locked(None), LockBroken("eve")],
    ids=lambda it: type(it).__name__,
)
def test_another_host_or_another_run_ends_it_at_once(refusal: ConnectionFailure) -> None:
    way = Way([refusal], drop_at="watching")
    assert isinstance(way.attach().carry_out(WORK, lambda _: None), Lost)
    assert way.tries == 2


@pytest.mark.parametrize(("refusal", "tries"), [(AuthenticationRefused("x"), 2), (ProgramSilent("x"), 3)])
def test_with_nothing_out_there_a_refused_login_is_final(refusal: ConnectionFailure, tries: int) -> None:
    way = Way([refusal], drop_at="ask")
    attachment = way.attach()
    query = Query("value", {"name": "torch"})
    if tries == 2:
        with pytest.raises(AuthenticationRefused, match="x"):
            attachment.ask((query,))
    else:
        assert attachment.ask((query,))
    assert way.tries == tries


def test_a_job_is_waited_for_until_long_after_its_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    patience: list[float | None] = []

    def watch(self, name, on_output, *, patience_s=None):
        patience.append(patience_s)
        if len(patience) == 1:
            way.clock.seconds += 80.0
            raise ConnectionLost("cut")
        return Exited(0)

    monkeypatch.setattr(FakeSession, "watch", watch)
    way = Way([], drop_at="never")
    way.attach().carry_out(WORK, lambda _: None)
    # A node that was away for longer than the job may take still gets the time to say how it ended.
    assert patience == [30.0 + OVERDUE_S, OVERDUE_S]


def test_the_time_of_a_job_begins_when_it_was_started_however_long_that_took(monkeypatch: pytest.MonkeyPatch) -> None:
    patience: list[float | None] = []

    def watch(self, name, on_output, *, patience_s=None):
        patience.append(patience_s)
        return Exited(0)

    monkeypatch.setattr(FakeSession, "watch", watch)
    way = Way([NodeUnreachable("x")] * 7, drop_at="start")
    way.attach().carry_out(WORK, lambda _: None)
    assert way.clock.seconds > 60.0
    assert patience == [30.0 + OVERDUE_S]
