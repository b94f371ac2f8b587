"""A report as a comment on a pull request: a summary, a table, what fails, what changes, details folded; pure.

Nodes with the same plan stand together. However many nodes there are, the comment is one that GitHub takes, and it says
what was left out.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from stackplan.model.outcome import NodeOutcome, Reason, StepOutcome
from stackplan.model.report import ConditionReport, NodeReport, Report, StepReport
from stackplan.model.verdict import Status
from stackplan.reports import node_text
from stackplan.reports.contrast import Contrast, contrasts, rest_text
from stackplan.reports.count import counted, first_of
from stackplan.reports.markdown_text import Page, cell, code, fenced, folded, listed, raw_code
from stackplan.reports.overridden_text import blocks
from stackplan.reports.own_name import told_of, without_own_name
from stackplan.reports.paint import Paint
from stackplan.reports.plan_groups import ENOUGH, Group, by_work
from stackplan.reports.safe import cut_note
from stackplan.reports.wording import (
    NODE_WORDS,
    NOT_PROVEN,
    UNRECORDED,
    change_text,
    node_end,
    node_unproven,
    outcome_word,
    step_mark,
)

LIMIT = 40_000
"""Characters; a comparison takes 24,000, so that both go into one comment of GitHub (65,536)."""
WIDTH = 100
PLAIN = Paint(colour=False)
COLUMNS = 12
CONTRASTS = 12
VALUES = 6
NAMES = 3
FINDINGS = 20
TABLE_SHARE = 14_000
_FAILS = frozenset({StepOutcome.WOULD_FAIL, StepOutcome.FAILED, StepOutcome.NOT_HELD})
_QUIET = frozenset({StepOutcome.SATISFIED, StepOutcome.SKIPPED, StepOutcome.HELD, StepOutcome.NOT_REACHED})
_ORDER = (
    NodeOutcome.FAILED,
    NodeOutcome.LOST,
    NodeOutcome.UNREACHABLE,
    NodeOutcome.LOCKED,
    NodeOutcome.INTERRUPTED,
    NodeOutcome.SKIPPED,
    NodeOutcome.PENDING,
    NodeOutcome.OK,
)
_WORDS = {
    "plan": {NodeOutcome.OK: "nothing to do", NodeOutcome.FAILED: "would stop"},
    "verify": {NodeOutcome.OK: "everything holds", NodeOutcome.FAILED: "not everything holds"},
}
_UNENDED = "not at its end yet"
"""Of a node that has something to do, in a run that goes on rather than in a plan."""
_FAIL_TITLES = {"plan": "Would fail"}
_SIGNS = {NodeOutcome.OK: "✔", NodeOutcome.PENDING: "~", NodeOutcome.SKIPPED: "-"}


def render(report: Report) -> str:
    """Return the report as markdown of at most 40,000 characters that ends in a line break."""
    page = Page(LIMIT)
    groups = _groups(report)
    left: list[str] = []
    page.add(_headline(report))
    left += _add_contrasts(page, report)
    left += _add_remarks(page, report)
    steps = _columns(groups)
    missed = page.add_rows(*_table(groups, steps, report.command), TABLE_SHARE)
    if missed:
        left.append(f"{counted(missed, 'row')} of the table")
    if legend := _legend(groups, steps):
        page.add(legend)
    left += _add_findings(page, report, groups)
    left += _add_changes(page, report, groups)
    left += _add_details(page, groups, report.command)
    said = [f"Left out for want of room: {', '.join(left)}; `--format json` has all of it."] if left else []
    if (note := cut_note(page.text(""), report.run)) is not None:
        said.append(note)
    return page.text(" ".join(said))


def _add_contrasts(page: Page, report: Report) -> list[str]:
    """Add what differs between the nodes of a plan; return what there was no room for."""
    every = contrasts(report.nodes) if report.command == "plan" else ()
    rows = [row for it in every[:CONTRASTS] for row in _contrast_rows(it)]
    if not rows:
        return []
    missed = page.add_rows(["what differs", "", "nodes"], rows, TABLE_SHARE // 2)
    left = [counted(missed, "row") + " of what differs"] if missed else []
    return left + ([counted(len(every) - CONTRASTS, "difference")] if len(every) > CONTRASTS else [])


def _contrast_rows(contrast: Contrast) -> Iterator[list[str]]:
    lead = cell(contrast.name, 60)
    shown, left = first_of(contrast.values, VALUES)
    for value, having in shown:
        names = ", ".join(cell(name, 80) for name in having[:NAMES]) + (" …" if len(having) > NAMES else "")
        yield [lead, cell(value, 60), f"{counted(len(having), 'node')}: {names}"]
        lead = ""
    if left:
        yield ["", rest_text(contrast, VALUES), ""]


def _add_remarks(page: Page, report: Report) -> list[str]:
    """Add the notes on the whole report, and which variables are not the playbook's own; return what had no room."""
    notes = [f"- {code(it.summary)}" + (f" → {code(it.remedy)}" if it.remedy else "") for it in report.diagnoses]
    left = [] if not notes or page.add("\n".join(notes)) else [counted(len(notes), "note")]
    missed = 0
    for title, variables in blocks(report):
        rows = [[cell(name, 60), cell(value, 80), cell(origin, 80)] for name, value, origin in variables]
        missed += page.add_rows([title, "", ""], rows, TABLE_SHARE // 4)
    return left + ([counted(missed, "variable")] if missed else [])


def _groups(report: Report) -> list[Group]:
    """Return the nodes in groups: of a plan with very many of them, by what would be done."""
    groups = grouped(report.nodes)
    return by_work(report.nodes) if report.command == "plan" and len(groups) > ENOUGH else groups


def grouped(nodes: Iterable[NodeReport]) -> list[Group]:
    """Return the nodes with those together of which the same is told here; those that end badly first.

    What is told nowhere, such as the folder that a node's home is, sets none apart.
    """
    found: dict[object, list[NodeReport]] = {}
    for node in nodes:
        found.setdefault(_essence(without_own_name(node)), []).append(node)
    groups = [(tuple(it.node for it in alike), _without_times(told_of(alike))) for alike in found.values()]
    return sorted(groups, key=lambda group: _ORDER.index(group[1].outcome) if group[1].outcome in _ORDER else 0)


def _essence(node: NodeReport) -> object:
    bare = replace(_without_times(node), node="", traits={})
    changes = tuple((step.id, step.predicted, step.changes) for step in bare.steps)
    return bare.outcome, bare.reason, changes, *_findings(bare), *node_text.render(("",), bare, WIDTH, PLAIN)


def _without_times(node: NodeReport) -> NodeReport:
    steps = tuple(step if step.duration_s is None else replace(step, duration_s=None) for step in node.steps)
    return replace(node, wave=None, steps=steps)


def node_words(outcome: NodeOutcome, command: str) -> str:
    if outcome is NodeOutcome.PENDING and command != "plan":
        return _UNENDED
    return _WORDS.get(command, {}).get(outcome, NODE_WORDS[outcome])


def _node_words(node: NodeReport, command: str) -> str:
    if command == "verify" and node_unproven(node):
        return "not everything is proven"
    return UNRECORDED if node.reason is Reason.UNRECORDED else node_words(node.outcome, command)


def _headline(report: Report) -> str:
    total = len(report.nodes)
    title = f"### stackplan {report.command}: {code(report.playbook.name, 80)}"
    if not total:
        return f"{title}\n\nNo node was selected."
    ordered = sorted(report.nodes, key=lambda it: _ORDER.index(it.outcome) if it.outcome in _ORDER else 0)
    counts = Counter(_node_words(node, report.command) for node in ordered)
    said = [f"{count} {word}" for word, count in counts.items()]
    failing = any(step.outcome in _FAILS for node in report.nodes for step in node.steps)
    mark = "✘ " if failing or report.outcome not in _SIGNS else ""
    run = f" · run {code(report.run, 40)}" if report.run else ""
    return f"{title}\n\n{mark}**{counted(total, 'node')}: {', '.join(said)}**{run}"


def _columns(groups: list[Group]) -> tuple[str, ...]:
    """Return the steps that get a column: all, or of very many those of which there is something to tell."""
    outcomes: dict[str, set[StepOutcome]] = {}
    for _, node in groups:
        for step in node.steps:
            outcomes.setdefault(step.id, set()).add(step.outcome)
    if len(outcomes) <= COLUMNS:
        return tuple(outcomes)
    telling = [name for name, found in outcomes.items() if found & _FAILS]
    telling += [name for name, found in outcomes.items() if found - _QUIET and name not in telling]
    chosen = {*telling[:COLUMNS]}
    return tuple(name for name in outcomes if name in chosen)


def _table(groups: list[Group], steps: tuple[str, ...], command: str) -> tuple[list[str], list[list[str]]]:
    every = {step.id for _, node in groups for step in node.steps}
    more = f" (of {len(every)} steps)" if len(every) > len(steps) else ""
    head = [f"nodes{more}", "", *(cell(name, 40) for name in steps)]
    rows = []
    for names, node in groups:
        marks = {step.id: step_mark(step)[0] for step in node.steps}
        sign = _SIGNS.get(node.outcome, "✘")
        outcome = f"{sign} {_node_words(node, command)}"
        rows.append([listed(names, NAMES), outcome, *(marks.get(name, "") for name in steps)])
    return head, rows


def _legend(groups: list[Group], steps: tuple[str, ...]) -> str:
    words: dict[str, dict[str, None]] = {}
    for _, node in groups:
        for step in node.steps:
            if step.id in steps:
                words.setdefault(step_mark(step)[0], {})[outcome_word(step)] = None
    said = ", ".join(f"{mark} {'/'.join(found)}" for mark, found in words.items())
    return f"<sub>{said}</sub>" if said else ""


def _add_findings(page: Page, report: Report, groups: list[Group]) -> list[str]:
    """Add what fails, each finding once with its nodes; return what there was no room for."""
    found: dict[str, list[str]] = {}
    for names, node in groups:
        for text in _findings(node):
            found.setdefault(text, []).extend(names)
    if not found:
        return []
    blocks = [f"- {text}\n  - on {listed(names, NAMES, code)}" for text, names in found.items()]
    title = f"#### {_fail_title(report)}"
    count = min(FINDINGS, len(blocks))
    while count and not page.add("\n\n".join([title, "\n".join(blocks[:count])])):
        count //= 2
    return [counted(len(blocks) - count, "finding")] if count < len(blocks) else []


def _fail_title(report: Report) -> str:
    """Return the title of what fails; of a `verify` it tells what does not hold from what could not be answered."""
    if report.command != "verify":
        return f"✘ {_FAIL_TITLES.get(report.command, 'Failed')}"
    found = {it.status for node in report.nodes for step in node.steps for it in step.conditions}
    if Status.NOT_HELD not in found:
        return "? Not proven"
    return f"✘ Does not hold, or is {NOT_PROVEN}" if Status.UNKNOWN in found else "✘ Does not hold"


def _findings(node: NodeReport) -> Iterator[str]:
    if node.outcome in (NodeOutcome.OK, NodeOutcome.PENDING, NodeOutcome.SKIPPED):
        return
    failing = [step for step in node.steps if step.outcome in _FAILS]
    for step in failing:
        yield _finding(step)
    if failing:
        return
    text = node_end(node) if node.outcome is not NodeOutcome.FAILED else "stopped before the first step"
    yield "\n".join(
        [
            f"{text}: {code(node.message)}" if node.message else text,
            *_unmet_lines(node.preconditions),
            *([f"  - {code(node.remedy)}"] if node.remedy else []),
        ]
    )


def _finding(step: StepReport) -> str:
    reason = f" ({step.reason.value})" if step.reason else ""
    message = f": {code(step.message)}" if step.message else ""
    lines = [f"**{code(step.id, 60)}**{reason}{message}", *_unmet_lines(step.conditions)]
    if step.broke is not None:
        lines.append(f"  - breaks {code(step.broke.step, 60)}")
        lines += _unmet_lines(step.broke.conditions)
    for it in step.diagnoses[:3]:
        name = f"{it.code} " if it.code else ""
        lines.append(f"  - {name}{code(it.summary)}" + (f" → {code(it.remedy)}" if it.remedy else ""))
    return "\n".join(lines)


def _unmet_lines(conditions: Iterable[ConditionReport]) -> list[str]:
    lines = []
    for it in conditions:
        status, expected, observed = it.status, it.expected, it.observed
        if it.predicted is not None:
            status, expected, observed = it.predicted, it.predicted_expected, it.predicted_observed
        place = f" at {code(str(it.at), 160)}" if it.at else ""
        if it.predicted is None and status is Status.UNKNOWN:
            why = f": {code(it.why, 300)}" if it.why else ""
            lines.append(f"  - {code(it.text, 160)} is {NOT_PROVEN}{place}{why}")
        if status is not Status.NOT_HELD:
            continue
        wanted = f", expected {code(expected, 120)}" if expected is not None else ""
        seen = f", observed {code(observed, 120)}" if observed is not None else ""
        lines.append(f"  - {code(it.text, 160)}{wanted}{seen}{place}")
    return lines[:5]


def _add_changes(page: Page, report: Report, groups: list[Group]) -> list[str]:
    """Add what changes, each change once with its nodes; return what there was no room for."""
    found: dict[tuple[str, str], list[str]] = {}
    for names, node in groups:
        for step in node.steps:
            for change in (step.predicted or ()) if report.command == "plan" else step.changes:
                found.setdefault((step.id, change_text(change, step)), []).extend(names)
    if not found:
        return []
    rows = [[cell(step, 60), cell(change), listed(names, NAMES)] for (step, change), names in found.items()]
    if not page.add("#### ~ Would change" if report.command == "plan" else "#### Changed"):
        return [counted(len(rows), "change")]
    missed = page.add_rows(["step", "change", "nodes"], rows, TABLE_SHARE // 2)
    return [counted(missed, "change")] if missed else []


def _add_details(page: Page, groups: list[Group], command: str) -> list[str]:
    for index, (names, node) in enumerate(groups):
        first = ", ".join(raw_code(name, 80) for name in names[:NAMES]) + (" …" if len(names) > NAMES else "")
        count = f" ({len(names)} nodes)" if len(names) > 1 else ""
        lines = node_text.render(names, node, WIDTH, PLAIN)
        body = fenced([line.rstrip() for line in lines])
        if not page.add(folded(f"{first}{count}: {_node_words(node, command)}", body)):
            nodes = sum(len(others) for others, _ in groups[index:])
            return [f"details of {counted(nodes, 'node')}"]
    return []
