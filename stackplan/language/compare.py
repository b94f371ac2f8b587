"""Two playbooks, or two states of one, against each other: what differs, and above all what is proven less than before.

What is only written differently (the order of a mapping, quotes, comments, a variable in the place of its value) is no
difference. Nothing is asked of a node, and no secret is read.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from stackplan.language.compare_conditions import compare_conditions
from stackplan.language.compare_elsewhere import BEFORE_ALL, Elsewhere
from stackplan.language.compare_filling import Filling
from stackplan.language.compare_steps import compare_steps
from stackplan.language.compare_variables import compare_variables, unseen
from stackplan.language.pattern import ALL, parts
from stackplan.language.project import Disk, Files
from stackplan.model.comparison import (
    Comparison,
    ConditionChange,
    Effect,
    FieldChange,
    Side,
    StepChange,
    Turn,
    Weakening,
)
from stackplan.model.frozen import dataclass
from stackplan.model.outcome import Phase
from stackplan.model.playbook import Playbook, Rollout, Share

EMPTY = '""'
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
    (old_filling, before), (new_filling, after) = _filled(old, first), _filled(new, first)
    elsewhere = Elsewhere(after)
    steps = compare_steps(before.steps, after.steps, elsewhere)
    preconditions = compare_conditions(Phase.PRE, before.preconditions, after.preconditions, elsewhere, BEFORE_ALL)
    settings = tuple(_settings(before, after)) if old.playbook and new.playbook else ()
    variables = tuple(compare_variables(old.playbook or before, new.playbook or after))
    hidden = unseen(variables, (old_filling, before), (new_filling, after), steps)
    return Comparison(
        name=first.name,
        old=old.side,
        new=new.side,
        weakened=(*weakenings(settings, preconditions, steps), *hidden),
        settings=settings,
        preconditions=preconditions,
        steps=steps,
        variables=variables,
    )


def _filled(version: Version, other: Playbook) -> tuple[Filling, Playbook]:
    found = version.playbook
    if found is not None:
        filling = Filling(found.variables, version.files)
        return filling, filling.playbook(found)
    nothing = Playbook(name=other.name, path=other.path, sha256="", nodes=other.nodes, steps=(), variables={})
    return Filling({}, version.files), nothing


def weakenings(
    settings: Iterable[FieldChange], preconditions: Iterable[ConditionChange], steps: Iterable[StepChange]
) -> Iterator[Weakening]:
    """Yield all that is proven less than before, and what a reviewer has to judge; in the order of the playbook."""
    yield from (_of_field(None, "the playbook", it) for it in settings if it.effect in _LOUD)
    for it in preconditions:
        yield from _of_condition(None, it)
    for step in steps:
        if step.moved is not None and step.moved.effect in _LOUD:
            yield Weakening(
                effect=step.moved.effect,
                step=step.id,
                subject="the order of the steps",
                what=step.moved.why or "moved",
                at=step.at,
            )
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
        more = f": {change.why}" if change.why not in (None, "dropped") else ""
        what = f"{word} dropped{with_step}{more}"
        yield Weakening(effect=change.effect, step=step, subject=subject, what=what, before=change.before, at=change.at)


def _of_field(step: str | None, subject: str, change: FieldChange) -> Weakening:
    if change.after is None:
        what = f"`{change.path}: {change.before or EMPTY}` is no longer asked for"
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
    effect, why = _of_nodes(parts(old.nodes), parts(new.nodes))
    if effect is not None:
        at = next(iter(new.places), None)
        yield FieldChange(
            path="nodes", before=", ".join(old.nodes), after=", ".join(new.nodes), effect=effect, why=why, at=at
        )
    yield from _rollout(old.rollout, new.rollout)


def _of_nodes(old: Sequence[str], new: Sequence[str]) -> tuple[Effect | None, str | None]:
    """Return what it does that these patterns name the nodes now; no effect where they are the same."""
    (named, taken), (now_named, now_taken) = _named(old), _named(new)
    if (named, taken) == (now_named, now_taken):
        return None, None
    # `all` takes every name in.
    lost = () if ALL in now_named else named - now_named
    won = () if ALL in named else now_named - named
    if not lost and not now_taken - taken:
        return Effect.STRONGER, None
    if won or taken - now_taken:
        return Effect.NOTE, "of nodes that are no longer among them nothing is proven"
    return Effect.WEAKER, "fewer nodes: of those left out nothing is proven"


def _named(patterns: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return what patterns name, and what they take away; where they only take away, it is from all."""
    taken = frozenset(it.removeprefix("!").strip() for it in patterns if it.startswith("!"))
    named = frozenset(it for it in patterns if not it.startswith("!"))
    return named or frozenset({ALL}), taken


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
