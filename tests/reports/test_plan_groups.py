"""A plan for very many nodes still shows what would be done: alike ones together, the others by what differs."""

import re
from dataclasses import replace

import pytest
from rich.cells import cell_len

from stackplan.model.change import Change
from stackplan.model.outcome import NodeOutcome, Reason, StepOutcome
from stackplan.model.report import NodeReport
from stackplan.reports import markdown, text
from stackplan.reports.plan_groups import by_shape, by_work, differing

TRITON = Change("package", "triton", None, "3.6.0")


def shown(report):
    return text.render(report, width=100, colour=False)


@pytest.fixture
def fleet(plan_report):
    """Make a plan of nodes that are told apart by the release of torch that each has, and by what it has free."""

    def made(releases, free=lambda _number: "9 GB"):
        first = plan_report.nodes[0]
        nodes = []
        for number, release in enumerate(releases):
            torch = first.steps[1]
            change = Change("package", "torch", release, "2.11.0+cu130")
            observed = replace(torch.conditions[0], observed=free(number))
            step = replace(torch, predicted=(change, TRITON), conditions=(observed,))
            nodes.append(replace(first, node=f"n{number:03}", steps=(first.steps[0], step, *first.steps[2:])))
        return replace(plan_report, nodes=tuple(nodes))

    return made


def test_what_is_only_observed_sets_no_nodes_of_a_large_plan_apart(fleet):
    told = shown(fleet(["2.10.0"] * 300, free=lambda number: f"{number} GB"))
    assert "n000, n001, n002, n003, n004, n005 … (300 nodes)   8 ×" in told  # noqa: RUF001 - the sign of the summary
    assert "$ uv pip install" in told
    assert "torch 2.10.0 → 2.11.0+cu130" in told
    assert "what was observed is told of the first of them" in told
    assert len(told.splitlines()) < 50


def test_nodes_that_change_otherwise_are_told_by_what_differs_from_the_first(fleet):
    report = fleet(["2.10.0"] * 5 + [f"2.9.{number}" for number in range(40)])
    told = shown(report)
    assert told.startswith("what differs between the nodes\n  torch in torch   2.10.0 → 2.11.0+cu130")
    assert told.count("$ uv pip install") == 1, "one of them in full"
    assert "as on n000, except:\n  n005\n      torch: torch 2.9.0 → 2.11.0+cu130\n  n006\n" in told
    assert "… and 20 more nodes with 20 other plans, not told here" in told
    assert "`-l NODE` shows the plan of a node, `--format json` those of all." in told
    assert all(cell_len(line) <= 100 for line in told.splitlines())


def test_of_each_shape_one_is_told_in_full_and_those_that_stop_first(fleet):
    report = fleet([f"2.9.{number}" for number in range(40)])
    failing = replace(report.nodes[7].steps[1], outcome=StepOutcome.WOULD_FAIL, reason=Reason.NO_OP, predicted=())
    bad = replace(report.nodes[7], outcome=NodeOutcome.FAILED, steps=(report.nodes[7].steps[0], failing))
    away = tuple(
        NodeReport(node=f"away{number}", outcome=NodeOutcome.UNREACHABLE, message=f"no answer after {number} s")
        for number in range(30)
    )
    told = shown(replace(report, nodes=(*report.nodes[:7], bad, *report.nodes[8:], *away)))
    assert told.count("$ uv pip install") == 2
    assert told.index("torch          would fail") < told.index("torch          would change")
    assert told.count("could not be reached") == 3, "in the table, in the group and in the last line"
    assert "away0, away1, away2, away3, away4, away5 … (30 nodes)   could not be reached" in told


def test_conditions_that_fail_for_other_reasons_are_not_taken_for_the_same(fleet):
    (first, second) = fleet(["2.10.0"] * 2).nodes
    other = replace(second.steps[1].conditions[0], text="free space in / at least 20G")
    failing = replace(second, steps=(second.steps[0], replace(second.steps[1], conditions=(other,))))
    assert len(by_work([first, failing])) == 2
    assert len(by_shape(by_work([first, failing]))) == 2
    assert differing(failing, first) == ["its conditions stand otherwise"]


def test_what_differs_between_two_plans_is_named(fleet):
    (model, node) = fleet(["2.10.0"] * 2).nodes
    toolkit, torch, *rest = node.steps
    changed = replace(torch, action=replace(torch.action, command="pip install torch"), predicted=torch.predicted[:1])
    satisfied = replace(toolkit, outcome=StepOutcome.WOULD_RUN, conditions=())
    lines = differing(replace(node, summary="2 × L4", steps=(satisfied, changed, *rest)), model)  # noqa: RUF001
    assert lines == ["2 × L4", "cuda-toolkit: would run", "torch: triton not changed", "torch: $ pip install torch"]  # noqa: RUF001


def test_a_comment_on_a_pull_request_puts_the_same_nodes_together(fleet):
    told = markdown.render(fleet(["2.10.0"] * 300, free=lambda number: f"{number} GB"))
    assert told.count("<details>") == 1
    assert "(300 nodes): something to do" in told


def test_few_nodes_are_each_told_in_full(fleet):
    told = shown(fleet([f"2.9.{number}" for number in range(8)]))
    assert told.count("$ uv pip install") == 8
    assert "except:" not in told


def snapshots_of(report, names):
    """Give each node a plan that differs by its own name alone, which stands in a command and in what changes."""
    nodes = []
    for name in names:
        first = report.nodes[0]
        torch = first.steps[1]
        action = replace(torch.action, command=f"cp /var/lib/snapshots/{name}/torch .")
        step = replace(torch, action=action, predicted=(Change("file", f"/srv/{name}.conf", None, "1 KB"),))
        nodes.append(replace(first, node=name, steps=(first.steps[0], step, *first.steps[2:])))
    return replace(report, nodes=tuple(nodes))


@pytest.mark.parametrize("render", [shown, markdown.render])
def test_nodes_whose_plans_differ_by_their_own_name_alone_are_told_once(plan_report, render):
    told = render(snapshots_of(plan_report, ["gpu-01", "gpu-02", "gpu-03"]))
    assert told.count("cp /var/lib/snapshots/") == 1
    assert "/var/lib/snapshots/<node>/torch" in told
    assert "differ" not in told
    alone = render(snapshots_of(plan_report, ["gpu-01"]))
    assert "/var/lib/snapshots/gpu-01/torch" in alone


def test_large_plans_are_grouped_without_the_nodes_own_names(plan_report):
    report = snapshots_of(plan_report, [f"gpu-{number:02}" for number in range(30)])
    assert [len(alike) for alike, _ in by_work(report.nodes)] == [30]


def test_a_name_that_is_a_word_of_sentences_is_the_nodes_beside_a_slash(plan_report):
    report = snapshots_of(plan_report, ["storage", "a"])
    told = shown(report)
    assert told.count("$ cp") == 1
    assert "snapshots/<node>/torch" in told


def test_what_is_not_installed_is_called_so(plan_report):
    first = plan_report.nodes[0]
    nodes = tuple(
        replace(first, node=f"n{it}", traits={"torch in ~/env": has}) for it, has in enumerate(("none", "2.11.0"))
    )
    told = shown(replace(plan_report, nodes=nodes))
    assert re.search(r"torch in ~/env +not installed +n0\n +2\.11\.0 +n1\n", told)
