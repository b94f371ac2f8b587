"""In which order nodes are taken. Pure; imports model only."""

from collections.abc import Sequence
from typing import TypeVar

from stackplan.model.playbook import Rollout

T = TypeVar("T")


def waves(targets: Sequence[T], rollout: Rollout) -> tuple[tuple[T, ...], ...]:
    """Return the targets in waves: first the canary, then batches; percentages are of all targets.

    Without a canary the batches begin at once; without a batch all that are left are one wave.
    """
    total = len(targets)
    left = tuple(targets)
    found: list[tuple[T, ...]] = []
    if rollout.canary is not None:
        size = rollout.canary.of(total)
        found.append(left[:size])
        left = left[size:]
    size = total if rollout.batch is None else rollout.batch.of(total)
    while left:
        found.append(left[:size])
        left = left[size:]
    return tuple(wave for wave in found if wave)
