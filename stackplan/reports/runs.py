"""The list of runs as text and as a JSON document (schemas/runs.v1.json); pure."""

import json
from collections.abc import Sequence

from stackplan.model.outcome import NodeOutcome
from stackplan.model.run_line import RunLine, RunState
from stackplan.reports.count import counted
from stackplan.reports.layout import usable
from stackplan.reports.paint import Paint, Style
from stackplan.reports.safe import safe
from stackplan.reports.table import table
from stackplan.reports.wording import NODE_STYLES, NODE_WORDS

FORMAT = "stackplan.runs/1"
HEADS = ("run", "started (UTC)", "playbook", "nodes", "by", "outcome")
NAMES = 3


def render_text(lines: Sequence[RunLine], left_out: int, *, width: int, colour: bool) -> str:
    """Return the runs as a table, in the given order; `left_out` older ones are not in it. Ends in a line break."""
    paint = Paint(colour)
    if not lines:
        return "There is no run to show.\n"
    told = table(HEADS, [_row(line) for line in lines], usable(width), paint)
    if left_out:
        told.append(paint(Style.FAINT, f"… and {counted(left_out, 'older run')}; `--all` shows them."))
    cut_off = [line for line in lines if line.state is RunState.CUT_OFF]
    if resumable := [line.run for line in cut_off if line.command != "rollback"]:
        told.append(
            paint(Style.FAINT, f"`stackplan resume {safe(resumable[0], 60)}` takes up a run that ended without a word.")
        )
    if rollbacks := [line.of for line in cut_off if line.command == "rollback"]:
        of = safe(rollbacks[0] or "RUN", 60)
        told.append(
            paint(Style.FAINT, f"`stackplan rollback {of}` brings a rollback to its end that ended without a word.")
        )
    return "\n".join(_painted(line, lines, paint) for line in told) + "\n"


def _painted(text: str, lines: Sequence[RunLine], paint: Paint) -> str:
    """Paint what a row ends with, where it says how a run ended."""
    for line in lines:
        words = _end(line)
        if text.startswith(safe(line.run, 60)) and words and text.endswith(words):
            return text[: -len(words)] + paint(_style(line), words)
    return text


def _style(line: RunLine) -> Style:
    if line.state is RunState.RUNNING or line.rolled_back_by is not None:
        return Style.CHANGE
    return Style.UNSURE if line.outcome is None else NODE_STYLES[line.outcome]


def _row(line: RunLine) -> tuple[str, ...]:
    who = "@".join(safe(it, 40) for it in (line.operator, line.host) if it)
    command = "" if line.command in (None, "apply") else f" ({safe(line.command or '', 20)})"
    return (
        safe(line.run, 60),
        time_text(line.started),
        f"{safe(line.playbook, 60)}{command}" if line.playbook else "",
        names_text(line.nodes),
        who,
        _end(line),
    )


def _end(line: RunLine) -> str:
    match line.state:
        case RunState.RUNNING:
            return "going on"
        case RunState.UNREADABLE:
            return f"unreadable: {safe(line.why or '', 200)}"
        case RunState.CUT_OFF:
            return "ended without a word"
    assert line.outcome is not None
    at = f" at {', '.join(safe(step, 60) for step in line.stopped_at[:NAMES])}" if line.stopped_at else ""
    end = f"{NODE_WORDS[line.outcome]}{at if line.outcome is not NodeOutcome.OK else ''}"
    if line.rolled_back_by is None:
        return end
    return f"{end}, then rolled back{' in part' if line.rolled_back_in_part else ''} by {safe(line.rolled_back_by, 60)}"


def names_text(nodes: Sequence[str]) -> str:
    """Return the nodes' names, or of more than a few the first one and how many there are."""
    if len(nodes) <= NAMES:
        return ", ".join(safe(node, 40) for node in nodes)
    return f"{safe(nodes[0], 40)} … ({len(nodes)})"


def time_text(time: str | None) -> str:
    """Return an ISO time as people read it, to the second: `2026-12-01 03:10:22`."""
    return safe(time.replace("T", " ").partition(".")[0].removesuffix("Z"), 30) if time else ""


def render_json(lines: Sequence[RunLine], left_out: int) -> str:
    """Return the text of a JSON document that ends in a line break."""
    document = {"format": FORMAT, "runs": [_document(line) for line in lines], "left_out": left_out}
    return json.dumps(document, indent=1) + "\n"


def _document(line: RunLine) -> dict[str, object]:
    return {
        "run": line.run,
        "state": line.state.value,
        "command": line.command,
        "started": line.started,
        "ended": line.ended,
        "playbook": None
        if line.playbook is None
        else {"name": line.playbook, "path": line.path, "revision": line.revision},
        "nodes": list(line.nodes),
        "outcome": None if line.outcome is None else line.outcome.value,
        "stopped_at": list(line.stopped_at),
        "operator": line.operator,
        "host": line.host,
        "why": line.why,
        "of": line.of,
        "also_taken_back": list(line.also_taken_back),
        "rolled_back_by": line.rolled_back_by,
        "rolled_back_in_part": line.rolled_back_in_part,
    }
