"""Variables of two playbooks against each other, and where a changed one may prove less without a text that differs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from stackplan.language.compare_elsewhere import NODE
from stackplan.language.compare_filling import Filling, essence, reached, shown
from stackplan.language.expression import condition as expression
from stackplan.language.variables import used_names
from stackplan.language.yielded import BadTemplate
from stackplan.model.comparison import Effect, StepChange, VariableChange, Weakening
from stackplan.model.condition import Condition
from stackplan.model.playbook import Playbook, SecretSource, Step, Variable

_ALONE = Playbook(name="", path="", sha256="", nodes=(), steps=(), variables={})


def compare_variables(old: Playbook, new: Playbook) -> Iterator[VariableChange]:
    """Yield the variables that differ, those of the old playbook first."""
    names = (*old.variables, *(name for name in new.variables if name not in old.variables))
    for name in names:
        before, after = old.variables.get(name), new.variables.get(name)
        if _same(before, after):
            continue
        found = after or before
        assert found is not None
        users = _users(name, new if after is not None else old)
        yield VariableChange(
            name=name, before=_variable_text(before), after=_variable_text(after), used_by=users, at=found.at
        )


def unseen(
    variables: Iterable[VariableChange],
    old: tuple[Filling, Playbook],
    new: tuple[Filling, Playbook],
    renamed: Iterable[StepChange],
) -> Iterator[Weakening]:
    """Yield what changed variables may make of conditions and of a `when` whose own text stayed as it was.

    Both playbooks are filled in: what still holds a template there is for a node to fill in.
    """
    changed = {it.name: it for it in variables}
    if not changed:
        return
    (before, old_playbook), (after, new_playbook) = old, new
    yield from _in_conditions(None, new_playbook.preconditions, changed, new_playbook)
    former = {it.id: it.was or it.id for it in renamed}
    olds = {str(step.id): step for step in old_playbook.steps}
    for step in new_playbook.steps:
        was = olds.get(former.get(step.id, step.id))
        if was is None:
            continue
        yield from _in_when(was, step, changed, before, after)
        yield from _in_conditions(step.id, (*step.preconditions, *step.postconditions), changed, new_playbook)


def _in_conditions(
    step: str | None, conditions: Iterable[Condition], changed: Mapping[str, VariableChange], playbook: Playbook
) -> Iterator[Weakening]:
    found = used_names(replace(_ALONE, preconditions=tuple(_bare(it) for it in conditions)))
    for name in sorted(_reached(found, playbook.variables) & {*changed}):
        yield _of_variable(changed[name], step, Effect.NOTE, "goes into a condition that only a node can fill in")


def _in_when(
    old: Step, new: Step, changed: Mapping[str, VariableChange], before: Filling, after: Filling
) -> Iterator[Weakening]:
    if new.when is None or old.when != new.when:
        return
    held, holds = before.holds(old.when, old.at), after.holds(new.when, new.at)
    names = _reached(_names(new.when), after.variables) & {*changed}
    if not names or (holds and held is not None) or (held is False and holds is not None):
        return
    effect = Effect.WEAKER if held and holds is False else Effect.NOTE
    why = "its `when` does not hold now" if effect is Effect.WEAKER else "its `when` may hold on fewer nodes"
    for name in sorted(names):
        yield _of_variable(changed[name], new.id, effect, f"{why}: where it does not, nothing of the step is proven")


def _names(when: str) -> frozenset[str]:
    try:
        return expression(when).names
    except BadTemplate:
        return frozenset()


def _of_variable(change: VariableChange, step: str | None, effect: Effect, what: str) -> Weakening:
    return Weakening(
        effect=effect,
        step=step,
        subject=f"the variable {change.name}",
        what=what,
        before=change.before,
        after=change.after,
        at=change.at,
    )


def _bare(condition: Condition) -> Condition:
    """Return what a condition states, without the words for people."""
    return replace(condition, name=None, message=None, operands=tuple(_bare(it) for it in condition.operands))


def _same(before: Variable | None, after: Variable | None) -> bool:
    if before is None or after is None:
        return False
    return _value_essence(before) == _value_essence(after)


def _value_essence(variable: Variable) -> object:
    value = variable.value
    if isinstance(value, SecretSource):
        return value.env, value.file, value.command
    return essence(value)


def _variable_text(variable: Variable | None) -> str | None:
    if variable is None:
        return None
    value = variable.value
    if not isinstance(value, SecretSource):
        return shown(value)
    where = f"the environment variable {value.env}" if value.env else f"the file {value.file}" if value.file else None
    return f"a secret from {where or f'the command {shown(value.command)}'}"


def _users(name: str, playbook: Playbook) -> tuple[str, ...]:
    """Return the steps whose texts a variable goes into, be it through other variables."""
    places = [(NODE, replace(_ALONE, preconditions=playbook.preconditions))]
    places += [(step.id, replace(_ALONE, steps=(step,))) for step in playbook.steps]
    return tuple(place for place, part in places if name in _reached(used_names(part), playbook.variables))


def _reached(used: frozenset[str], variables: Mapping[str, Variable]) -> frozenset[str]:
    return used.union(*(reached(variables[name].value, variables) for name in used if name in variables))
