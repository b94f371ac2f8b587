"""What differs between two states of a node."""

from collections.abc import Mapping
from dataclasses import field
from typing import TypeAlias

from stackplan.model.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Held:
    """What stands under one name: `text` for people, `fingerprint` to tell apart what reads alike (a reinstall).

    `kept` is what a file keeps in place of a fingerprint that would give a secret away.
    """

    text: str
    fingerprint: str = ""
    kept: str | None = field(default=None, compare=False)


State: TypeAlias = Mapping[tuple[str, str], Held]
"""By (kind, name), for instance ("package", "torch"); a name that is absent is not in the mapping."""


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """One difference; `before` None means created, `after` None removed, both equal reinstalled or rewritten."""

    kind: str
    name: str
    before: str | None
    after: str | None


def differences(before: State, after: State) -> tuple[Change, ...]:
    """Return what differs, sorted by kind and name; empty when the two states are the same."""
    if before is after:
        return ()
    gone = [key for key in before if key not in after]
    other = [key for key, new in after.items() if (old := before.get(key)) is not new and old != new]
    return tuple(
        Change(kind, name, old.text if old else None, new.text if new else None)
        for kind, name in sorted((*gone, *other))
        for old, new in [(before.get((kind, name)), after.get((kind, name)))]
    )
