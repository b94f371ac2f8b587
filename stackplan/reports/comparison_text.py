"""What a change to a playbook means, as text for people: what got weaker first and loud, then all the rest; pure."""

from collections.abc import Iterator
from difflib import unified_diff

from stackplan.model.comparison import (
    CommandChange,
    Comparison,
    ConditionChange,
    Effect,
    FieldChange,
    StepChange,
    Turn,
)
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location
from stackplan.reports import comparison_wording as words
from stackplan.reports.count import counted, first_of
from stackplan.reports.layout import beside, hanging, usable
from stackplan.reports.node_text import names_text
from stackplan.reports.paint import Paint, Style
from stackplan.reports.safe import safe

COMMAND_LINES = 60
COLUMN = 60
_STYLES = {
    Effect.WEAKER: Style.BAD,
    Effect.NOTE: Style.UNSURE,
    Effect.STRONGER: Style.GOOD,
    Effect.OTHER: Style.CHANGE,
}
_TURN_STYLES = {Turn.ADDED: Style.GOOD, Turn.REMOVED: Style.BAD, Turn.CHANGED: Style.CHANGE}
_Sign = tuple[str, Style]


@dataclass(frozen=True, slots=True)
class _Sheet:
    """What lines are laid out for."""

    width: int
    paint: Paint


def render(comparison: Comparison, *, width: int, colour: bool) -> str:
    """Return the comparison as text that ends in a line break."""
    sheet = _Sheet(usable(width), Paint(colour))
    lines = [sheet.paint(Style.STRONG, f"{safe(comparison.name, 120)}   {words.sides(comparison)}"), ""]
    if presence := words.presence(comparison):
        lines[1:] = [*hanging("", presence, sheet.width), ""]
    for section in (
        _weakened(comparison, sheet),
        _settings(comparison, sheet),
        _steps(comparison, sheet),
        _variables(comparison, sheet),
        _nodes(comparison, sheet),
    ):
        found = [*section]
        lines += [*found, ""] if found else []
    lines += hanging("", words.counts(comparison), sheet.width)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _weakened(comparison: Comparison, sheet: _Sheet) -> Iterator[str]:
    if not comparison.weakened:
        return
    yield sheet.paint(Style.BAD, f"{words.heading(comparison).upper()}   {words.title(comparison)}")
    for it in words.surest_first(comparison):
        step = f"{safe(it.step, 60)}   " if it.step is not None else ""
        yield from _marked(_of_effect(it.effect), 2, f"{step}{safe(it.subject, 200)}", it.at, sheet)
        yield from hanging("      ", words.weakening(it), sheet.width)


def _settings(comparison: Comparison, sheet: _Sheet) -> Iterator[str]:
    if not comparison.settings and not comparison.preconditions:
        return
    yield sheet.paint(Style.STRONG, "The playbook")
    for it in comparison.settings:
        yield from _field(it, 2, sheet)
    for condition in comparison.preconditions:
        yield from _condition(condition, 2, sheet)


def _steps(comparison: Comparison, sheet: _Sheet) -> Iterator[str]:
    if not comparison.steps:
        return
    yield sheet.paint(Style.STRONG, "Steps")
    for it in comparison.steps:
        text = f"{safe(it.id, 60)}   {safe(it.kind, 60)}   {words.step_words(it)}"
        yield from _marked(_of_turn(it.turn), 2, text, it.at, sheet)
        yield from _step(it, sheet)


def _step(it: StepChange, sheet: _Sheet) -> Iterator[str]:
    for field in it.fields:
        # What a script or a long text was is told by the difference of the commands.
        if "\n" not in (field.before or "") + (field.after or ""):
            yield from _field(field, 6, sheet)
    if it.command is not None:
        for line in command_lines(it.command):
            style = {"+": Style.GOOD, "-": Style.BAD}.get(line[:1], Style.FAINT)
            yield from (sheet.paint(style, part) for part in hanging("      ", line, sheet.width))
    for condition in it.conditions:
        yield from _condition(condition, 6, sheet)


def command_lines(command: CommandChange) -> list[str]:
    """Return the command before and after as the lines of a unified diff, without its head; every line is safe."""
    before, after = _lines(command.before), _lines(command.after)
    found = [f"{line[:1]} {line[1:]}" for line in list(unified_diff(before, after, lineterm="", n=2))[2:]]
    kept = [line for line in found if not line.startswith("@ @")] if len(found) <= COMMAND_LINES else found
    shown, left = first_of(kept, COMMAND_LINES)
    return [*shown, *([f"… {counted(left, 'more line')}"] if left else [])]


def _lines(text: str | None) -> list[str]:
    return [] if text is None else [safe(line, 400) for line in text.rstrip("\n").split("\n")]


def _field(it: FieldChange, margin: int, sheet: _Sheet) -> Iterator[str]:
    yield from _marked(_of_effect(it.effect), margin, words.field_words(it), None, sheet)


def _condition(it: ConditionChange, margin: int, sheet: _Sheet) -> Iterator[str]:
    text = words.condition_words(it)
    yield from _marked(_of_turn(it.turn), margin, text, it.at, sheet)
    for field in it.fields:
        yield from _field(field, margin + 4, sheet)


def _variables(comparison: Comparison, sheet: _Sheet) -> Iterator[str]:
    if not comparison.variables:
        return
    yield sheet.paint(Style.STRONG, "Variables")
    for it in comparison.variables:
        turn = Turn.ADDED if it.before is None else Turn.REMOVED if it.after is None else Turn.CHANGED
        yield from _marked(_of_turn(turn), 2, words.variable_words(it), None, sheet)


def _nodes(comparison: Comparison, sheet: _Sheet) -> Iterator[str]:
    if comparison.nodes is None:
        return
    yield sheet.paint(Style.STRONG, "Recorded nodes")
    groups = words.same_outlooks(comparison.nodes)
    if not groups:
        yield "  the plan is the same on every one"
    for names, node in groups:
        count = f" ({len(names)} nodes)" if len(names) > 1 else ""
        outcome = f"{words.outcome_word(node.before)} → {words.outcome_word(node.after)}"
        yield from hanging("  ", f"{names_text(names)}{count}   {outcome}", sheet.width)
        for it in node.steps:
            yield from hanging("      ", words.outlook_words(it), sheet.width)
            if sentence := words.outlook_sentence(it):
                yield from hanging("        ", sentence, sheet.width)


def _of_turn(turn: Turn) -> _Sign:
    return words.TURN_MARKS[turn], _TURN_STYLES[turn]


def _of_effect(effect: Effect) -> _Sign:
    return words.EFFECT_MARKS[effect], _STYLES[effect]


def _marked(sign: _Sign, margin: int, text: str, at: Location | None, sheet: _Sheet) -> Iterator[str]:
    mark, style = sign
    lines = beside(f"{' ' * margin}{mark} {text}", safe(str(at)) if at else None, COLUMN, sheet.width)
    lines[0] = lines[0].replace(mark, sheet.paint(style, mark), 1)
    yield from lines
