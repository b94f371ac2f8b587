"""What happens, one line an occurrence, for logs and for terminals without a moving display; pure."""

from collections import Counter

from stackplan.model.event import (
    Awaited,
    ConnectionDropped,
    Event,
    NodeEnded,
    NodeProven,
    NodeStarted,
    OutputSeen,
    Reattached,
    RestoreStarted,
    RunEnded,
    RunResumed,
    RunStarted,
    StepEnded,
    StepStarted,
)
from stackplan.model.outcome import NodeOutcome
from stackplan.model.regular import regular
from stackplan.model.report import ConditionReport, StepReport
from stackplan.model.verdict import Status
from stackplan.reports.count import counted
from stackplan.reports.safe import safe, safe_lines
from stackplan.reports.wording import NOT_PROVEN, node_word, step_sentence, step_word

LINE = 160
_HERE_DOCUMENT = regular(r"<<-?'?(\w+)'?$")
# What most scripts begin with: blank lines, comments, and how the shell is to take errors.
_TELLS_NOTHING = regular(r"\s*(#.*|set\s+[-+][\w\s]*(-o\s+\w+\s*)?)?$")


def plain_line(event: Event, command: str = "apply") -> str | None:
    """Return the line for `event` of a run of `command`, or None for one that is not worth a line of its own."""
    line: str | None
    match event:
        case RunStarted(run=run, command=command, playbook=playbook, nodes=nodes):
            line = f"run {safe(run)}: {command} {safe(playbook.name)} on {counted(len(nodes), 'node')}"
        case RunResumed(run=run):
            line = f"run {safe(run)}: taken up again"
        case NodeStarted(node=node, wave=wave):
            line = f"{safe(node)}: started, wave {wave}"
        case NodeProven(node=node, preconditions=conditions):
            line = _unmet(node, conditions)
        case StepStarted(node=node, step=step, action=action):
            line = f"{safe(node)}: {safe(step)}: {first_line(action.command) or safe(action.kind)}"
        case ConnectionDropped() | Reattached() | Awaited() | RestoreStarted():
            line = _beside_the_steps(event)
        case StepEnded(node=node, step=report):
            line = f"{safe(node)}: {safe(report.id)}: {ended(report)}"
        case NodeEnded(node=node, report=node_report):
            # What stopped it at a step was told when the step ended.
            by_step = node_report.outcome is NodeOutcome.FAILED and node_report.stopped_at is not None
            message = None if by_step else node_report.message
            # A note a line; here is room for one line.
            why = f": {brief(message.replace(chr(10), '. '))}" if message else ""
            line = f"{safe(node)}: {node_word(node_report, command)}{why}"
        case OutputSeen() | RunEnded():
            line = None
    return line


def _unmet(node: str, preconditions: tuple[ConditionReport, ...]) -> str | None:
    """Return how many of the playbook's preconditions do not hold, and how many nobody knows to; None where all do."""
    counts = Counter(it.status for it in preconditions)
    words = ((counts[Status.NOT_HELD], "not held"), (counts[Status.UNKNOWN], NOT_PROVEN))
    said = ", ".join(f"{counted(count, 'precondition')} of the playbook {word}" for count, word in words if count)
    return f"{safe(node)}: {said}" if said else None


def _beside_the_steps(event: ConnectionDropped | Reattached | Awaited | RestoreStarted) -> str:
    match event:
        case RestoreStarted(node=node, paths=paths):
            return f"{safe(node)}: putting back {brief(', '.join(paths))}"
        case ConnectionDropped(node=node, why=why):
            return f"{safe(node)}: connection lost, reconnecting: {brief(why)}"
        case Reattached(node=node):
            return f"{safe(node)}: connected again"
        case Awaited(node=node, what=what):
            return f"{safe(node)}: waiting: {brief(what)}"


def last_line(event: OutputSeen) -> str | None:
    """Return the last line that the output shows, or None when it shows nothing."""
    found = safe_lines(event.text, 1, LINE)
    return found[0] if found else None


def first_line(command: str | None) -> str:
    """Return the first line of a command that tells something, clipped to a line: of a script, one of its own."""
    lines = (command or "").strip().splitlines()
    if len(lines) > 1 and (document := _HERE_DOCUMENT.search(lines[0])) is not None:
        script = lines[1:-1] if lines[-1].strip() == document[1] else lines[1:]
        lines = [line.strip() for line in script if not _TELLS_NOTHING.match(line)] or lines
    return brief(lines[0]) if lines else ""


def brief(text: str) -> str:
    """Return `text` as one safe line, cut off behind a word where it is too long: the report has all of it."""
    if len(text) <= LINE:
        return safe(text)
    head = text[:LINE]
    return f"{safe(head.rpartition(' ')[0] or head)}…"


def ended(step: StepReport) -> str:
    sentence = step_sentence(step)
    return f"{step_word(step)}   {sentence}" if sentence else step_word(step)
