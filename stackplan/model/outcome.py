"""How steps, nodes and runs end: the words of the JSON report."""

import enum


class StepOutcome(enum.Enum):
    SATISFIED = "satisfied"
    CHANGED = "changed"
    FAILED = "failed"
    SKIPPED = "skipped"
    NOT_REACHED = "not-reached"
    ROLLED_BACK = "rolled-back"
    WOULD_CHANGE = "would-change"
    WOULD_RUN = "would-run"
    WOULD_FAIL = "would-fail"
    UNKNOWN = "unknown"
    HELD = "held"
    NOT_HELD = "not-held"


class Reason(enum.Enum):
    PRECONDITION = "precondition"
    ACTION = "action"
    TIMEOUT = "timeout"
    NO_OP = "no-op"
    POSTCONDITION = "postcondition"
    REGRESSION = "regression"
    LOST = "lost"
    INTERRUPTED = "interrupted"
    BUG = "bug"
    UNRECORDED = "unrecorded"


class NodeOutcome(enum.Enum):
    OK = "ok"
    PENDING = "pending"
    FAILED = "failed"
    UNREACHABLE = "unreachable"
    LOST = "lost"
    LOCKED = "locked"
    STALE = "stale"
    SKIPPED = "skipped"
    INTERRUPTED = "interrupted"


class Phase(enum.Enum):
    """Where a condition stands: before a step, after it, before a whole node, or implied by the action's kind."""

    PRE = "pre"
    POST = "post"
