"""`apply` as the command line calls it: an id, a journal, a report; and the parts around it."""

import re
import stat

import pytest

from stackplan.engine.apply import Setting, apply
from stackplan.engine.clock import SystemClock
from stackplan.engine.fold import fold
from stackplan.engine.journal import read
from stackplan.engine.run_id import run_id
from stackplan.engine.state_folder import private_folder, state_folder
from stackplan.engine.stop import Level, Stop
from stackplan.model.diagnosis import Invalid
from stackplan.model.outcome import NodeOutcome
from stackplan.model.secret import Redactor
from tests.engine.world import FakeSession, World, bound, sets, step, target


def setting(state):
    return Setting(state=state, redactor=Redactor(), operator="ops", clock=SystemClock(), stop=Stop())


def test_apply_leaves_a_journal_that_folds_to_its_report(tmp_path):
    world = World({"torch": "old"}, {"torch": sets()("torch")})
    seen = []
    report = apply([target("a", bound(step("torch")))], lambda node: FakeSession(world), setting(tmp_path), seen.append)
    (path,) = (tmp_path / "runs").glob("*/events.jsonl")
    assert path.parent.name == report.run
    assert fold(read(path)) == report
    assert (report.outcome, report.playbook.name) == (NodeOutcome.OK, "story")
    assert report.ended is not None
    assert read(path) == tuple(seen)
    assert world.starts == {f"{report.run}.a.torch.1": 1}


def test_apply_that_cannot_begin_a_journal_runs_nothing(tmp_path):
    (tmp_path / "state").write_text("")
    world = World({"torch": "old"})
    with pytest.raises(Invalid, match="cannot write"):
        apply([target("a", bound(step("torch")))], lambda node: FakeSession(world), setting(tmp_path / "state"))
    assert world.asked == []


def test_applied_twice_everything_is_satisfied(tmp_path):
    world = World({"torch": "old"}, {"torch": sets()("torch")})
    targets = [target("a", bound(step("torch")))]
    apply(targets, lambda node: FakeSession(world), setting(tmp_path))
    again = apply(targets, lambda node: FakeSession(world), setting(tmp_path))
    assert [it.outcome.value for it in again.nodes[0].steps] == ["satisfied"]
    assert len(world.starts) == 1
    assert len(list((tmp_path / "runs").iterdir())) == 2


def test_the_id_of_a_run_is_its_time_and_four_digits():
    assert re.fullmatch(r"20261201T031022Z-[0-9a-f]{4}", run_id("2026-12-01T03:10:22.123Z"))
    assert re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{4}", run_id(SystemClock().now()))
    assert re.fullmatch(r"20261201T031022Z-[0-9a-f]{4}", run_id("2026-12-01T03:10:22Z"))


def test_runs_of_one_second_stand_in_the_order_in_which_they_began():
    ids = [run_id(f"2026-12-01T03:10:22.{number:03}Z") for number in range(1000)]
    assert ids == sorted(ids)


def test_the_state_folder_is_where_the_variable_says(tmp_path):
    assert state_folder({"STACKPLAN_STATE": str(tmp_path)}) == tmp_path
    assert state_folder({}).name == "stackplan"


def test_folders_that_are_made_are_private_and_folders_that_are_there_stay_as_they_are(tmp_path):
    tmp_path.chmod(0o755)
    made = private_folder(tmp_path / "a" / "b")
    assert {stat.S_IMODE(it.stat().st_mode) for it in (made, made.parent)} == {0o700}
    assert stat.S_IMODE(private_folder(tmp_path).stat().st_mode) == 0o755


def test_a_wish_to_stop_rises_and_never_falls():
    stop, told = Stop(), []
    stop.on_change(lambda: told.append(stop.level))
    assert stop.outcome_before_next_step is None
    assert not stop.wait(0)
    assert stop.request() is Level.FINISH
    assert stop.wait(60)
    assert not stop.wait(0, Level.END)
    assert stop.request() is Level.END
    assert stop.request(Level.FINISH) is Level.END
    assert stop.wait(60, Level.END)
    assert stop.outcome_before_next_step is NodeOutcome.INTERRUPTED
    assert told == [Level.FINISH, Level.END, Level.END]


def test_too_many_failures_are_no_interruption():
    stop = Stop()
    stop.fail_rollout()
    assert stop.outcome_before_next_step is NodeOutcome.SKIPPED
    assert stop.wait(60)
    stop.request()
    assert stop.outcome_before_next_step is NodeOutcome.INTERRUPTED


def test_two_names_of_one_machine_have_jobs_of_their_own(tmp_path):
    world = World({"torch": "old"}, {"torch": sets()("torch")})
    targets = [target(name, bound(step("torch", always=True))) for name in ("a", "b c")]
    report = apply(targets, lambda node: FakeSession(world), setting(tmp_path))
    assert sorted(world.starts) == [f"{report.run}.a.torch.1", f"{report.run}.b_c-f52dd21c.torch.1"]
