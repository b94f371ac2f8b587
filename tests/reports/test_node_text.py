"""What is told of a node besides its steps."""

from dataclasses import replace

import pytest

from stackplan.model.change import Change
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.outcome import NodeOutcome, Phase, Reason, StepOutcome
from stackplan.model.report import ActionReport, ConditionReport, NodeReport, StepReport
from stackplan.model.verdict import Status
from stackplan.reports import node_text
from stackplan.reports.paint import Paint


def shown(node, width=100):
    return "\n".join(node_text.render((node.node,), node, width, Paint(colour=False)))


LOST = NodeReport(node="n", outcome=NodeOutcome.LOST, message="the node program does not answer", remedy="look at it")
OK = NodeReport(node="n", outcome=NodeOutcome.OK)
CONDITION = ConditionReport(
    phase=Phase.POST, kind="file", text="~/x is a file", status=Status.NOT_HELD, expected="a file", observed="nothing"
)


def test_a_message_of_several_lines_keeps_them_and_is_bounded():
    printed = "\n".join(f"line {number}\x1b[2J" for number in range(1000))
    text = shown(replace(LOST, message=f"no Python here; the node printed:\n{printed}"))
    assert "  ✘ no Python here; the node printed:\n    line 0\\x1b[2J\n    line 1\\x1b[2J\n" in text
    assert "… (985 more lines)" in text
    assert "look at it" in text


def test_what_a_step_says_is_not_said_twice():
    step = StepReport(id="s", outcome=StepOutcome.FAILED, reason=Reason.LOST, message=LOST.message)
    assert shown(replace(LOST, steps=(step,), stopped_at="s")).count("does not answer") == 1


def test_preconditions_of_a_node_with_nothing_to_do_are_told_in_brief():
    pre = replace(CONDITION, phase=Phase.PRE)
    text = shown(NodeReport(node="n", outcome=NodeOutcome.OK, preconditions=(pre,)))
    assert "as they stand now" in text
    assert "now nothing, has to be a file" in text
    assert "nothing was touched" not in text


PLANNED = StepReport(id="s", outcome=StepOutcome.WOULD_FAIL, reason=Reason.PRECONDITION, message="no scontrol here")
UNKNOWN = replace(CONDITION, status=Status.UNKNOWN, observed=None, why="no scontrol here")


def plan_of(*steps, **fields):
    return shown(NodeReport(node="n", outcome=NodeOutcome.FAILED, steps=steps, **fields))


def test_a_reason_is_told_once_in_a_planned_step():
    found = Diagnosis(summary="no scontrol here", remedy="Install it.")
    text = plan_of(replace(PLANNED, conditions=(UNKNOWN, UNKNOWN), diagnoses=(found,)))
    assert text.count("no scontrol here") == 1
    assert text.count("unknown: for the same reason") == 2
    assert text.endswith("\n\n      Install it.")
    other = replace(UNKNOWN, why="no answer")
    text = plan_of(replace(PLANNED, conditions=(UNKNOWN, other, other), diagnoses=(replace(found, code="SP201"),)))
    assert text.count("unknown: no answer") == 1
    assert "SP201  no scontrol here" in text


def test_postconditions_that_hold_all_along_come_last_and_of_many_a_count():
    quiet = replace(CONDITION, status=Status.HELD)
    guard = replace(quiet, phase=Phase.PRE, text="nothing runs")
    text = plan_of(replace(PLANNED, conditions=(guard, *[quiet] * 3, CONDITION)))
    lines = [line.strip() for line in text.splitlines()[2:]]
    assert [line[0] for line in lines] == ["✔", "?", "✔", "✔", "✔"]
    assert lines[0].startswith("✔ nothing runs")
    text = plan_of(replace(PLANNED, conditions=(guard, *[quiet] * 4, CONDITION)))
    assert text.endswith("✔ 4 more conditions hold now")
    assert text.count("~/x is a file") == 1


def test_a_step_behind_one_that_would_fail_is_called_not_reached():
    step = StepReport(id="s", outcome=StepOutcome.UNKNOWN, message="not reached: `a` would fail before it")
    assert "  · s   not reached   `a` would fail before it" in plan_of(step)
    assert "  ? s   unknown   as it were" in plan_of(replace(step, message="as it were"))


def test_what_steps_would_do_behind_preconditions_that_do_not_hold_is_said_to_be_no_promise():
    steps = (replace(PLANNED, outcome=StepOutcome.WOULD_CHANGE),)
    pre = replace(CONDITION, phase=Phase.PRE)
    assert node_text.WOULD_BE in plan_of(*steps, reason=Reason.PRECONDITION, preconditions=(pre,))
    stopped = tuple(replace(it, outcome=StepOutcome.NOT_REACHED) for it in steps)
    assert node_text.WOULD_BE not in plan_of(*stopped, reason=Reason.PRECONDITION, preconditions=(pre,))


BACK = StepReport(id="a", outcome=StepOutcome.ROLLED_BACK, message="/e as before the run")


def test_steps_that_were_taken_back_with_another_one_are_told_in_a_line():
    moved = replace(BACK, changes=(Change("package", "torch", "2", "1"),))
    text = shown(replace(OK, steps=(moved, replace(BACK, id="b"), replace(BACK, id="c"), replace(moved, id="d"))))
    assert text.splitlines()[1:] == [
        "  ↩ a   rolled back   /e as before the run",
        "      torch 2 → 1",
        "  ↩ b, c   rolled back with a",
        "  ↩ d   rolled back   /e as before the run",
        "      torch 2 → 1",
    ]
    other = replace(BACK, id="b", message="/f as before the run")
    assert "rolled back with" not in shown(replace(OK, steps=(BACK, other)))


def test_one_fault_of_many_steps_is_told_once_with_their_names():
    def unproven(name, *conditions, **more):
        return StepReport(id=name, outcome=StepOutcome.NOT_HELD, conditions=conditions, **more)

    other = replace(CONDITION, text="~/y is a file")
    found = Diagnosis(summary="Files are gone.", code="SP203")
    text = plan_of(
        unproven("a", CONDITION, diagnoses=(found,)), unproven("b", CONDITION, other), unproven("c", CONDITION)
    )
    assert text.count("expected  a file") == 2
    assert text.count("also in") == 1
    assert "        also in   b, c\n" in text
    assert "      as told under a: ~/x is a file\n\n      ~/y is a file" in text
    assert text.endswith("\n      as told under a")
    assert "SP203  Files are gone." in text
    elsewhere = replace(CONDITION, observed="a folder")
    assert "as told" not in plan_of(unproven("a", CONDITION), unproven("b", elsewhere))


NOTHING = "exited 0 and changed nothing"


@pytest.mark.parametrize(
    ("reason", "action", "said"),
    [
        (Reason.ACTION, ActionReport(kind="run", command="uv sync", exit_code=2), "uv exited 2"),
        (Reason.ACTION, ActionReport(kind="run", command="uv sync", ending="ended by SIGKILL"), "ended by SIGKILL"),
        (Reason.NO_OP, ActionReport(kind="run", command="/opt/bin/pip install x", exit_code=0), f"pip {NOTHING}"),
        (Reason.NO_OP, ActionReport(kind="run", command="a\nb", exit_code=0), f"the action {NOTHING}"),
        (Reason.NO_OP, ActionReport(kind="run", command="\x1b[2J x", exit_code=0), f"the action {NOTHING}"),
    ],
)
def test_the_sentence_names_the_program_where_there_is_one(reason, action, said):
    message = action.ending or "the engine's own words"
    step = StepReport(id="s", outcome=StepOutcome.FAILED, reason=reason, action=action, message=message)
    assert (
        f"✘ s   {reason.value}   {said}\n"
        in shown(NodeReport(node="n", outcome=NodeOutcome.FAILED, steps=(step,))) + "\n"
    )


def test_the_authors_word_is_told_when_the_command_failed():
    condition = replace(CONDITION, message="ask Jane")
    action = ActionReport(kind="run", command="uv sync", exit_code=2)
    step = StepReport(
        id="s",
        outcome=StepOutcome.FAILED,
        reason=Reason.ACTION,
        action=action,
        message="ask Jane",
        conditions=(condition,),
    )
    text = shown(NodeReport(node="n", outcome=NodeOutcome.FAILED, steps=(step,)))
    assert "uv exited 2" in text
    assert "note  ask Jane" in text


def test_very_many_changes_and_conditions_are_counted():
    step = StepReport(id="s", outcome=StepOutcome.NOT_HELD, conditions=(CONDITION,) * 100)
    text = shown(NodeReport(node="n", outcome=NodeOutcome.FAILED, steps=(step,)))
    assert text.count("expected  a file") == 40
    assert "… and 60 more conditions" in text


def test_preconditions_that_nobody_knows_of_are_not_said_not_to_hold():
    doubt = replace(CONDITION, phase=Phase.PRE, status=Status.UNKNOWN, observed=None, why="no nvidia-smi")
    node = NodeReport(node="n", outcome=NodeOutcome.FAILED, reason=Reason.PRECONDITION, preconditions=(doubt,))
    assert "preconditions of the playbook are not proven; nothing was touched" in shown(node)
    both = replace(node, preconditions=(doubt, replace(doubt, status=Status.NOT_HELD)))
    assert "preconditions of the playbook do not hold; nothing was touched" in shown(both)


@pytest.mark.parametrize(
    ("outcome", "message", "mark"),
    [
        (NodeOutcome.OK, "/e was written since by R2, which was taken back with it", "·"),
        (NodeOutcome.FAILED, "rolled back: /e is as before the run", "↩"),
        (NodeOutcome.FAILED, "nothing to roll back: the run wrote nothing here", "·"),
        (NodeOutcome.FAILED, "THE ROLLBACK FAILED: /e was not put back", "✘"),
    ],
)
def test_what_was_put_back_is_marked_as_no_fault(outcome, message, mark):
    lines = node_text.render(("n",), NodeReport(node="n", outcome=outcome, message=message), 100, Paint(colour=False))
    assert f"  {mark} {message}" in lines


def again(kind, command, outcome=StepOutcome.WOULD_CHANGE):
    change = Change(kind, "sglang", "active (running)", "active (running)")
    planned = outcome is StepOutcome.WOULD_CHANGE
    action = ActionReport(kind=kind, command=command)
    return StepReport(
        id="s",
        outcome=outcome,
        action=action,
        predicted=(change,) if planned else None,
        changes=() if planned else (change,),
    )


@pytest.mark.parametrize("outcome", [StepOutcome.WOULD_CHANGE, StepOutcome.CHANGED])
@pytest.mark.parametrize(
    ("kind", "command", "word"),
    [
        ("service", "systemctl enable sglang\nsystemctl restart sglang", "restarted"),
        ("service", "systemctl reload sglang", "reloaded"),
        ("package", "uv pip install --reinstall sglang", "written again"),
        ("file", None, "written again"),
    ],
)
def test_what_reads_as_before_is_told_by_what_was_done_to_it(kind, command, word, outcome):
    text = shown(NodeReport(node="n", outcome=NodeOutcome.OK, steps=(again(kind, command, outcome),)))
    assert f"sglang active (running) ({word})" in text


def test_each_of_several_changes_has_its_own_word():
    step = again("service", "systemctl reload sglang", StepOutcome.CHANGED)
    package = Change("package", "torch", "2.11.0", "2.11.0")
    text = shown(NodeReport(node="n", outcome=NodeOutcome.OK, steps=(replace(step, changes=(*step.changes, package)),)))
    assert "service sglang active (running) (reloaded)" in text
    assert "torch 2.11.0 (written again)" in text


CIRCULAR = (
    "ImportError: cannot import name 'version' from partially initialized module 'torch' (most likely due to a "
    "circular import) (/home/ops/ml-env/lib/python3.12/site-packages/torch/__init__.py)"
)


def not_held(id_, *conditions):
    return StepReport(id=id_, outcome=StepOutcome.NOT_HELD, reason=Reason.POSTCONDITION, conditions=conditions)


def importing(modules, observed=CIRCULAR):
    return replace(CONDITION, kind="python_import", text=f"import {modules}", observed=observed)


def test_what_was_observed_under_one_step_is_not_written_out_under_the_next():
    launch = replace(CONDITION, kind="kernel_launch", text="kernels run", observed=CIRCULAR)
    torch = importing("torch, apex", f"torch: {CIRCULAR}; apex: ModuleNotFoundError: No module named 'apex'")
    steps = (not_held("torch", torch, launch), not_held("sgl-kernel", importing("sgl_kernel")))
    text = shown(NodeReport(node="n", outcome=NodeOutcome.FAILED, steps=steps), width=400)
    assert text.count(CIRCULAR) == 1
    assert text.count("observed  as told above") == 1
    assert text.count("observed  as told under torch") == 1
    assert "import sgl_kernel" in text


def test_short_observations_and_different_ones_are_written_out():
    steps = (not_held("a", importing("a", "no")), not_held("b", importing("b", "no")))
    text = shown(NodeReport(node="n", outcome=NodeOutcome.FAILED, steps=steps), width=400)
    assert text.count("observed  no") == 2
    other = CIRCULAR.replace("torch", "numpy")
    steps = (not_held("a", importing("a")), not_held("b", importing("b", other)))
    text = shown(NodeReport(node="n", outcome=NodeOutcome.FAILED, steps=steps), width=400)
    assert (text.count(CIRCULAR), text.count(other)) == (1, 1)
