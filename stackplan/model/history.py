"""What a node itself remembers of the runs that were made on it."""

from collections.abc import Mapping
from dataclasses import field

from stackplan.model.frozen import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """One run on one node, for people; nothing decides on it. `ended` None: the node was never told that it left it.

    `going_on`: it held the node when that was asked. `host` is that of the controller, `node` the name under which the
    run had the machine. `taken` counts how often it took the node: more than once when it was resumed. `steps` are the
    outcomes of those that were come to.
    """

    run: str
    node: str
    playbook: str
    path: str
    sha256: str
    revision: str | None
    operator: str
    host: str
    began: str
    command: str = "apply"
    taken: int = 1
    going_on: bool = False
    ended: str | None = None
    outcome: str | None = None
    stopped_at: str | None = None
    reason: str | None = None
    steps: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeHistory:
    """What a node remembers, the latest run first. `unreadable` counts entries that could not be read.

    `why_not` says why there is nothing to tell, None where there is.
    """

    node: str
    runs: tuple[PastRun, ...] = ()
    unreadable: int = 0
    why_not: str | None = None
    remedy: str | None = None
