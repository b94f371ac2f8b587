"""What nodes remember of the runs on them, as text and as a JSON document (schemas/history.v1.json); pure."""

import json
from collections import Counter
from collections.abc import Sequence

from stackplan.model.history import NodeHistory, PastRun
from stackplan.model.outcome import NodeOutcome
from stackplan.reports.count import counted
from stackplan.reports.layout import paragraphs, usable
from stackplan.reports.paint import Paint, Style
from stackplan.reports.runs import time_text
from stackplan.reports.safe import safe, safe_paragraphs
from stackplan.reports.table import table
from stackplan.reports.wording import NODE_WORDS

FORMAT = "stackplan.history/1"
HEADS = ("began (UTC)", "run", "playbook", "revision", "by", "outcome")
_OUTCOMES = {outcome.value: words for outcome, words in NODE_WORDS.items()}
_DIGITS = 12


def render_text(histories: Sequence[NodeHistory], most: int, *, width: int, colour: bool) -> str:
    """Return a table for each node, of its latest `most` runs, the last one first. Ends in a line break."""
    paint = Paint(colour)
    blocks = [_block(history, most, usable(width), paint) for history in histories]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _block(history: NodeHistory, most: int, width: int, paint: Paint) -> list[str]:
    lines = [paint(Style.STRONG, safe(history.node, 100))]
    if history.why_not is not None:
        lines += paragraphs("  ✘ ", safe_paragraphs(history.why_not), width)
        return lines + (paragraphs("    ", safe_paragraphs(history.remedy), width) if history.remedy else [])
    if not history.runs:
        lines.append("  It remembers no run of this login.")
    rows = [_row(run, history.node) for run in history.runs[:most]]
    lines += [f"  {line}" for line in table(HEADS, rows, width - 2, paint)]
    if len(history.runs) > most:
        lines.append(
            paint(Style.FAINT, f"  … and {counted(len(history.runs) - most, 'older run')}; `--all` shows them.")
        )
    if history.unreadable:
        entries = "1 entry" if history.unreadable == 1 else f"{history.unreadable} entries"
        lines.append(paint(Style.FAINT, f"  {entries} of its history cannot be read."))
    return lines


def _row(run: PastRun, node: str) -> tuple[str, ...]:
    named = "" if run.command == "apply" else f" ({safe(run.command, 20)})"
    named += "" if run.node == node else f" (as {safe(run.node, 40)})"
    return (
        time_text(run.began),
        safe(run.run, 60),
        f"{safe(run.playbook, 60)}{named}",
        safe(run.revision or f"sha256 {run.sha256[:_DIGITS]}", 60),
        f"{safe(run.operator, 40)}@{safe(run.host, 40)}",
        _end(run),
    )


def _end(run: PastRun) -> str:
    again = f" (taken {run.taken} times)" if run.taken > 1 else ""
    if run.going_on:
        return f"holds the node now{again}"
    if run.ended is None:
        return f"cut off: it never said that it left the node{again}"
    words = _OUTCOMES.get(run.outcome or "", safe(run.outcome or "ended", 40))
    if run.outcome == NodeOutcome.FAILED.value and run.stopped_at:
        reason = f" ({safe(run.reason, 40)})" if run.reason else ""
        words = f"{words} at {safe(run.stopped_at, 60)}{reason}"
    counts = Counter(run.steps.values())
    steps = ", ".join(f"{count} {safe(outcome, 20)}" for outcome, count in counts.items())
    return f"{words}{': ' if steps else ''}{steps}{again}"


def render_json(histories: Sequence[NodeHistory]) -> str:
    """Return the text of a JSON document that ends in a line break."""
    document = {"format": FORMAT, "nodes": [_document(history) for history in histories]}
    return json.dumps(document, indent=1) + "\n"


def _document(history: NodeHistory) -> dict[str, object]:
    return {
        "node": history.node,
        "why_not": history.why_not,
        "remedy": history.remedy,
        "unreadable": history.unreadable,
        "runs": [_run(run) for run in history.runs],
    }


def _run(run: PastRun) -> dict[str, object]:
    return {
        "run": run.run,
        "node": run.node,
        "command": run.command,
        "going_on": run.going_on,
        "playbook": {"name": run.playbook, "path": run.path, "sha256": run.sha256, "revision": run.revision},
        "operator": run.operator,
        "host": run.host,
        "began": run.began,
        "ended": run.ended,
        "taken": run.taken,
        "outcome": run.outcome,
        "stopped_at": run.stopped_at,
        "reason": run.reason,
        "steps": dict(run.steps),
    }
