"""One node, or several that read alike, as text: a headline, a line a step, and all of what stopped it; pure."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import groupby

from rich.cells import cell_len

from stackplan.model.diagnosis import Severity
from stackplan.model.outcome import NodeOutcome, Phase, Reason, StepOutcome
from stackplan.model.report import NOTHING_TO_ROLL_BACK, ROLLED_BACK_TO, ConditionReport, NodeReport, StepReport
from stackplan.model.same import Same
from stackplan.model.verdict import Status
from stackplan.reports.condition_text import (
    CONDITIONS,
    INDENT,
    added_lines,
    broken_in_brief,
    change_lines,
    command_lines,
    conditions_in_detail,
    detail_lines,
    diagnosis_lines,
    in_brief,
    in_detail,
    output_lines,
)
from stackplan.reports.count import counted
from stackplan.reports.layout import hanging, padded, paragraphs
from stackplan.reports.paint import Paint, Style
from stackplan.reports.safe import safe, safe_paragraphs
from stackplan.reports.wording import (
    MARKS,
    NODE_STYLES,
    NOT_PROVEN,
    STATUS_MARKS,
    authored,
    condition_text,
    doubtful,
    node_end,
    step_mark,
    step_sentence,
    step_word,
    tells_changes,
)

ENDED_BADLY = frozenset({Reason.ACTION, Reason.TIMEOUT, Reason.LOST, Reason.INTERRUPTED})
"""Reasons that the command itself gives: its output explains them, its postconditions were not to be expected."""
UNPROVEN = frozenset({Reason.NO_OP, Reason.POSTCONDITION})
"""Reasons that the state gives: what the command said is shown only where no finding explains it."""
PLANNED = frozenset(
    {StepOutcome.WOULD_CHANGE, StepOutcome.WOULD_RUN, StepOutcome.WOULD_FAIL, StepOutcome.UNKNOWN},
)
WORDED_FIRST = frozenset(
    {NodeOutcome.UNREACHABLE, NodeOutcome.LOST, NodeOutcome.LOCKED, NodeOutcome.STALE, NodeOutcome.SKIPPED},
)
"""Ends that no step tells: the line with the node's name says them."""
NOTE = "·"
NAMES = 6
HELD = 3
"""Postconditions that hold all along are named up to so many; of more a count is told."""
WOULD_BE = "no step would be reached; below is what the steps would do if these preconditions held"
AGAIN = "for the same reason"
LONG = 60
"""Characters from which on an observation is not told again: a shorter one may be alike by chance."""


def render(names: tuple[str, ...], node: NodeReport, width: int, paint: Paint) -> list[str]:
    """Return the lines of `node`, which stands for all of `names`."""
    lines = _headline(names, node, width, paint)
    if node.message and not _told_below(node):
        mark, style = _message_mark(node, node.message)
        told = safe_paragraphs(node.message)
        # Of a node that ended well these are notes, each for itself; of another one, what belongs to the first line.
        for note in told.split("\n") if mark == NOTE else [told]:
            lines += _marked(mark, style, note, width, paint)
    if node.remedy:
        lines += paragraphs("    ", safe_paragraphs(node.remedy), width)
    lines += _preconditions(node, width, paint)
    for diagnosis in node.diagnoses:
        lines += [*diagnosis_lines(diagnosis, width, paint), ""]
    return _without_last_blanks(lines + _steps(node.steps, width, paint))


def _message_mark(node: NodeReport, message: str) -> tuple[str, Style]:
    """Return the mark of what is said of a whole node: where it ended well, or was put back, that is no fault."""
    if message.startswith(ROLLED_BACK_TO):
        return MARKS[StepOutcome.ROLLED_BACK]
    if node.outcome is NodeOutcome.OK or message.startswith(NOTHING_TO_ROLL_BACK):
        return NOTE, Style.FAINT
    return "?" if node.outcome is NodeOutcome.PENDING else "✘", NODE_STYLES[node.outcome]


def _told_below(node: NodeReport) -> bool:
    """Return whether the node's message says what its preconditions, or the step that stopped it, say in full."""
    if node.reason is Reason.PRECONDITION and node.stopped_at is None and _unmet(node.preconditions):
        return True
    return any(step.message == node.message for step in node.steps)


def _preconditions(node: NodeReport, width: int, paint: Paint) -> list[str]:
    """Return the playbook's preconditions that are not known to hold: in full where they stop it, else in brief."""
    unmet = _unmet(node.preconditions)
    if not unmet:
        return []
    if node.outcome in (NodeOutcome.OK, NodeOutcome.PENDING):
        lines = _marked("?", Style.UNSURE, "preconditions of the playbook, as they stand now:", width, paint)
        return [*lines, *(line for it in unmet for line in in_brief(it, width, paint))]
    how = f"are {NOT_PROVEN}" if doubtful(unmet) else "do not hold"
    lines = _marked("✘", Style.BAD, f"preconditions of the playbook {how}; nothing was touched", width, paint)
    lines += [*conditions_in_detail(unmet, width, paint), ""]
    if any(step.outcome in PLANNED for step in node.steps):
        lines += _marked("·", Style.FAINT, WOULD_BE, width, paint)
    return lines


def names_text(names: tuple[str, ...]) -> str:
    """Return the nodes' names, of many the first ones."""
    shown = ", ".join(safe(name, 100) for name in names[:NAMES])
    return f"{shown} …" if len(names) > NAMES else shown


def _headline(names: tuple[str, ...], node: NodeReport, width: int, paint: Paint) -> list[str]:
    name = f"{names_text(names)} ({len(names)} nodes)" if len(names) > 1 else names_text(names)
    facts = safe(node.summary) if node.summary else ""
    if node.outcome in WORDED_FIRST:
        facts = " · ".join(part for part in (node_end(node), facts) if part)
    first, *rest = hanging(f"{name}   ", facts, width) if facts else [name]
    return [paint(Style.STRONG, name) + first[len(name) :], *rest]


def _marked(mark: str, style: Style, text: str, width: int, paint: Paint) -> list[str]:
    first, *rest = paragraphs(f"  {mark} ", text, width)
    return [first.replace(mark, paint(style, mark), 1), *rest]


def _steps(steps: tuple[StepReport, ...], width: int, paint: Paint) -> list[str]:
    reached = [step for step in steps if step.outcome is not StepOutcome.NOT_REACHED]
    column = max((min(24, cell_len(safe(step.id, 60))) for step in reached), default=0)
    words = max((cell_len(step_word(step)) for step in reached), default=0)
    shared = _shared_faults(steps)
    seen = _Seen()
    lines: list[str] = []
    for outcome, run in groupby(steps, key=lambda step: step.outcome):
        if outcome is StepOutcome.NOT_REACHED:
            lines += _not_reached([*run], width, paint)
            continue
        for step, others in _taken_back_together(run):
            lines += _row(step, column, words, width, paint)
            verified = step.outcome is StepOutcome.NOT_HELD
            details = _not_held(step, shared, seen, width, paint) if verified else _details(step, width, paint)
            # A block of details stands between blank lines; single lines follow their step closely.
            lines += details
            if details and "" in details:
                lines.append("")
            if others:
                mark, style = step_mark(step)
                text = f"{', '.join(others)}   {step_word(step)} with {safe(step.id, 60)}"
                lines += _marked(mark, style, text, width, paint)
    return lines


def _taken_back_together(steps: Iterable[StepReport]) -> Iterator[tuple[StepReport, list[str]]]:
    """Yield the steps; with one that was taken back the names of those after it of which no more is to be said."""
    for (_, message), run in groupby(enumerate(steps), key=lambda it: _taken_back(*it)):
        first, *others = [step for _, step in run]
        said = [it for it in others if message is None or it.changes or it.diagnoses]
        yield first, [safe(it.id, 60) for it in others if it not in said]
        yield from ((it, []) for it in said)


def _taken_back(index: int, step: StepReport) -> tuple[int | None, str | None]:
    """Return a key that steps share which were taken back in the same words; all others have one of their own."""
    together = step.outcome is StepOutcome.ROLLED_BACK and step.message is not None
    return (None, step.message) if together else (index, None)


def _without_last_blanks(lines: list[str]) -> list[str]:
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _row(step: StepReport, column: int, words: int, width: int, paint: Paint) -> list[str]:
    mark, style = step_mark(step)
    word = step_word(step)
    text = f"{padded(safe(step.id, 60), column)}   {padded(word, words)}   "
    first, *rest = hanging(f"  {mark} {text}", step_sentence(step), width)
    return [first.replace(mark, paint(style, mark), 1).rstrip(), *rest]


def _not_reached(steps: list[StepReport], width: int, paint: Paint) -> list[str]:
    mark, style = MARKS[StepOutcome.NOT_REACHED]
    names = ", ".join(safe(step.id, 60) for step in steps)
    lines = hanging(f"  {mark} ", f"{names}   not reached", width)
    return [paint(style, line) for line in lines]


def _details(step: StepReport, width: int, paint: Paint) -> list[str]:
    """Return the lines below a step's own; nodes of which the same is reported share the step, and those."""
    return [*_details_of(Same(step), width, paint)]


@lru_cache(maxsize=1024)
def _details_of(step: Same[StepReport], width: int, paint: Paint) -> list[str]:
    return _written(step.it, width, paint)


def _written(step: StepReport, width: int, paint: Paint) -> list[str]:
    if step.outcome is StepOutcome.FAILED:
        return _stop(step, width, paint)
    if step.outcome in PLANNED:
        return _planned(step, width, paint)
    lines = change_lines(step.changes, step) if len(step.changes) > 1 or step.message else []
    for diagnosis in step.diagnoses:
        lines += ["", *diagnosis_lines(diagnosis, width, paint)]
    return lines


def _shared_faults(steps: Iterable[StepReport]) -> dict[object, list[str]]:
    """Return, of a `verify`, by what was found the steps under which the very same does not hold, in their order."""
    found: dict[object, list[str]] = {}
    for step in steps:
        for key in dict.fromkeys(map(_fault, _unmet(step.conditions)) if step.outcome is StepOutcome.NOT_HELD else ()):
            found.setdefault(key, []).append(safe(step.id, 60))
    return found


def _fault(condition: ConditionReport) -> object:
    return condition.kind, condition.text, condition.status, condition.expected, condition.observed, condition.why


class _Seen:
    """What was observed, and under which step it was told first, in the words of that step's conditions."""

    def __init__(self) -> None:
        self._told: list[tuple[str, str]] = []

    def shortened(self, step: str, condition: ConditionReport) -> ConditionReport:
        """Return the condition of a step; of a long observation that was told before only where that was."""
        observed = condition.observed
        if observed is None or len(observed) < LONG:
            return condition
        for text, where in self._told:
            if observed in text:
                return replace(condition, observed="as told above" if where == step else f"as told under {where}")
        self._told.append((observed, step))
        return condition


def _not_held(step: StepReport, shared: dict[object, list[str]], seen: _Seen, width: int, paint: Paint) -> list[str]:
    """Return what of a step does not hold: in full where it is told first, with the other steps that it is true of."""
    lines: list[str] = []
    own: list[ConditionReport] = []
    above: dict[str, list[str]] = {}
    for condition in _unmet(step.conditions):
        first = shared[_fault(condition)][0]
        if first == safe(step.id, 60):
            own.append(condition)
        else:
            above.setdefault(first, []).append(condition_text(condition))
    for first, texts in above.items():
        which = f": {'; '.join(texts)}" if own or len(above) > 1 else ""
        lines += hanging(INDENT, f"as told under {first}{which}", width)
    for condition in own[:CONDITIONS]:
        lines += ["", *in_detail(seen.shortened(safe(step.id, 60), condition), width, paint)]
        if others := shared[_fault(condition)][1:]:
            lines += hanging(f"{INDENT}  also in   ", ", ".join(others), width)
    if len(own) > CONDITIONS:
        lines += ["", f"{INDENT}… and {counted(len(own) - CONDITIONS, 'more condition')}"]
    return [*lines, *_findings(step, width, paint)]


def _stop(step: StepReport, width: int, paint: Paint) -> list[str]:
    """Return everything that is known of a stop: the command's own words, the conditions, the findings."""
    lines: list[str] = []
    if step.reason in ENDED_BADLY:
        said = [*command_lines(step.action, width, paint), *output_lines(step.action, 12, width, paint)]
        lines += ["", *said] if said else []
        if step.message and authored(step):
            lines += hanging(f"{INDENT}note  ", safe(step.message), width)
        phases = {Phase.PRE}
    else:
        phases = {Phase.PRE, Phase.POST}
        if step.reason in UNPROVEN and all(it.severity is Severity.NOTE for it in step.diagnoses):
            said = output_lines(step.action, 3, width, paint)
            lines += ["", *said] if said else []
    if step.changes:
        lines += ["", f"{INDENT}changed before it stopped:", *change_lines(step.changes, step)]
    lines += conditions_in_detail((it for it in _unmet(step.conditions) if it.phase in phases), width, paint)
    if step.broke is not None:
        lines += ["", f"{INDENT}of step {safe(step.broke.step)}:"]
        lines += conditions_in_detail(step.broke.conditions, width, paint)[1:]
    return lines + _findings(step, width, paint)


def _planned(step: StepReport, width: int, paint: Paint) -> list[str]:
    """Return what would run, what it would change, and how the conditions stand and will stand."""
    lines = command_lines(step.action, width, paint)
    if step.predicted and not tells_changes(step):
        lines += change_lines(step.predicted, step)
    lines += detail_lines(step.details, width, paint)
    lines += _outlooks(step, width, paint)
    if step.broke is not None:
        lines.append(f"{INDENT}of step {safe(step.broke.step)}:")
        for condition in step.broke.conditions:
            lines += broken_in_brief(condition, width, paint)
    return lines + _findings(step, width, paint)


def _outlooks(step: StepReport, width: int, paint: Paint) -> list[str]:
    """Return how a planned step's conditions stand and will stand; of its postconditions that hold all along, the last.

    A reason that was told once is not told again, and of many that hold a count says enough.
    """
    # Where nothing of the step is foretold, its own line says so.
    foretold = step.predicted is not None
    conditions = [it if foretold else replace(it, predicted=None) for it in step.conditions]
    quiet = [it for it in conditions if it.phase is not Phase.PRE and _holds_all_along(it)]
    lines: list[str] = []
    told = step.message or ""
    for condition in (*(it for it in conditions if it not in quiet), *(quiet if len(quiet) <= HELD else ())):
        again = condition.why is not None and condition.why in told
        lines += in_brief(replace(condition, why=AGAIN) if again else condition, width, paint)
        told = f"{told}\n{condition.why or ''}"
    if len(quiet) > HELD:
        mark, style = STATUS_MARKS[Status.HELD]
        lines.append(f"{INDENT}{paint(style, mark)} {len(quiet)} more conditions hold now")
    return lines


def _holds_all_along(condition: ConditionReport) -> bool:
    return condition.status is Status.HELD and condition.predicted in (None, Status.HELD)


def _findings(step: StepReport, width: int, paint: Paint) -> list[str]:
    """Return the findings of a step; of one in the words of the step's own line only what it adds."""
    lines: list[str] = []
    for diagnosis in step.diagnoses:
        if diagnosis.code is None and diagnosis.summary == step.message:
            lines += added_lines(diagnosis, width)
        else:
            lines += ["", *diagnosis_lines(diagnosis, width, paint)]
    return lines


def _unmet(conditions: Iterable[ConditionReport]) -> list[ConditionReport]:
    return [it for it in conditions if it.status is not Status.HELD]
