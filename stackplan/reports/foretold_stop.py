"""Which steps a plan says would fail, for whoever is about to apply it all the same; pure."""

from stackplan.model.outcome import NodeOutcome, Reason, StepOutcome
from stackplan.model.report import NodeReport, Report, StepReport
from stackplan.reports.count import counted
from stackplan.reports.layout import hanging
from stackplan.reports.node_text import names_text
from stackplan.reports.paint import Paint, Style
from stackplan.reports.safe import safe
from stackplan.reports.wording import step_sentence

MOST = 3
STEPS = 8
_ACTS = frozenset({StepOutcome.WOULD_CHANGE, StepOutcome.WOULD_RUN, StepOutcome.UNKNOWN})
_REFUSAL = "`stackplan plan PLAYBOOK -o FILE` and `stackplan apply FILE` would refuse to start."
_WARNING = f"A prediction can be wrong, so the steps before it run all the same, and proof decides. {_REFUSAL}"


def render(planned: Report, *, width: int, colour: bool) -> str:
    """Return a paragraph for each step that would fail: why, where, what runs before it; one for nodes that the
    playbook's preconditions would stop; empty when there are none.

    Nodes of which the same is to be said stand together; of very many paragraphs the first and a count.
    """
    found: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for node in planned.nodes:
        if not _is_refused(node) and (failing := _failing(node)) is not None:
            found.setdefault((safe(failing.id, 60), _why(failing), _before(node, failing)), []).append(node.node)
    paint = Paint(colour)
    lines = _refused(planned, width, paint)
    for (step, why, before), nodes in [*found.items()][:MOST]:
        first, *rest = hanging("✘ ", f"`{step}` would fail on {names_text(tuple(nodes))}: {why}.", width)
        lines += [paint(Style.BAD, line) for line in (first, *rest)]
        lines += hanging("  ", f"What would run before it: {_named(before)}.", width)
    if len(found) > MOST:
        lines.append(f"  … and {counted(len(found) - MOST, 'more way')} in which nodes would fail")
    return "\n".join([*lines, *hanging("  ", _WARNING if found else _REFUSAL, width)]) if lines else ""


def _is_refused(node: NodeReport) -> bool:
    """Return whether the playbook's own preconditions are foretold to stop the node ahead of every step."""
    return node.outcome is NodeOutcome.FAILED and node.reason is Reason.PRECONDITION and node.stopped_at is None


def _refused(planned: Report, width: int, paint: Paint) -> list[str]:
    """Return a paragraph for each way in which the playbook's preconditions do not hold; of many the first."""
    found: dict[str, list[str]] = {}
    for node in planned.nodes:
        if _is_refused(node):
            found.setdefault(safe(node.message or "they do not hold").rstrip("."), []).append(node.node)
    lines: list[str] = []
    for why, nodes in [*found.items()][:MOST]:
        text = f"the playbook's preconditions would stop {names_text(tuple(nodes))} before any step: {why}."
        lines += [paint(Style.BAD, line) for line in hanging("✘ ", text, width)]
    if len(found) > MOST:
        lines.append(f"  … and {counted(len(found) - MOST, 'more way')} in which they do not hold")
    return lines


def _failing(node: NodeReport) -> StepReport | None:
    return next((step for step in node.steps if step.outcome is StepOutcome.WOULD_FAIL), None)


def _why(step: StepReport) -> str:
    reason = f" ({step.reason.value})" if step.reason else ""
    return f"{step_sentence(step, timed=False).rstrip('.') or 'it would not be proven'}{reason}"


def _before(node: NodeReport, failing: StepReport) -> tuple[str, ...]:
    """Return the steps that have something to do before the one that would fail, or may have."""
    earlier = node.steps[: node.steps.index(failing)]
    return tuple(safe(step.id, 60) for step in earlier if step.outcome in _ACTS)


def _named(steps: tuple[str, ...]) -> str:
    shown = ", ".join(f"`{step}`" for step in steps[:STEPS])
    return f"{shown}, and {counted(len(steps) - STEPS, 'more step')}" if len(steps) > STEPS else shown or "nothing"
