"""What a plan says of the snapshots that a step with `on_failure: rollback` takes, asked together with its dry run."""

from dataclasses import dataclass, field, replace

import pytest

from stackplan.engine.planner import Planner, drive
from stackplan.model.diagnosis import Severity
from stackplan.model.facts import Failed, Known, Origin
from stackplan.model.playbook import OnFailure
from stackplan.model.room import ACTIONS
from stackplan.model.written import environment
from tests.engine.world import FakeSession, Install, World, bound, step

MIB = 1024 * 1024
VENV = "/home/ops/ml-env"


@dataclass(frozen=True, slots=True)
class Fill(Install):
    """As `install`, and it says that it writes an environment."""

    def writes(self, facts):
        return environment(VENV)


@dataclass
class Roomy(World):
    """A node that is asked for room."""

    room: object = None
    rooms: list = field(default_factory=list)

    def answer(self, query):
        if query.kind != "snapshot_room":
            return super().answer(query)
        self.rooms.append(query.arguments["path"])
        return self.room


@pytest.fixture(autouse=True)
def fill(monkeypatch):
    monkeypatch.setitem(ACTIONS._loaded, "fill", Fill)


def told(**changed):
    place = {"place": "/home/ops", "device": 7, "needed_bytes": 20 * MIB, "needed_files": 3}
    room = {**place, "free_bytes": 900 * MIB, "free_files": None, **changed}
    return Known({"path": VENV, "was": "environment", "kept": False, "way": "hard links", "rooms": [room]})


def planned(room, *names, on_failure=OnFailure.ROLLBACK, now="old"):
    """Return the node and the steps of its plan."""
    dry = {name: lambda _, name=name: {name: "new"} for name in names}
    world = Roomy(dict.fromkeys(names, now), dry=dry, room=room)
    steps = [replace(step(name, action="fill"), on_failure=on_failure) for name in names]
    planner = Planner(node="n", playbook=bound(*steps), origin=Origin.LIVE, taken="", audit=False)
    return world, drive(planner, FakeSession(world).ask).report.steps


def said(steps):
    return [[it.summary for it in report.diagnoses] for report in steps]


def test_the_room_is_told_and_costs_no_round_trip():
    world, steps = planned(told(), "torch")
    assert said(steps) == [
        [f"For a rollback a snapshot of {VENV} is taken first (by hard links): it takes 20.0 MiB in /home/ops."]
    ]
    assert steps[0].diagnoses[0].severity is Severity.NOTE
    assert [len(batch) for batch in world.asked] == [1, 2], "what is there; the dry run and the room together"


def test_a_lack_of_room_is_a_warning_with_the_way_out():
    _, (step_,) = planned(told(free_bytes=5 * MIB), "torch")
    (warning,) = step_.diagnoses
    assert warning.severity is Severity.WARNING
    assert "20.0 MiB are needed in /home/ops, 5.0 MiB are free" in warning.summary
    assert "stackplan rollback" in warning.remedy


def test_what_cannot_be_asked_is_unknown_with_the_reason():
    _, steps = planned(Failed("no right to look"), "torch")
    assert said(steps)[0][0].endswith("how much room it takes is unknown: no right to look.")


def test_what_is_not_there_takes_no_room():
    absent = Known({"path": VENV, "was": "absent", "kept": False, "way": None, "rooms": []})
    assert "a rollback removes what comes" in said(planned(absent, "torch")[1])[0][0]


def test_one_environment_is_told_once():
    world, steps = planned(told(), "torch", "app")
    assert [len(it) for it in said(steps)] == [1, 0]
    assert world.rooms == [VENV]


@pytest.mark.parametrize("how", [{"on_failure": OnFailure.STOP}, {"now": "new"}])
def test_a_step_that_is_not_taken_back_or_does_not_run_asks_for_no_room(how):
    world, steps = planned(told(), "torch", **how)
    assert said(steps) == [[]]
    assert world.rooms == []


@pytest.mark.parametrize(("place", "told_of"), [(VENV, 1), (None, 2)])
def test_the_room_for_one_folder_by_two_names_is_told_once(monkeypatch, place, told_of):
    """Where nothing is told of the place, nobody takes two names for one."""
    monkeypatch.setattr(Fill, "writes", lambda self, facts: environment(f"/home/ops/{self.name}"))
    room = told()
    answer = room if place else replace(room, value={**room.value, "path": None})
    world, steps = planned(answer, "current", "ml-env")
    assert {*world.rooms} == {"/home/ops/current", "/home/ops/ml-env"}
    assert sum(len(it.diagnoses) for it in steps) == told_of
