"""What is told of a run in a line of a list."""

import enum

from stackplan.model.frozen import dataclass
from stackplan.model.outcome import NodeOutcome


class RunState(enum.Enum):
    """`cut-off`: its controller ended without a word, so that it can be resumed, or a rollback be made again."""

    ENDED = "ended"
    RUNNING = "running"
    CUT_OFF = "cut-off"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """What is told of a run in a line. All but `run` and `state` may be missing of one that cannot be read; `why` then
    says why. `of` is the run that a rollback takes back. `stopped_at` are the steps at which nodes stopped, as far as
    that is known without reading everything. `also_taken_back` are the later runs of which a rollback took something
    back. `rolled_back_by` is the rollback that put back what the run wrote, `rolled_back_in_part` whether on some of
    its nodes only, or merely what an earlier run had written to as well.
    """

    run: str
    state: RunState
    command: str | None = None
    started: str | None = None
    ended: str | None = None
    playbook: str | None = None
    path: str | None = None
    revision: str | None = None
    nodes: tuple[str, ...] = ()
    outcome: NodeOutcome | None = None
    stopped_at: tuple[str, ...] = ()
    operator: str | None = None
    host: str | None = None
    why: str | None = None
    of: str | None = None
    also_taken_back: tuple[str, ...] = ()
    rolled_back_by: str | None = None
    rolled_back_in_part: bool = False
