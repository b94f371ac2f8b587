"""The kind `kubernetes_node`: whether a node of Kubernetes takes pods, and whether it still has some."""

import enum
from collections.abc import Mapping
from typing import ClassVar

from stackplan.conditions._answers import listed, mapping, unanswered
from stackplan.model.arguments import Arguments
from stackplan.model.condition import Recheck
from stackplan.model.facts import Facts, Plain, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.kubernetes_node import KubernetesTarget, is_drained, pod_names, standing
from stackplan.model.verdict import Verdict, held, not_held


class Wanted(enum.Enum):
    DRAINED = "drained"
    UNCORDONED = "uncordoned"
    SCHEDULABLE = "schedulable"
    UNDISTURBED = "undisturbed"


_TEXTS = {
    Wanted.DRAINED: "drained in Kubernetes, without pods",
    Wanted.UNCORDONED: "without a cordon of stackplan in Kubernetes",
    Wanted.SCHEDULABLE: "schedulable and ready in Kubernetes",
    Wanted.UNDISTURBED: "free of pods as long as stackplan drains it",
}
_EXPECTED = {
    Wanted.DRAINED: "cordoned, and no pod to evict",
    Wanted.UNCORDONED: "the cordon of stackplan is taken back",
    Wanted.SCHEDULABLE: "schedulable and ready",
    Wanted.UNDISTURBED: "cordoned, and no pod to evict",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesNode(ConditionKind):
    """How a node stands in Kubernetes: drained, uncordoned, schedulable, or undisturbed.

    `drained`: it is cordoned, whoever did that, and no pod is left on it but those of daemon sets, static ones and
    ones that have ended. `uncordoned`: no cordon that stackplan set is left on it. `schedulable`: not cordoned, and
    ready. `undisturbed`: as long as a cordon of stackplan is not taken back, it is in force and the node is empty. That
    holds where there is none, and comes along with the action `kubernetes_node: {state: drain}`, so that a node that
    somebody uncordons in the middle stops the run.

    Rests on the node and the pods as the API server has them, through the kubectl of the machine that is asked.
    `drained` is not asked again after later steps, since one of them takes the cordon back.
    """

    foreseeable: ClassVar[bool] = True
    steady: ClassVar[bool] = False

    wanted: Wanted
    target: KubernetesTarget

    @classmethod
    def read(cls, arguments: Arguments) -> "KubernetesNode":
        expected = ", ".join(it.value for it in Wanted)
        wanted = arguments.converted("state", Wanted, f"one of {expected}")
        kind = DrainedNode if wanted is Wanted.DRAINED else KubernetesNode
        return kind(wanted=wanted, target=KubernetesTarget.read(arguments))

    def describe(self) -> str:
        return f"{self.target.node or 'the node'} {_TEXTS[self.wanted]}"

    def queries(self) -> tuple[Query, ...]:
        return (self.target.query,)

    def evaluate(self, facts: Facts) -> Verdict:
        told = mapping(facts[self.target.query])
        if told is None:
            return unanswered(self.describe(), facts[self.target.query])
        text = f"{told['node']} {_TEXTS[self.wanted]}"
        evidence = f"spec.unschedulable={'true' if told['unschedulable'] else 'false'}"
        if self._is_so(told):
            return held(text, observed=standing(told), evidence=evidence)
        names = pod_names(told) if self.wanted in (Wanted.DRAINED, Wanted.UNDISTURBED) else ()
        observed = standing(told) + (f"; {listed(names)}" if names else "")
        return not_held(text, expected=_EXPECTED[self.wanted], observed=observed, evidence=evidence)

    def _is_so(self, told: Mapping[str, Plain]) -> bool:
        if self.wanted is Wanted.DRAINED or (self.wanted is Wanted.UNDISTURBED and told["mark"] is not None):
            return is_drained(told)
        if self.wanted is Wanted.SCHEDULABLE:
            return told["unschedulable"] is False and told["ready"] is True
        return self.wanted is Wanted.UNDISTURBED or told["mark"] is None


class DrainedNode(KubernetesNode):
    """A condition that a later step is there to end."""

    __slots__ = ()
    recheck: ClassVar[Recheck] = Recheck.NEVER


KIND = KubernetesNode
