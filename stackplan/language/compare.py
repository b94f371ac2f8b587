"""Two playbooks, or two states of one, against each other: what differs, and above all what is proven less than before.

What is only written differently (the order of a mapping, quotes, comments, a variable in the place of its value) is no
difference. Nothing is asked of a node, and no secret is read.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from stackplan.language.compare_conditions import Elsewhere, compare_conditions, identity
from stackplan.language.compare_filling import Filling, essence, reached, shown
from stackplan.language.compare_steps import compare_steps
from stackplan.language.project import Disk, Files
from stackplan.language.variables import used_names
from stackplan.model.comparison import (
    Comparison,
    ConditionChange,
    Effect,
    FieldChange,
    Side,
    StepChange,
    Turn,
    VariableChange,
    Weakening,
)
from stackplan.model.outcome import Phase
from stackplan.model.playbook import Playbook, Rollout, SecretSource, Share, Variable

NODE = "preconditions"
_LOUD = (Effect.WEAKER, Effect.NOTE)


@dataclass(frozen=True)
class Version:
    """One of the two: a playbook as it was read, unrendered, or None where there is none yet, or no more."""

    side: Side
    playbook: Playbook | None
    files: Files = field(default_factory=Disk)


def compare(old: Version, new: Version) -> Comparison:
    """Return what differs between two versions, of which at least one has a playbook."""
    first = new.playbook or old.playbook
    assert first is not None
    before, after = _filled(old, first), _filled(new, first)
    elsewhere = Elsewhere(_stated(after))
    steps = compare_steps(before.steps, after.steps, elsewhere)
    preconditions = compare_conditions(Phase.PRE, before.preconditions, after.preconditions, elsewhere, NODE)
    settings = tuple(_settings(before, after)) if old.playbook and new.playbook else ()
    return Comparison(
        name=first.name,
        old=old.side,
        new=new.side,
        weakened=tuple(weakenings(settings, preconditions, steps)),
        settings=settings,
        preconditions=preconditions,
        steps=steps,
        variables=tuple(_variables(old.playbook or before, new.playbook or after)),
    )


def _filled(version: Version, other: Playbook) -> Playbook:
    found = version.playbook
    if found is not None:
        return Filling(found.variables, version.files).playbook(found)
    return Playbook(name=other.name, path=other.path, sha256="", nodes=other.nodes, steps=(), variables={})


def _stated(playbook: Playbook) -> dict[object, str]:
    """Return where each condition of a playbook stands: at a step, or before all of them."""
    found: dict[object, str] = {identity(it): NODE for it in playbook.preconditions}
    for step in playbook.steps:
        for it in step.postconditions:
            found.setdefault(identity(it), step.id)
    return found


def weakenings(
    settings: Iterable[FieldChange], preconditions: Iterable[ConditionChange], steps: Iterable[StepChange]
) -> Iterator[Weakening]:
    """Yield all that is proven less than before, and what a reviewer has to judge; in the order of the playbook."""
    yield from (_of_field(None, "the playbook", it) for it in settings if it.effect in _LOUD)
    for it in preconditions:
        yield from _of_condition(None, it)
    for step in steps:
        yield from (_of_field(step.id, step.kind, it) for it in step.fields if it.effect in _LOUD)
        for it in step.conditions:
            yield from _of_condition(step.id, it, gone=step.turn is Turn.REMOVED)


def _of_condition(step: str | None, change: ConditionChange, *, gone: bool = False) -> Iterator[Weakening]:
    word = "precondition" if change.phase is Phase.PRE else "postcondition"
    subject = change.after or change.before or change.kind
    if change.turn is Turn.CHANGED:
        yield from (_of_field(step, subject, it) for it in change.fields if it.effect in _LOUD)
    elif change.effect in _LOUD:
        with_step = " with its step" if gone else ""
        more = f": {change.why}" if change.effect is Effect.NOTE and change.why else ""
        what = f"{word} dropped{with_step}{more}"
        yield Weakening(effect=change.effect, step=step, subject=subject, what=what, before=change.before, at=change.at)


def _of_field(step: str | None, subject: str, change: FieldChange) -> Weakening:
    if change.after is None:
        what = f"`{change.path}: {change.before}` is no longer asked for"
    else:
        what = f"`{change.path}`: {change.why}" if change.why else f"`{change.path}` is another one"
    return Weakening(
        effect=change.effect,
        step=step,
        subject=subject,
        what=what,
        before=change.before,
        after=change.after,
        at=change.at,
    )


def _settings(old: Playbook, new: Playbook) -> Iterator[FieldChange]:
    if old.nodes != new.nodes:
        yield FieldChange(path="nodes", before=", ".join(old.nodes), after=", ".join(new.nodes))
    yield from _rollout(old.rollout, new.rollout)


def _rollout(old: Rollout, new: Rollout) -> Iterator[FieldChange]:
    if old.canary != new.canary:
        lost = new.canary is None
        effect = Effect.WEAKER if lost else Effect.STRONGER if old.canary is None else Effect.NOTE
        why = "the first wave takes all nodes of a batch" if lost else None
        yield FieldChange(
            path="rollout.canary", before=_share(old.canary), after=_share(new.canary), effect=effect, why=why
        )
    if old.batch != new.batch:
        why = "all nodes are one wave" if new.batch is None else "the size of a wave is another one"
        yield FieldChange(
            path="rollout.batch", before=_share(old.batch), after=_share(new.batch), effect=Effect.NOTE, why=why
        )
    if old.max_failures != new.max_failures:
        raised = new.max_failures > old.max_failures
        yield FieldChange(
            path="rollout.max_failures",
            before=str(old.max_failures),
            after=str(new.max_failures),
            effect=Effect.WEAKER if raised else Effect.STRONGER,
            why="raised: more nodes may fail before the rollout stops" if raised else None,
        )


def _share(share: Share | None) -> str | None:
    if share is None:
        return None
    return f"{share.percent:g}%" if share.count is None else str(share.count)


def _variables(old: Playbook, new: Playbook) -> Iterator[VariableChange]:
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
    alone = Playbook(name="", path="", sha256="", nodes=(), steps=(), variables={})
    places = [(NODE, replace(alone, preconditions=playbook.preconditions))]
    places += [(step.id, replace(alone, steps=(step,))) for step in playbook.steps]
    return tuple(place for place, part in places if name in _reached(used_names(part), playbook.variables))


def _reached(used: frozenset[str], variables: Mapping[str, Variable]) -> frozenset[str]:
    return used.union(*(reached(variables[name].value, variables) for name in used if name in variables))
