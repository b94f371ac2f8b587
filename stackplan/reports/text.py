"""A report as text for people: its nodes, alike ones together, and a last line that counts; pure.

Of very many nodes a table tells how each ended, and only those that stopped are told in detail. A plan of very many
nodes tells all the same what would be done.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from stackplan.model.outcome import NodeOutcome, Reason, StepOutcome
from stackplan.model.report import NodeReport, Report, StepReport
from stackplan.model.verdict import Status
from stackplan.reports import node_text, plan_text
from stackplan.reports.condition_text import diagnosis_lines
from stackplan.reports.contrast_text import contrast_lines
from stackplan.reports.count import counted, first_of
from stackplan.reports.layout import beside, hanging, padded, usable, wrapped
from stackplan.reports.overridden_text import overridden_lines
from stackplan.reports.own_name import without_own_name
from stackplan.reports.paint import Paint, Style
from stackplan.reports.plan_groups import Group
from stackplan.reports.safe import cut_note, safe
from stackplan.reports.wording import NODE_STYLES, NOT_PROVEN, node_word

GROUPS_IN_FULL = 8
DETAILS = 10
ROWS = 20
STAYING = 5
_RESUMED = ("apply", "resume")
_CUT_SHORT = (NodeOutcome.INTERRUPTED, NodeOutcome.LOST)
_BY_WORK = ("plan", "rollback")
"""Commands that tell what would be done: their nodes stand together where that is the same but for the own name."""


def render(report: Report, *, width: int, colour: bool) -> str:
    """Return the report as text that ends in a line break, at most `width` cells wide where its words allow it."""
    paint = Paint(colour)
    width = usable(width)
    groups = _alike(report.nodes, width, nameless=report.command in _BY_WORK)
    lines: list[str] = []
    for diagnosis in report.diagnoses:
        lines += [*diagnosis_lines(diagnosis, width, paint), ""]
    if report.command == "plan" and (apart := contrast_lines(report.nodes, width, paint)):
        lines += [*apart, ""]
    if told := overridden_lines(report, width, paint):
        lines += [*told, ""]
    if len(groups) > GROUPS_IN_FULL:
        lines += [*_table(groups, report.command, width, paint), ""]
    if len(groups) > GROUPS_IN_FULL and report.command == "plan":
        lines += plan_text.render(report.nodes, width, paint)
    else:
        lines += _in_full(groups, width, paint)
    if (note := cut_note("\n".join(lines), report.run)) is not None:
        lines += [*wrapped(note, width), ""]
    lines += _last_lines(report, width, paint)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _in_full(groups: list[Group], width: int, paint: Paint) -> list[str]:
    """Return all that is known of each group; of very many groups only of those that did not end well."""
    groups, left = _worth_details(groups) if len(groups) > GROUPS_IN_FULL else (groups, 0)
    lines: list[str] = []
    for alike, node in groups:
        lines += [*node_text.render(alike, node, width, paint), ""]
    if left:
        lines += [f"… and {counted(left, 'node')} more that did not end well; the JSON report has them all.", ""]
    return lines


def _alike(nodes: tuple[NodeReport, ...], width: int, *, nameless: bool) -> list[Group]:
    """Return the nodes with those together that read alike but for their name, wave and time taken, in report order.

    `nameless`: their own name may also stand in what is told of them, in a path.
    """
    found: dict[tuple[str, ...], list[tuple[NodeReport, NodeReport]]] = {}
    bare = Paint(colour=False)
    for node in nodes:
        essence = _essence(without_own_name(node) if nameless else node)
        lines = node_text.render(("",), essence, width, bare)
        found.setdefault((node.outcome.value, *lines), []).append((node, essence))
    # The times of the first of a group are shown only where it stands alone.
    return [
        (tuple(node.node for node, _ in alike), alike[0][0] if len(alike) == 1 else alike[0][1])
        for alike in found.values()
    ]


def _essence(node: NodeReport) -> NodeReport:
    steps = tuple(replace(step, duration_s=None) for step in node.steps)
    return replace(node, node="", wave=None, steps=steps, traits={})


def _worth_details(groups: list[Group]) -> tuple[list[Group], int]:
    """Return the groups to be told in full, and how many nodes that ended badly are left out."""
    bad = [
        group for group in groups if group[1].outcome not in (NodeOutcome.OK, NodeOutcome.PENDING, NodeOutcome.SKIPPED)
    ]
    return bad[:DETAILS], sum(len(names) for names, _ in bad[DETAILS:])


def _table(groups: list[Group], command: str, width: int, paint: Paint) -> list[str]:
    """Return a line for each way in which nodes ended: how many, how, and their names."""
    rows: dict[tuple[NodeOutcome, str], list[str]] = {}
    for alike, node in groups:
        rows.setdefault((node.outcome, node_word(node, command)), []).extend(alike)
    most = max(len(str(len(names))) for names in rows.values())
    words = max(len(word) for _, word in rows)
    lines: list[str] = []
    shown, left = first_of([*rows.items()], ROWS)
    for (outcome, word), names in shown:
        lead = f"  {len(names):>{most}}  {padded(word, words)}   "
        first, *rest = hanging(lead, node_text.names_text(tuple(names)), width)
        lines += [first.replace(word, paint(NODE_STYLES[outcome], word), 1), *rest]
    if left:
        lines.append(f"  … and {counted(left, 'more way')} in which nodes ended")
    return lines


def closing(report: Report) -> str:
    """Return the one sentence, or two, that say what the report comes to."""
    words = {"plan": _plan_words, "verify": _verify_words}.get(report.command, _apply_words)
    if not report.nodes:
        return "No node was selected, so nothing was done."
    return f"{words(report)}{_left_in_place(report)}" if report.command == "rollback" else words(report)


def _left_in_place(report: Report) -> str:
    """Return, with a space ahead, which steps a rollback did not take back; empty where it left nothing of the run."""
    left = tuple(dict.fromkeys(f"`{safe(step.id, 60)}`" for step in _steps(report) if step.left_in_place))
    if not left:
        return ""
    shown, unnamed = first_of(left, STAYING)
    words = [*shown, *([counted(unnamed, "more step")] if unnamed else [])]
    names = " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)
    return f" Not taken back: what {names} did stays as it is now."


def _last_lines(report: Report, width: int, paint: Paint) -> list[str]:
    text = closing(report)
    style = NODE_STYLES[report.outcome] if report.nodes else Style.UNSURE
    return [paint(style, line) for line in beside(text, _run(report), 0, width)]


def _run(report: Report) -> str | None:
    """Return the run's id and, where it did not end well, the commands that go on with it or write a page about it."""
    if report.run is None:
        return None
    run = safe(report.run)
    well = report.outcome in (NodeOutcome.OK, NodeOutcome.PENDING)
    if report.command in _RESUMED and any(it.outcome in _CUT_SHORT for it in report.nodes):
        return f"run {run} · `stackplan resume {run}` goes on · `stackplan report {run}`"
    return f"run {run}" if well else f"run {run} · `stackplan report {run}`"


def _apply_words(report: Report) -> str:
    total = len(report.nodes)
    done = sum(node.outcome is NodeOutcome.OK for node in report.nodes)
    if done == total:
        return _done_words(report)
    said = [f"{_of(count, total)} {word}" for word, count in _ends(report.nodes, report.command).items()]
    stopped = any(node.outcome is NodeOutcome.FAILED for node in report.nodes)
    after = " Nothing after it ran." if stopped and len(said) == 1 and report.command != "rollback" else ""
    well = "put back" if report.command == "rollback" else "done"
    proven = f" {_of(done, total)} {well} and proven." if done else ""
    return f"{'; '.join(said)}.{after}{proven}"


def _done_words(report: Report) -> str:
    steps = _steps(report)
    counts = Counter(step.outcome for step in steps)
    nodes = counted(len(report.nodes), "node")
    if report.command == "rollback":
        return _rolled_back_words(counts, nodes)
    if steps and counts[StepOutcome.SKIPPED] == len(steps):
        return f"Nothing to do: every step was skipped on {nodes}."
    if not counts[StepOutcome.CHANGED]:
        return (
            f"Nothing to do: {counted(counts[StepOutcome.SATISFIED], 'step')} found satisfied on {nodes}, nothing ran."
        )
    ends = (StepOutcome.CHANGED, StepOutcome.SATISFIED, StepOutcome.SKIPPED)
    said = _step_counts([(counts[outcome], outcome.value) for outcome in ends])
    return f"Done and proven on {nodes}: {said}."


def _rolled_back_words(counts: Counter[StepOutcome], nodes: str) -> str:
    left = counts[StepOutcome.SKIPPED]
    kept = f", {counted(left, 'step')} not" if left else ""
    if already := counts[StepOutcome.SATISFIED]:
        kept = f", {counted(already, 'step')} before already{kept}"
    if already and not counts[StepOutcome.ROLLED_BACK]:
        steps = counted(already, "step")
        return f"Nothing to put back: {steps} taken back on {nodes} before, and proven to be so still."
    if left and not counts[StepOutcome.ROLLED_BACK]:
        return (
            f"Nothing was put back on {nodes}: {counted(left, 'step')} left as {'it is' if left == 1 else 'they are'}."
        )
    return f"Put back and proven on {nodes}: {counted(counts[StepOutcome.ROLLED_BACK], 'step')} taken back{kept}."


def _ends(nodes: tuple[NodeReport, ...], command: str) -> dict[str, int]:
    """Return how the nodes ended that are not ok, most frequent first."""
    words = (node_word(node, command) for node in nodes if node.outcome is not NodeOutcome.OK)
    return dict(Counter(words).most_common(6))


def _plan_words(report: Report) -> str:
    refused = [node for node in report.nodes if node.reason is Reason.PRECONDITION and node.stopped_at is None]
    steps = [step for node in report.nodes if node not in refused for step in node.steps]
    counts = Counter(step.outcome for step in steps if not step.unreached)
    nodes = counted(len(report.nodes), "node")
    unreached = [f"{_of(count, len(report.nodes))} {word}" for word, count in _unplanned(report).items()]
    wanted = (
        (StepOutcome.WOULD_CHANGE, "to change"),
        (StepOutcome.WOULD_RUN, "to run"),
        (StepOutcome.WOULD_FAIL, "would fail"),
        (StepOutcome.UNKNOWN, "unknown until applied"),
        (StepOutcome.SATISFIED, "satisfied"),
        (StepOutcome.SKIPPED, "skipped"),
    )
    reached = [(counts[outcome], word) for outcome, word in wanted]
    said = _step_counts([*reached[:3], (sum(step.unreached for step in steps), "not reached"), *reached[3:]])
    if report.outcome is NodeOutcome.OK:
        if counts[StepOutcome.SKIPPED] == counts.total():
            return f"Nothing to do: every step is skipped on {nodes}."
        return f"Nothing to do on {nodes}: {said}."
    refusal = f"{_of(len(refused), len(report.nodes))} would stop at the playbook's preconditions, before any step"
    planned = "; ".join([*([said] if said else []), *([refusal] if refused else [])])
    sentences = [f"Plan for {nodes}: {planned}."] if planned else []
    sentences += [f"{'; '.join(unreached)}."] if unreached else []
    return " ".join([*sentences, "Nothing was changed."])


def _step_counts(told: Sequence[tuple[int, str]]) -> str:
    """Return how many steps come to what, the first count with its noun: `2 steps to change, 1 satisfied`."""
    first, *rest = [(count, word) for count, word in told if count] or [(0, "")]
    if not first[0]:
        return ""
    return ", ".join([f"{counted(first[0], 'step')} {first[1]}", *(f"{count} {word}" for count, word in rest)])


def _unplanned(report: Report) -> dict[str, int]:
    planned = (NodeOutcome.OK, NodeOutcome.PENDING, NodeOutcome.FAILED)
    return dict(Counter(node_word(node, "plan") for node in report.nodes if node.outcome not in planned))


def _verify_words(report: Report) -> str:
    steps = _steps(report)
    counts = Counter(it.status for step in steps for it in step.conditions)
    total = counted(len(report.nodes), "node")
    every = counted(counts.total(), "condition")
    if report.outcome is NodeOutcome.OK:
        return f"Proven on {total}: {every} of {counted(len(steps), 'step')}, all held."
    said = []
    if counts[Status.NOT_HELD]:
        said.append(f"{counts[Status.NOT_HELD]} of {every} not held")
    if counts[Status.UNKNOWN]:
        of = "" if said else f" of {every}"
        said.append(f"{counts[Status.UNKNOWN]}{of} {NOT_PROVEN}")
    failed = sum(node.outcome is NodeOutcome.FAILED for node in report.nodes)
    where = [f"{', '.join(said)}, on {_of(failed, len(report.nodes))}"] if said and failed else said
    others = tuple(node for node in report.nodes if node.outcome is not NodeOutcome.FAILED)
    ends = [f"{_of(count, len(report.nodes))} {word}" for word, count in _ends(others, "verify").items()]
    lead = "Not everything holds" if counts[Status.NOT_HELD] else "Not proven"
    return f"{lead}: {'; '.join([*where, *ends]) or 'something could not be answered'}."


def _steps(report: Report) -> list[StepReport]:
    return [step for node in report.nodes for step in node.steps]


def _of(count: int, total: int) -> str:
    return f"{count} of {counted(total, 'node')}"
