"""Reports as comments on a pull request: what people read, that they fit, and that foreign text is inert in them."""

import re
from dataclasses import replace

import pytest

from stackplan.model.change import Change
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.outcome import NodeOutcome, Phase, Reason, StepOutcome
from stackplan.model.report import ActionReport, ConditionReport, NodeReport, StepReport
from stackplan.model.verdict import Status
from stackplan.reports import markdown
from stackplan.reports.markdown_text import Page, cell, code, fenced, length, listed, raw_code, table

HOSTILE = (
    "a|b`c``d @octocat #1 <img src=x> https://evil.example www.evil.example [x](y) *b* \\| \x1b[2J\u202e\n</details>"
)


def test_golden(golden, sample):
    name, report = sample
    # Of very many nodes the beginning is enough to be read; the bounds are tested below.
    lines = markdown.render(report).splitlines(keepends=True)
    golden(f"markdown_{name}", "".join(lines[: 12 if name == "many" else None]))


def test_hostile_text_is_inert_wherever_it_stands(no_op_report, outside_of_code):
    step = no_op_report.nodes[0].steps[1]
    hostile = replace(
        step,
        id=HOSTILE,
        message=HOSTILE,
        action=ActionReport(kind="run", command=HOSTILE, output_tail=HOSTILE),
        conditions=tuple(replace(it, text=HOSTILE, observed=HOSTILE, expected=HOSTILE) for it in step.conditions),
        diagnoses=tuple(replace(it, summary=HOSTILE, remedy=HOSTILE) for it in step.diagnoses),
    )
    node = replace(no_op_report.nodes[0], node=HOSTILE, summary=HOSTILE, message=HOSTILE, steps=(hostile,))
    identity = replace(no_op_report.playbook, name=HOSTILE)
    text = markdown.render(replace(no_op_report, nodes=(node,), playbook=identity))
    bare = outside_of_code(text)
    for sign in ("@octocat", "#1 ", "<img", "evil.example", "](y)", "*b*"):
        assert sign in text or sign == "<img"
        assert sign not in bare, sign
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert bare.count("<details>") == bare.count("</details>") == 1


def test_the_measure_of_inert_text_would_notice(outside_of_code):
    assert "@octocat" in outside_of_code("| `a` | @octocat |")


@pytest.mark.parametrize("text", ["a|b", "a\\|b", "a\\\\|b", "|", "`|`"])
def test_no_text_ends_its_cell(text):
    # As GitHub splits a row: at each pipe that no backslash, itself not escaped, stands in front of.
    row = re.sub(r"\\[\\|]", "", cell(text))
    assert "|" not in row


@pytest.mark.parametrize("text", ["", " ", "`", "``", "a`", "`a", "a``b`c", "plain"])
def test_a_code_span_ends_where_its_text_does(text):
    span = code(text)
    fence = re.match("`+", span)[0]
    assert span.endswith(fence)
    assert fence not in span[len(fence) : -len(fence)]


def test_a_fence_is_longer_than_any_in_it_and_says_what_it_leaves_out():
    block = fenced(["````", "x" * 50, "y" * 50], limit=70)
    assert block.splitlines() == ["`````text", "````", "x" * 50, "… (1 more line)", "`````"]


def test_html_is_escaped_in_a_summary():
    assert raw_code("</summary><b>&") == "<code>&lt;/summary&gt;&lt;b&gt;&amp;</code>"


def test_nodes_that_differ_in_what_is_told_nowhere_stand_together(no_op_report):
    node = no_op_report.nodes[0]
    held = ConditionReport(phase=Phase.POST, kind="file", text="there", status=Status.HELD, evidence="/home/a/x")
    ok = replace(
        node, outcome=NodeOutcome.OK, steps=(StepReport(id="s", outcome=StepOutcome.SATISFIED, conditions=(held,)),)
    )
    step = replace(ok.steps[0], conditions=(replace(held, evidence="/home/b/x"),))
    other = replace(ok, node="gpu-99", steps=(step,))
    ((names, _),) = markdown.grouped((ok, other))
    assert names == (ok.node, "gpu-99")
    changed = replace(other, steps=(replace(step, predicted=(Change("file", "x", "1", "2"),)),))
    assert len(markdown.grouped((ok, changed))) == 2


def test_many_names_are_counted():
    assert listed(["a", "b", "c"], 2) == "`a`, `b` … (3)"


def test_a_page_takes_what_fits_and_says_so():
    page = Page(1_000)
    assert page.add("x" * 150)
    assert not page.add("y" * 100)
    assert page.add_rows(["h"], [["1"], ["2" * 30], ["3"]], 20) == 3
    assert page.text("last") == "x" * 150 + "\n\nlast\n"


def test_characters_count_as_the_strictest_reader_counts_them():
    assert length("a😀") == 3


def test_a_table_has_a_line_a_row():
    assert table(["a", "b"], [["1", "2"]]).splitlines() == ["| a | b |", "| --- | --- |", "| 1 | 2 |"]


def _distinct(count, plan_report, steps=1):
    (first, _) = plan_report.nodes
    nodes = []
    for number in range(count):
        # A sign for each of them, and no number: in numbers alone plans may differ and be told together.
        step = replace(first.steps[1], message=f"{chr(0x4E00 + number)} {HOSTILE}" * 3, predicted=None)
        more = tuple(StepReport(id=f"step-{it}", outcome=StepOutcome.WOULD_RUN) for it in range(steps))
        nodes.append(replace(first, node=f"gpu-{number:05d}-😀" * 4, steps=(*first.steps[:1], step, *more)))
    return replace(plan_report, nodes=tuple(nodes))


@pytest.mark.parametrize(("count", "steps"), [(200, 1), (3_000, 1), (50, 400)])
def test_fits_into_a_comment_however_much_there_is(plan_report, outside_of_code, count, steps):
    text = markdown.render(_distinct(count, plan_report, steps))
    assert length(text) <= 40_000
    assert "Left out for want of room: " in text
    bare = outside_of_code(text)
    assert bare.count("<details>") == bare.count("</details>") > 0
    assert f"**{count} nodes: {count} something to do**" in text


def test_whatever_is_left_out_is_counted(many_report):
    text = markdown.render(many_report)
    (left,) = re.findall(r"Left out for want of room: (.*);", text)
    shown = text.count("<details>")
    details = int(re.search(r"details of (\d+) nodes", left)[1])
    # Five nodes that stopped alike are one group.
    assert shown - 1 + 5 + details == 500


def test_nodes_that_fail_stand_first(plan_report):
    (first, second) = plan_report.nodes
    failing = replace(first.steps[1], outcome=StepOutcome.WOULD_FAIL, message="no-op: nothing would change")
    bad = replace(second, outcome=NodeOutcome.FAILED, steps=(first.steps[0], failing), stopped_at="torch")
    text = markdown.render(replace(plan_report, nodes=(first, bad), outcome=NodeOutcome.FAILED))
    assert text.index("`gpu-02`") < text.index("`gpu-01`")
    assert "✘ **2 nodes: 1 would stop, 1 something to do**" in text
    assert text.index("#### ✘ Would fail") < text.index("<details>")


def test_nodes_without_steps_have_a_row(plan_report):
    away = NodeReport(node="gpu-09", outcome=NodeOutcome.UNREACHABLE, message="refused")
    text = markdown.render(replace(plan_report, nodes=(away,)))
    assert "| `gpu-09` | ✘ could not be reached |" in text
    assert "could not be reached: `refused`" in text


def _fleet(plan_report, *traits):
    nodes = (replace(plan_report.nodes[0], node=f"n{index}", traits=it) for index, it in enumerate(traits))
    return replace(plan_report, nodes=tuple(nodes))


def test_a_plan_begins_with_what_differs_between_its_nodes(plan_report):
    new, old = {"driver": "580.95.05", "uv": "0.9"}, {"driver": "575.57", "uv": "0.9"}
    text = markdown.render(_fleet(plan_report, old, *[new] * 12, {"uv": "0.9"}))
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert rows[0] == "| what differs |  | nodes |"
    assert rows[2:5] == [
        "| `driver` | `580.95.05` | 12 nodes: `n1`, `n2`, `n3` … |",
        "|  | `575.57` | 1 node: `n0` |",
        "|  | `unknown` | 1 node: `n13` |",
    ]
    assert "`uv`" not in text
    assert text.index("what differs") < text.index("| nodes |")
    assert "what differs" not in markdown.render(_fleet(plan_report, new, new))


def test_many_differences_are_summarised(plan_report):
    traits = [{f"trait {name}": str(index) for name in range(30)} for index in range(500)]
    text = markdown.render(_fleet(plan_report, *traits))
    assert "… and 494 more values on 494 nodes" in text
    assert "18 differences" in text
    assert len(text) <= markdown.LIMIT


def test_notes_and_variables_that_are_not_the_playbooks_own(plan_report):
    note = Diagnosis(summary="facts of `x` are old | really", remedy="record them")
    told = replace(plan_report, diagnoses=(note,), variables={"cuda": "13.1|"}, variable_origins={"cuda": "--var"})
    text = markdown.render(told)
    assert "- ``facts of `x` are old | really`` → `record them`" in text
    assert "| `cuda` | `13.1\\|` | `--var` |" in text


def test_a_node_without_facts_is_not_said_to_be_out_of_reach(plan_report):
    bare = NodeReport(node="new", outcome=NodeOutcome.UNREACHABLE, reason=Reason.UNRECORDED, message="no facts")
    text = markdown.render(replace(plan_report, nodes=(*plan_report.nodes, bare)))
    assert "1 no facts recorded" in text
    assert "reached" not in text


def test_what_is_not_known_is_never_called_not_held(unproven_report):
    doubt = markdown.render(replace(unproven_report, nodes=unproven_report.nodes[:1]))
    assert "#### ? Not proven" in doubt
    assert "`torch built for CUDA 13.0` is not proven at" in doubt
    assert "nvidia-smi exited 9: no devices were found" in doubt
    assert "<sub>✔ held, ? not proven</sub>" in doubt
    assert "not held" not in doubt
    assert "#### ✘ Does not hold, or is not proven" in markdown.render(unproven_report)


def test_what_is_cut_says_where_the_whole_is(plan_report):
    node = plan_report.nodes[0]
    long = replace(node, steps=(replace(node.steps[1], conditions=(), message="x" * 900), *node.steps[2:]))
    note = "Texts that end in … (N characters) are cut off; `--format json` shows them in full."
    assert note in markdown.render(replace(plan_report, nodes=(long,)))
    assert note not in markdown.render(plan_report)
