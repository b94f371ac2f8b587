"""Draining a node in Slurm before its upgrade, and taking that drain back afterwards."""

import enum
from collections.abc import Mapping

from stackplan.actions._drain_failures import explain_slurm_failure
from stackplan.actions._target import told
from stackplan.model.arguments import Arguments, Path, Value
from stackplan.model.change import State, differences
from stackplan.model.condition import Condition
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.facts import Answer, Facts, Known, Plain, Query, Unknown
from stackplan.model.frozen import dataclass
from stackplan.model.job import Job, Task
from stackplan.model.kind import ActionKind, CannotAct, Evidence, Prediction
from stackplan.model.location import Location
from stackplan.model.slurm_node import bears_our_mark, occupants, read_slurm_node, slurm_query, slurm_state

REASON = "upgrade by stackplan"
DRAIN_TIMEOUT_S = 1200.0
RESUME_TIMEOUT_S = 60.0
_WORKING = ("IDLE", "MIXED", "ALLOCATED")
# Stands where only the drain itself can tell: its mark is made on the node.
_FORETOLD_MARK = "0"


class Goal(enum.Enum):
    DRAIN = "drain"
    RESUME = "resume"


class AfterTimeout(enum.Enum):
    TAKE_BACK = "take-back"
    STAY = "stay"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmNode(ActionKind):
    """Drains a node in Slurm and waits until it is empty; or takes back the drain that stackplan set.

    Before it drains, the state, the reason and its owner are written to disk on the node. The reason of the drain gets
    a mark, so that nobody else's is taken for it. A node that others drained keeps their drain and their reason: the
    action then only waits for its jobs, and the step that resumes finds nothing to do. A node that was down gets a
    drain on top, and is down with the same reason afterwards; that reason then has the owner who restored it.

    Jobs are never cancelled. When they outlast `timeout` the step fails and names them, and the drain is taken back
    (`on_timeout: take-back`), since nothing else was done to the node; so it is when the operator ends the step. A run
    that stops at a later step leaves the node drained. What is not foretold is how long jobs run.

    `resume` ends a drain that bears the mark, and nothing else: not one that somebody else set meanwhile. It has to run
    as the user who drained, since the record is that user's. Afterwards the node takes jobs, unless it was down before.
    """

    arguments: Arguments
    goal: Goal
    node: str | None
    reason: str
    timeout_s: float
    after_timeout: AfterTimeout

    @classmethod
    def read(cls, arguments: Arguments) -> "SlurmNode":
        goal = arguments.converted("state", Goal, "drain or resume")
        if goal is Goal.RESUME:
            for key in ("reason", "on_timeout"):
                if key in arguments:
                    raise arguments.invalid(key, f"`{key}` belongs to `state: drain`", remedy="remove it")
        reason = arguments.text("reason", REASON)
        if not reason.strip() or any(ord(character) < 32 for character in reason):
            raise arguments.invalid("reason", "`reason` is not one line of text", expected="what Slurm is to show")
        stated = "on_timeout" in arguments
        return cls(
            arguments=arguments,
            goal=goal,
            node=read_slurm_node(arguments),
            reason=reason.strip(),
            timeout_s=arguments.duration_s("timeout", DRAIN_TIMEOUT_S if goal is Goal.DRAIN else RESUME_TIMEOUT_S),
            after_timeout=arguments.converted("on_timeout", AfterTimeout, "take-back or stay")
            if stated
            else AfterTimeout.TAKE_BACK,
        )

    def describe(self) -> str:
        return f"{self.goal.value} {self.node or 'the node'} in Slurm"

    def queries(self) -> tuple[Query, ...]:
        return (self._query,)

    def job(self, facts: Facts) -> Job | CannotAct:
        answer = facts[self._query]
        if not isinstance(answer, Known):
            return CannotAct(f"it is not known how the node stands in Slurm: {answer.why}")
        about = told(answer)
        node = str(about["node"])
        if self.goal is Goal.RESUME and about["ours"] is None and bears_our_mark(about):
            return CannotAct(
                f"stackplan has drained {node}, and {about['user']} has no record of it",
                "Give the step that resumes the `user` and `become` of the step that drained. "
                f"Where the record is lost: `scontrol update NodeName={node} State=RESUME`.",
            )
        given: dict[str, Value] = {"node": node, "state": self.goal.value, "timeout_s": self.timeout_s}
        command = f"scontrol update NodeName={node} State={self.goal.value.upper()}"
        if self.goal is Goal.DRAIN:
            given.update(reason=self.reason, stay=self.after_timeout is AfterTimeout.STAY)
            command += f" Reason='{self.reason}'"
        return Job((Task(kind="slurm_node", arguments=given, display=command),))

    def state(self, facts: Facts) -> State:
        return slurm_state(told(facts[self._query]) or None)

    def predict(self, facts: Facts) -> Prediction | Unknown:
        answer = facts[self._query]
        if not isinstance(answer, Known):
            return Unknown("how the node stands in Slurm is not known")
        before = told(answer)
        after = self._drained(before) if self.goal is Goal.DRAIN else _resumed(before)
        changes = differences(slurm_state(before), slurm_state(after))
        if after == before:
            return Prediction(changes=(), answers={})
        moved = {key: value for key, value in after.items() if before[key] != value}
        answers: dict[Query, Answer] = {
            it: Known({**told(known), **moved})
            for it, known in facts.of_kind("slurm_node")
            if it.arguments == self._query.arguments and isinstance(known, Known)
        }
        waited = occupants(before) if self.goal is Goal.DRAIN else ()
        return Prediction(changes=changes, answers=answers, details=tuple(f"waits for {it}" for it in waited))

    def reach(self, facts: Facts) -> frozenset[Query] | None:
        return frozenset(it for it in facts.answers if it.kind == "slurm_node")

    def implied(self) -> tuple[Condition, ...]:
        values: dict[str, Value] = {"state": "undisturbed" if self.goal is Goal.DRAIN else "resumed"}
        if self.node is not None:
            values["node"] = self.node
        places: dict[Path, Location] = {(key,): self.arguments.place(key) for key in values}
        at = self.arguments.at
        return (Condition(kind="slurm_node", arguments=Arguments(values, at, places), at=at),)

    def diagnose(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        return explain_slurm_failure(evidence, told(evidence.after[self._query]))

    @property
    def _query(self) -> Query:
        return slurm_query(self.node)

    def _drained(self, before: Mapping[str, Plain]) -> dict[str, Plain]:
        """Return the node as it is once its jobs have ended."""
        base = "DOWN" if before["base"] == "DOWN" else "IDLE"
        flags = _flags(before, without=("COMPLETING", "PLANNED"), more=("DRAIN",))
        after: dict[str, Plain] = {
            **before,
            "base": base,
            "flags": [*flags],
            "state": "+".join([base, *flags]),
            "occupants": [],
        }
        if before["draining"]:
            return after
        kept: dict[str, Plain] = {key: before[key] for key in ("state", "base", "flags", "reason", "reason_user")}
        ours: dict[str, Plain] = {"mark": _FORETOLD_MARK, "reason": self.reason, "before": kept}
        reason = f"{self.reason} [stackplan {_FORETOLD_MARK}]"
        mine: dict[str, Plain] = {"ours": ours, "mark": _FORETOLD_MARK, "reason": reason, "reason_user": before["user"]}
        return {**after, **mine, "draining": True, "available": False}


def _resumed(before: Mapping[str, Plain]) -> dict[str, Plain]:
    """Return the node as it is once a drain of ours is gone; as it was where there is none."""
    ours = before["ours"]
    if not isinstance(ours, dict):
        return dict(before)
    if not bears_our_mark(before) or before["mark"] != ours["mark"]:
        return {**before, "ours": None}
    earlier = ours["before"]
    assert isinstance(earlier, dict)
    up = earlier["base"] in _WORKING
    base = str(before["base"]) if up and before["base"] in _WORKING else "IDLE" if up else str(earlier["base"])
    flags = _flags(before, without=("DRAIN",))
    return {
        **before,
        "base": base,
        "flags": [*flags],
        "state": "+".join([base, *flags]),
        "draining": False,
        "available": up and not flags,
        "reason": earlier["reason"],
        "reason_user": earlier["reason_user"],
        "mark": None,
        "ours": None,
    }


def _flags(told: Mapping[str, Plain], *, without: tuple[str, ...], more: tuple[str, ...] = ()) -> tuple[str, ...]:
    found = told["flags"]
    kept = {str(it) for it in found} if isinstance(found, list) else set()
    return tuple(sorted((kept - {*without}) | {*more}))


KIND = SlurmNode
