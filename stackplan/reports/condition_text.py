"""Conditions, diagnoses, changes and commands as indented lines under a step or a node; pure."""

from collections.abc import Iterable
from dataclasses import replace

from rich.cells import cell_len

from stackplan.model.change import Change
from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.model.outcome import Phase, StepOutcome
from stackplan.model.report import ActionReport, ConditionReport, StepReport
from stackplan.model.verdict import Status
from stackplan.reports.cause import cause_label
from stackplan.reports.count import counted, first_of
from stackplan.reports.diagnostics import names_place
from stackplan.reports.layout import beside, hanging, padded
from stackplan.reports.paint import Paint, Style
from stackplan.reports.safe import safe, safe_lines
from stackplan.reports.wording import MARKS, STATUS_MARKS, change_text, condition_text

INDENT = " " * 6
COLUMN = 41
COMMAND_LINES = 20
CHANGES = 30
CONDITIONS = 40
DETAILS = 60
UNCODED = {Severity.ERROR: "why", Severity.WARNING: "warn", Severity.NOTE: "note"}
"""What stands in front of a finding that has no code."""


def in_detail(condition: ConditionReport, width: int, paint: Paint) -> list[str]:
    """Return a condition with its place, and what was expected and observed, on lines of their own."""
    place = safe(str(condition.at)) if condition.at else None
    lines = beside(INDENT + condition_text(condition), place, COLUMN, width)
    lines[0] = _strong(lines[0], place, paint)
    margin = INDENT + "  "
    if condition.expected is not None:
        lines += hanging(f"{margin}expected  ", safe(condition.expected), width)
    if condition.status is Status.UNKNOWN:
        lines += hanging(f"{margin}unknown   ", safe(condition.why or "it was not asked"), width)
    elif condition.observed is not None:
        evidence = safe(condition.evidence) if condition.evidence else None
        lines += beside(f"{margin}observed  {safe(condition.observed)}", evidence, COLUMN, width)
    if condition.message:
        lines += hanging(f"{margin}note      ", safe(condition.message), width)
    return lines


def _strong(line: str, place: str | None, paint: Paint) -> str:
    """Paint the statement strong and the place faint; both may stand in one line."""
    if place and line.endswith(place):
        return paint(Style.STRONG, line[: -len(place)]) + paint(Style.FAINT, place)
    return paint(Style.STRONG, line)


def in_brief(condition: ConditionReport, width: int, paint: Paint) -> list[str]:
    """Return a condition as it stands now and, in a plan, as it will stand, in one line where it fits."""
    mark, style = _outlook_mark(condition)
    lines = beside(f"{INDENT}{mark} {condition_text(condition)}", _standing(condition), COLUMN, width)
    lines[0] = lines[0].replace(mark, paint(style, mark), 1)
    return lines


def _outlook_mark(condition: ConditionReport) -> tuple[str, Style]:
    """Return the sign for what a condition will be, not for what it is: a step is there to change that."""
    if condition.predicted is Status.HELD and condition.status is not Status.HELD:
        return MARKS[StepOutcome.WOULD_CHANGE]
    if condition.predicted is None and condition.phase is Phase.POST and condition.status is Status.NOT_HELD:
        return STATUS_MARKS[Status.UNKNOWN]
    return STATUS_MARKS[condition.predicted or condition.status]


def broken_in_brief(condition: ConditionReport, width: int, paint: Paint) -> list[str]:
    """Return a condition that a planned step would break, as it would stand then."""
    mark, style = STATUS_MARKS[Status.NOT_HELD]
    later = "will not hold" if condition.observed is None else f"then {safe(condition.observed)}"
    wanted = f", has to be {safe(condition.expected)}" if condition.expected is not None else ""
    lines = beside(f"{INDENT}{mark} {condition_text(condition)}", f"{later}{wanted}", COLUMN, width)
    lines[0] = lines[0].replace(mark, paint(style, mark), 1)
    return lines


def _standing(condition: ConditionReport) -> str | None:
    if condition.predicted is None:
        return _unforetold(condition)
    if condition.status is Status.HELD and condition.predicted is Status.HELD:
        return None
    now, later = _now(condition), _later(condition)
    if condition.predicted is Status.NOT_HELD:
        expected = condition.predicted_expected or condition.expected
        wanted = f", has to be {safe(expected)}" if expected is not None else ""
        stays = condition.status is Status.NOT_HELD and condition.observed == condition.predicted_observed
        return f"{now.replace('now', 'stays', 1)}{wanted}" if stays else f"{now}, {later}{wanted}"
    if condition.status is Status.UNKNOWN and condition.predicted is Status.UNKNOWN:
        return later
    return f"{now}, {later}"


def _unforetold(condition: ConditionReport) -> str | None:
    """Return how a condition stands now, and what it has to be."""
    if condition.status is Status.HELD:
        return "holds now"
    if condition.status is Status.UNKNOWN:
        return f"unknown: {safe(condition.why)}" if condition.why else "unknown"
    now = _now(condition)
    return now if condition.expected is None else f"{now}, has to be {safe(condition.expected)}"


def _now(condition: ConditionReport) -> str:
    match condition.status:
        case Status.HELD:
            return "holds now"
        case Status.UNKNOWN:
            return f"unknown now ({safe(condition.why)})" if condition.why else "unknown now"
    return f"now {safe(condition.observed)}" if condition.observed is not None else "does not hold now"


def _later(condition: ConditionReport) -> str:
    match condition.predicted:
        case Status.UNKNOWN:
            why = f": {safe(condition.predicted_why)}" if condition.predicted_why else ""
            return f"unknown until applied{why}"
        case Status.HELD if condition.predicted_observed is None:
            return "will hold"
        case Status.NOT_HELD if condition.predicted_observed is None:
            return "will not hold"
    return f"then {safe(condition.predicted_observed or '')}"


def conditions_in_detail(conditions: Iterable[ConditionReport], width: int, paint: Paint) -> list[str]:
    """Return conditions one below the other, a blank line before each; of very many the first ones and a count."""
    every = tuple(conditions)
    lines: list[str] = []
    for condition in every[:CONDITIONS]:
        lines += ["", *in_detail(condition, width, paint)]
    if len(every) > CONDITIONS:
        lines += ["", f"{INDENT}… and {counted(len(every) - CONDITIONS, 'more condition')}"]
    return lines


def diagnosis_lines(diagnosis: Diagnosis, width: int, paint: Paint) -> list[str]:
    """Return a finding and its remedy as they stand below a step."""
    code = diagnosis.code or UNCODED[diagnosis.severity]
    lead = f"{INDENT}{padded(code, 5)}  "
    lines = hanging(lead, safe(diagnosis.summary), width)
    lines[0] = lines[0].replace(code, paint(Style.STRONG, code), 1)
    return lines + _beside(diagnosis, " " * cell_len(lead), width)


def added_lines(diagnosis: Diagnosis, width: int) -> list[str]:
    """Return what a finding says beyond its summary, which stands elsewhere already; none where that is nothing."""
    lines = _beside(replace(diagnosis, remedy_at=diagnosis.remedy_at if diagnosis.remedy else None), INDENT, width)
    return ["", *lines] if lines else []


def _beside(diagnosis: Diagnosis, margin: str, width: int) -> list[str]:
    lines: list[str] = []
    if diagnosis.expected is not None:
        lines += hanging(f"{margin}expected  ", safe(diagnosis.expected), width)
    if diagnosis.observed is not None:
        lines += hanging(f"{margin}observed  ", safe(diagnosis.observed), width)
    for cause in diagnosis.causes:
        lines += hanging(f"{margin}{cause_label(cause)}", safe(cause), width)
    if diagnosis.remedy is not None:
        lines += hanging(margin, safe(diagnosis.remedy), width)
    if diagnosis.remedy_at is not None and not names_place(diagnosis):
        lines += hanging(margin, safe(f"at {diagnosis.remedy_at}"), width)
    return lines


def change_lines(changes: tuple[Change, ...], step: StepReport) -> list[str]:
    """Return one line a change of a step; of very many the first ones and a count."""
    shown, left = first_of(changes, CHANGES)
    lines = [f"{INDENT}{change_text(change, step)}" for change in shown]
    if left:
        lines.append(f"{INDENT}… and {counted(left, 'more change')}")
    return lines


def detail_lines(details: tuple[str, ...], width: int, paint: Paint) -> list[str]:
    """Return the lines of a prediction (a unified diff), each on lines of its own; of very many the first ones."""
    lines: list[str] = []
    shown, left = first_of(details, DETAILS)
    for text in shown:
        style = {"+": Style.GOOD, "-": Style.BAD}.get(text[:1], Style.FAINT)
        line = f"{INDENT}  {safe(text, 400)}"
        # A line that fits keeps its indentation, which wrapping would lose.
        fits = cell_len(line) <= width
        lines += [paint(style, part) for part in ([line] if fits else hanging(f"{INDENT}  ", line.strip(), width))]
    if left:
        lines.append(f"{INDENT}  … and {counted(left, 'more line')}")
    return lines


def command_lines(action: ActionReport | None, width: int, paint: Paint) -> list[str]:
    """Return the command that ran or would run, as one may type it; a long script is cut."""
    if action is None or not action.command:
        return []
    written = action.command.rstrip("\n").split("\n")
    lines: list[str] = []
    for index, text in enumerate(written[:COMMAND_LINES]):
        lines += hanging(f"{INDENT}{'$' if index == 0 else ' '} ", safe(text, 2000), width)
    if len(written) > COMMAND_LINES:
        lines.append(f"{INDENT}  … {counted(len(written) - COMMAND_LINES, 'more line')}")
    return [paint(Style.FAINT, line) for line in lines]


def output_lines(action: ActionReport | None, count: int, width: int, paint: Paint) -> list[str]:
    """Return the last `count` lines that the action printed, marked as its words and not ours."""
    if action is None or not action.output_tail:
        return []
    lines: list[str] = []
    for text in safe_lines(action.output_tail, count, 400):
        lines += hanging(f"{INDENT}│ ", text, width)
    return [paint(Style.FAINT, line) for line in lines]
