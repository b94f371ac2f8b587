"""What people read of a report: golden files, and the bounds that hold for every report."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from stackplan.model.outcome import NodeOutcome, Phase, Reason, StepOutcome
from stackplan.model.report import ActionReport, ConditionReport, NodeReport, PlaybookIdentity, Report, StepReport
from stackplan.model.verdict import Status
from stackplan.reports import markdown, text
from tests.reports.conftest import NO_OP, TOOLKIT, node, report

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def test_reads_as_the_golden_file_says(sample, golden):
    name, report = sample
    golden(name, text.render(report, width=100, colour=False))


@pytest.mark.parametrize("width", [80, 100, 120])
def test_keeps_within_the_width(sample, width):
    _, report = sample
    lines = text.render(report, width=width, colour=False).splitlines()
    assert [line for line in lines if cell_len(line) > width] == []


def test_colour_changes_no_character(sample):
    _, report = sample
    painted = text.render(report, width=100, colour=True)
    assert COLOUR.sub("", painted) == text.render(report, width=100, colour=False)
    assert "\x1b[" in painted


def test_many_nodes_are_counted_and_only_those_that_stopped_are_told(many_report):
    shown = text.render(many_report, width=100, colour=False)
    assert "495  done and proven" in shown
    assert "5  stopped at torch" in shown
    assert shown.count("SP201") == 1, "nodes that stopped alike are told once"
    assert len(shown.splitlines()) < 40


def test_many_different_stops_are_bounded(no_op_report):
    failed = no_op_report.nodes[0]
    nodes = tuple(replace(failed, node=f"n{number}", summary=f"driver {number}") for number in range(300))
    shown = text.render(replace(no_op_report, nodes=nodes), width=100, colour=False)
    assert "290 nodes more" in shown
    assert shown.count("SP201") == 10


def test_nodes_that_differ_only_in_time_read_as_one(no_op_report):
    first = no_op_report.nodes[0]
    slower = replace(first.steps[1], duration_s=99.0)
    second = replace(first, node="gpu-02", wave=2, steps=(first.steps[0], slower, *first.steps[2:]))
    shown = text.render(replace(no_op_report, nodes=(first, second)), width=100, colour=False)
    assert "gpu-01, gpu-02 (2 nodes)" in shown
    assert "2 of 2 nodes stopped at torch" in shown


def test_nodes_that_differ_in_what_is_not_shown_read_as_one(plan_report):
    first = plan_report.nodes[0]
    held = replace(first.steps[0].conditions[0], observed="13.0", evidence="/home/a/bin/nvcc")
    other = replace(first.steps[0], conditions=(held,))
    nodes = (first, replace(first, node="gpu-09", steps=(other, *first.steps[1:])))
    assert "gpu-01, gpu-09 (2 nodes)" in text.render(replace(plan_report, nodes=nodes), width=100, colour=False)


def test_a_place_that_the_remedy_names_is_not_told_again(no_op_report):
    first = no_op_report.nodes[0]
    named = replace(first.steps[1].diagnoses[0], remedy="Add `upgrade: true` at 37:7.")
    steps = (first.steps[0], replace(first.steps[1], diagnoses=(named,)), *first.steps[2:])
    shown = text.render(replace(no_op_report, nodes=(replace(first, steps=steps),)), width=100, colour=False)
    assert shown.count("37:7") == 1


def test_a_command_of_a_thousand_lines_is_cut(plan_report):
    script = ActionReport(kind="run", command="\n".join(f"echo {number}" for number in range(1000)))
    step = StepReport(id="run", outcome=StepOutcome.WOULD_RUN, action=script)
    planned = replace(plan_report, nodes=(replace(plan_report.nodes[0], steps=(step,)),))
    shown = text.render(planned, width=100, colour=False)
    assert "$ echo 0" in shown
    assert "… 980 more lines" in shown


HOSTILE = st.text(max_size=60) | st.sampled_from(
    [
        "\x1b]0;owned\x07",
        "\x1b[2J",
        "a\u202eb",
        "\u2066x",
        "[bold]x[/bold]",
        "\x9b31m",
        "日本語" * 30,
        "x" * 200_000,
        "\ud800",
    ]
)


@settings(max_examples=40, deadline=None)
@given(
    words=st.lists(HOSTILE, min_size=12, max_size=12), outcome=st.sampled_from(StepOutcome), width=st.integers(1, 130)
)
def test_nothing_hostile_reaches_the_terminal(words, outcome, width):
    """Every text of a report may come from a node; none may hold anything but printable characters and line breaks."""
    take = iter(words)
    condition = ConditionReport(
        phase=Phase.POST, kind="torch", text=next(take), status=Status.NOT_HELD, expected=next(take),
        observed=next(take), evidence=next(take), message=next(take),
    )  # fmt: skip
    step = StepReport(
        id=next(take), outcome=outcome, reason=Reason.ACTION if outcome is StepOutcome.FAILED else None,
        message=next(take), action=ActionReport(kind="run", command=next(take), output_tail=next(take)),
        conditions=(condition,),
    )  # fmt: skip
    node = NodeReport(
        node=next(take), outcome=NodeOutcome.FAILED, steps=(step,), summary=next(take), message=next(take)
    )
    playbook = PlaybookIdentity(name="p", path="p.yaml", sha256="0" * 64)
    for command in ("plan", "apply", "verify"):
        report = Report(command=command, outcome=NodeOutcome.FAILED, playbook=playbook, nodes=(node,))
        shown = text.render(report, width=width, colour=False)
        assert all(line.isprintable() for line in shown.split("\n"))
        assert len(shown) < 60_000


def test_values_in_which_nodes_differ_are_counted_and_the_most_frequent_come_first(plan_report):
    nodes = tuple(replace(plan_report.nodes[0], node=f"n{it}", traits={"driver": str(min(it, 9))}) for it in range(30))
    lines = text.render(replace(plan_report, nodes=nodes), width=100, colour=False).splitlines()
    assert lines[1] == "  driver   9   n9, n10, n11, n12, n13, n14 … (21 nodes)"
    assert lines[7].strip() == "… and 4 more values on 4 nodes"


def test_variables_that_are_not_the_playbooks_own_are_told_with_who_set_them(plan_report):
    told = replace(plan_report, variables={"cuda": "13.1", "venv": "~/x"}, variable_origins={"cuda": "--var"})
    shown = text.render(told, width=100, colour=False)
    assert "variables that the playbook does not set itself\n  cuda   13.1   --var\n" in shown
    assert "venv  " not in shown


def test_a_variable_of_the_playbook_that_is_overridden_is_told_with_both_values(plan_report):
    told = replace(
        plan_report,
        variables={"cuda": "13.1", "venv": "~/x"},
        variable_origins={"cuda": "--var", "venv": "group gpu"},
        variables_overridden={"venv": "~/a"},
    )
    shown = text.render(told, width=100, colour=False)
    assert "variables that the playbook does not set itself\n  cuda   13.1   --var\n" in shown
    assert "the value used, and who set it\n  venv   ~/a → ~/x   group gpu\n" in shown
    assert "| `venv` | `~/a → ~/x` | `group gpu` |" in markdown.render(told)


@pytest.mark.parametrize("sample", ["no_op", "unreachable", "verify", "satisfied", "plan"], indirect=True)
def test_the_command_for_a_page_is_told_where_a_run_did_not_end_well(sample):
    name, report = sample
    told = f"`stackplan report {report.run}`" in text.render(report, width=100, colour=False)
    assert told == (name in ("no_op", "unreachable"))


@pytest.mark.parametrize("sample", ["no_op"], indirect=True)
@pytest.mark.parametrize(
    ("command", "outcome", "expected"),
    [
        ("apply", NodeOutcome.INTERRUPTED, True),
        ("resume", NodeOutcome.LOST, True),
        ("apply", NodeOutcome.FAILED, False),
        ("rollback", NodeOutcome.INTERRUPTED, False),
        ("verify", NodeOutcome.INTERRUPTED, False),
    ],
)
def test_a_run_that_was_cut_short_is_told_with_the_command_that_goes_on(sample, command, outcome, expected):
    _, report = sample
    cut = replace(report, command=command, nodes=tuple(replace(it, outcome=outcome) for it in report.nodes))
    told = text.render(replace(cut, outcome=outcome), width=120, colour=False)
    assert (f"`stackplan resume {report.run}` goes on" in told) == expected


def test_what_is_not_known_is_never_called_not_held(unproven_report):
    """Only what is known not to hold: a step, a node and the last line each have a word of their own for doubt."""
    first, second = unproven_report.nodes
    doubt = text.render(replace(unproven_report, nodes=(first,)), width=100, colour=False)
    assert "? torch          not proven   cannot be proven: torch built for CUDA 13.0" in doubt
    assert "not held" not in doubt
    assert "Not proven: 1 of 3 conditions not proven, on 1 of 1 node." in doubt
    both = text.render(replace(unproven_report, nodes=(second,)), width=100, colour=False)
    assert "✘ torch          not held" in both
    assert "Not everything holds: 1 of 3 conditions not held, 1 not proven, on 1 of 1 node." in both
    many = tuple(replace(it, node=f"n{n}", summary=f"{n}") for n in range(9) for it in (first, second))
    counted = text.render(replace(unproven_report, nodes=many), width=100, colour=False)
    assert "9  not everything is proven" in counted
    assert "9  not everything holds" in counted


def test_what_a_reviewer_needs_is_not_cut_and_what_is_cut_says_where_the_whole_is(plan_report):
    first = plan_report.nodes[0]

    def shown(length, run=None):
        condition = replace(first.steps[1].conditions[0], expected="x" * length, predicted=None)
        steps = (first.steps[0], replace(first.steps[1], conditions=(condition,)))
        report = replace(plan_report, nodes=(replace(first, steps=steps),), run=run)
        return " ".join(text.render(report, width=100, colour=False).split())

    assert "characters" not in shown(495)
    assert "(700 characters)" in shown(700)
    assert "Texts that end in … (N characters) are cut off; `--format json` shows them in full." in shown(700)
    assert "`stackplan show R --format json` shows them in full" in shown(700, run="R")


def test_a_plan_counts_steps_with_their_noun_and_nodes_that_preconditions_stop():
    planned = node("a", replace(TOOLKIT, outcome=StepOutcome.WOULD_CHANGE), NO_OP, outcome=NodeOutcome.PENDING)
    refused = replace(planned, node="b", outcome=NodeOutcome.FAILED, reason=Reason.PRECONDITION)
    found = replace(NO_OP, outcome=StepOutcome.UNKNOWN, message="not reached: `a` would fail before it")
    unreached = node("c", found, outcome=NodeOutcome.FAILED, stopped_at="a")
    assert text.closing(report(planned, refused, unreached, command="plan", outcome=NodeOutcome.FAILED)) == (
        "Plan for 3 nodes: 1 step to change, 1 not reached; 1 of 3 nodes would stop at the playbook's preconditions, "
        "before any step. Nothing was changed."
    )
    assert text.closing(report(refused, command="plan", outcome=NodeOutcome.FAILED)).startswith(
        "Plan for 1 node: 1 of 1 node would stop at the playbook's preconditions"
    )


def test_nodes_that_were_put_back_alike_stand_together_although_a_path_names_each():
    def back(name, path):
        step = StepReport(id="a", outcome=StepOutcome.ROLLED_BACK, message=f"/nodes/{path}/env as before the run")
        return NodeReport(node=name, outcome=NodeOutcome.OK, steps=(step,))

    alike = report(back("gpu-01", "gpu-01"), back("gpu-02", "gpu-02"), command="rollback", outcome=NodeOutcome.OK)
    told = text.render(alike, width=100, colour=False)
    assert "gpu-01, gpu-02 (2 nodes)" in told
    assert told.count("/nodes/<node>/env as before the run") == 1
    other = report(back("gpu-01", "gpu-01"), back("gpu-02", "gpu-022"), command="rollback", outcome=NodeOutcome.OK)
    told = text.render(other, width=100, colour=False)
    assert "/nodes/gpu-01/env" in told
    assert "/nodes/gpu-022/env" in told
    assert "<node>" not in told
