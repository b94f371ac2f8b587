"""The kind `slurm_node`: whether jobs are on a node of Slurm, and whether new ones may start there."""

import enum
from collections.abc import Mapping
from typing import ClassVar

from stackplan.conditions._answers import listed, mapping, unanswered
from stackplan.model.arguments import Arguments
from stackplan.model.condition import Recheck
from stackplan.model.facts import Facts, Plain, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.slurm_node import (
    bears_our_mark,
    is_drained,
    occupants,
    read_slurm_node,
    slurm_query,
    standing,
)
from stackplan.model.verdict import Verdict, held, not_held, unknown


class Wanted(enum.Enum):
    DRAINED = "drained"
    RESUMED = "resumed"
    AVAILABLE = "available"
    UNDISTURBED = "undisturbed"


_TEXTS = {
    Wanted.DRAINED: "drained in Slurm, without jobs",
    Wanted.RESUMED: "without a drain of stackplan in Slurm",
    Wanted.AVAILABLE: "in service in Slurm",
    Wanted.UNDISTURBED: "free of jobs as long as stackplan drains it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmNode(ConditionKind):
    """How a node stands in Slurm: drained, resumed, available, or undisturbed.

    `drained`: no job is on it and none is put on it, whoever drained it. `resumed`: no drain that stackplan set is left
    on it; what others drained may well be. `available`: new jobs can start. `undisturbed`: as long as a drain of
    stackplan is not taken back, it is in force and the node is empty. That holds where there is none, and comes along
    with the action `slurm_node: {state: drain}`, so that a node that somebody resumes in the middle stops the run.

    Rests on the state that slurmctld has, on squeue, and on the job steps that live on the machine, whatever slurmctld
    believes. `drained` is not asked again after later steps, since one of them takes the drain back.
    """

    foreseeable: ClassVar[bool] = True
    steady: ClassVar[bool] = False

    wanted: Wanted
    node: str | None

    @classmethod
    def read(cls, arguments: Arguments) -> "SlurmNode":
        expected = ", ".join(it.value for it in Wanted)
        wanted = arguments.converted("state", Wanted, f"one of {expected}")
        kind = DrainedNode if wanted is Wanted.DRAINED else SlurmNode
        return kind(wanted=wanted, node=read_slurm_node(arguments))

    def describe(self) -> str:
        return f"{self.node or 'the node'} {_TEXTS[self.wanted]}"

    def queries(self) -> tuple[Query, ...]:
        return (slurm_query(self.node),)

    def evaluate(self, facts: Facts) -> Verdict:
        told = mapping(facts[slurm_query(self.node)])
        if told is None:
            return unanswered(self.describe(), facts[slurm_query(self.node)])
        text = f"{told['node']} {_TEXTS[self.wanted]}"
        if self.wanted is Wanted.DRAINED or (self.wanted is Wanted.UNDISTURBED and _is_kept(told)):
            return self._emptied(text, told)
        evidence = f"State={told['state']}"
        if self.wanted is Wanted.AVAILABLE:
            return self._plain(text, told, so=told["available"] is True, expected="in service", evidence=evidence)
        so = self.wanted is Wanted.UNDISTURBED or not _is_kept(told)
        if not so and not bears_our_mark(told):
            observed = f"{standing(told)}; the record of a drain is still open on the node"
            return not_held(text, expected="no drain that is to be taken back", observed=observed, evidence=evidence)
        return self._plain(text, told, so=so, expected="the drain of stackplan is taken back", evidence=evidence)

    def _emptied(self, text: str, told: Mapping[str, Plain]) -> Verdict:
        evidence, expected = f"State={told['state']}", "drained, and no job on it"
        if told["base"] in ("UNKNOWN", "ERROR", "FUTURE"):
            return unknown(text, why=f"Slurm does not know how it is: {told['state']}", expected=expected)
        return self._plain(text, told, so=is_drained(told), expected=expected, evidence=evidence)

    def _plain(self, text: str, told: Mapping[str, Plain], *, so: bool, expected: str, evidence: str) -> Verdict:
        jobs = occupants(told)
        observed = standing(told) + (f"; {listed(jobs)}" if jobs and not so else "")
        if so:
            return held(text, observed=observed, evidence=evidence)
        return not_held(text, expected=expected, observed=observed, evidence=evidence)


class DrainedNode(SlurmNode):
    """A condition that a later step is there to end."""

    __slots__ = ()
    recheck: ClassVar[Recheck] = Recheck.NEVER


def _is_kept(told: Mapping[str, Plain]) -> bool:
    return told["ours"] is not None or bears_our_mark(told)


KIND = SlurmNode
