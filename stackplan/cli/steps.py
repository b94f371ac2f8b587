"""`--step` and `--from`: a playbook narrowed to some of its steps; pure."""

from dataclasses import replace

from stackplan.language.nearest import did_you_mean
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.playbook import Playbook, Step


def narrowed(playbook: Playbook, only: tuple[str, ...], first: str | None) -> Playbook:
    """Return the playbook with the steps in `only`, or with `first` and those after it; all when neither is given.

    The steps keep the playbook's order. Raise Invalid for an id that is not there, and where both are given.
    """
    if only and first is not None:
        summary = "`--step` and `--from` cannot be used together"
        raise Invalid([Diagnosis(summary=summary, remedy="give one of them")])
    ids = tuple(str(step.id) for step in playbook.steps)
    wanted = only if first is None else (first,)
    if missing := [name for name in wanted if name not in ids]:
        raise Invalid([_no_step(name, ids, playbook.path) for name in missing])
    return replace(playbook, steps=_chosen(playbook.steps, ids, only, first))


def _chosen(
    steps: tuple[Step, ...], ids: tuple[str, ...], only: tuple[str, ...], first: str | None
) -> tuple[Step, ...]:
    if first is not None:
        return steps[ids.index(first) :]
    return tuple(step for step in steps if step.id in only) if only else steps


def _no_step(name: str, ids: tuple[str, ...], path: str) -> Diagnosis:
    return Diagnosis(
        summary=f"there is no step `{name}` in {path}",
        expected=f"one of {', '.join(ids)}",
        remedy=did_you_mean(name, ids),
    )
