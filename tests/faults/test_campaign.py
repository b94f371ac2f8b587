"""The campaign in small; `script/test --faults` is the whole of it."""

import pytest

from tests.faults.announcement import Announcements
from tests.faults.campaign import run_campaign
from tests.faults.injection import FAULTS
from tests.faults.tally import WRONG, Tally, text
from tests.faults.trial import Trial, printed
from tests.sshd.node import SSHD

FEW = 20
needs_sshd = pytest.mark.skipif(SSHD is None, reason="OpenSSH's sshd is not installed")


@pytest.mark.sshd
@needs_sshd
def test_no_fault_costs_a_step_or_runs_one_twice(tmp_path):
    tally = run_campaign(tmp_path, faults=FEW, seed=7, at_once=4, share=5, steps=3, deadline_s=100.0)
    assert tally.clean, text(tally, 7)
    assert tally.injected == FEW
    assert tally.steps >= 12


@pytest.fixture
def trial(tmp_path):
    trial = Trial(tmp_path, "7.0", share=1, steps=2)
    trial.sandbox.home.mkdir(parents=True)
    return trial


@pytest.mark.parametrize(
    ("ran", "counted", "said"),
    [
        ("step-1\n", "steps lost", "7.0: step-2 ran 0 times"),
        ("step-1\nstep-2\nstep-2\n", "steps run twice", "7.0: step-2 ran 2 times"),
        ("step-2\nstep-1\n", "reports untrue", "7.0: the actions ran in another order: ['step-2', 'step-1']"),
    ],
)
def test_what_ran_other_than_once_and_in_order_is_counted(trial, ran, counted, said):
    (trial.sandbox.home / "ran").write_text(ran)
    trial._check_actions()
    assert trial.tally.wrong == {**{name: [] for name in WRONG}, counted: [said]}


def test_output_that_is_not_whole_is_counted(trial):
    journal = trial.state / "runs" / "r" / "events.jsonl"
    journal.parent.mkdir(parents=True)
    lines = printed("step-1", 30)
    event = '{{"event": "OutputSeen", "step": "{}", "text": {}}}\n'
    journal.write_text(
        event.format("step-1", repr(lines).replace("'", '"')) + event.format("step-2", '"step-2 line 1\\n"')
    )
    trial._check_output()
    assert trial.tally.wrong["outputs incomplete"] == ["7.0: step-2 has 1 lines: 'step-2 line 1\\n'"]
    assert trial.tally.lines == 31


def test_a_report_that_lacks_a_step_is_counted(trial):
    (trial.folder / "out").write_text('{"outcome": "ok", "nodes": [{"outcome": "ok", "steps": []}]}')
    trial._check_report()
    assert trial.tally.wrong["reports untrue"] == ["7.0: the run is ok, the node ok: []"]


def test_the_figures_name_every_kind_of_fault_and_all_that_must_not_be():
    tally = Tally(runs=2)
    tally.faults.update(dict.fromkeys(FAULTS, 3))
    tally.wrong["hangs"].append("7.1: `apply` did not end in time")
    told = text(tally, 7)
    assert "faults injected                   15" in told
    assert all(name in told for name in (*FAULTS, *WRONG))
    assert told.endswith("  7.1: `apply` did not end in time")


def test_a_moment_comes_when_the_journal_announces_it_and_not_for_what_it_said_before(tmp_path):
    journal = tmp_path / "runs" / "r" / "events.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_text('{"event":"StepStarted","step":"step-1"}\n')
    announcements = Announcements(tmp_path)
    assert not announcements.has("StepStarted")
    with journal.open("a") as file:
        file.write('{"event":"StepEnded","step":"step-1"}\n{"event":"StepStarted","step":"step-2"}\n')
    assert announcements.has("StepStarted")
    assert not announcements.has("StepStarted")
