"""Draining a node of Kubernetes before its upgrade, and uncordoning it afterwards."""

import enum
from collections.abc import Mapping

from stackplan.actions._eviction_failures import explain_kubernetes_failure
from stackplan.actions._target import told
from stackplan.model.arguments import Arguments, Path, Value
from stackplan.model.change import State, differences
from stackplan.model.condition import Condition
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.facts import Answer, Facts, Known, Plain, Query, Unknown
from stackplan.model.frozen import dataclass
from stackplan.model.job import Job, Task
from stackplan.model.kind import ActionKind, CannotAct, Evidence, Prediction
from stackplan.model.kubernetes_node import KubernetesTarget, kubernetes_state, pod_names, pods
from stackplan.model.location import Location

DRAIN_TIMEOUT_S = 1200.0
UNCORDON_TIMEOUT_S = 60.0
_OF_DRAIN = ("grace", "on_timeout", "delete_emptydir_data", "force")
_NAMED = 5
# Stands where only the drain itself can tell: its mark is made on the node.
_FORETOLD_MARK = "stackplan"


class Goal(enum.Enum):
    DRAIN = "drain"
    UNCORDON = "uncordon"


class AfterTimeout(enum.Enum):
    TAKE_BACK = "take-back"
    STAY = "stay"


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesNode(ActionKind):
    """Cordons a node of Kubernetes and evicts its pods; or takes back the cordon that stackplan set.

    It runs `kubectl` on the node, with the rights of the kubeconfig there (`kubeconfig`, else KUBECONFIG in the step's
    `env`, else kubectl's own choice): they have to allow patching nodes and evicting pods, and a kubelet's own do not.
    Kubernetes does not keep who cordoned a node. stackplan's cordon bears the annotation `stackplan.dev/drained-by`,
    set in one request with it, which the API server refuses when somebody else was faster. A node that was cordoned
    before stays cordoned: its pods are evicted, and the step that uncordons finds nothing to do.

    Pods of daemon sets and static ones stay. Pods without a controller would not come back, and emptyDir volumes are
    gone with their pod: a node that has such pods is not touched unless `force` or `delete_emptydir_data` is true.
    Evictions keep to disruption budgets. When one does not allow them within `timeout`, the step fails, names the pods
    and the budget, and takes the cordon back (`on_timeout: take-back`); what was evicted by then runs elsewhere. A run
    that stops at a later step leaves the node cordoned.
    """

    arguments: Arguments
    goal: Goal
    target: KubernetesTarget
    timeout_s: float
    grace_s: float | None
    after_timeout: AfterTimeout
    delete_emptydir_data: bool
    force: bool

    @classmethod
    def read(cls, arguments: Arguments) -> "KubernetesNode":
        goal = arguments.converted("state", Goal, "drain or uncordon")
        for key in _OF_DRAIN if goal is Goal.UNCORDON else ():
            if key in arguments:
                raise arguments.invalid(key, f"`{key}` belongs to `state: drain`", remedy="remove it")
        stated = "on_timeout" in arguments
        return cls(
            arguments=arguments,
            goal=goal,
            target=KubernetesTarget.read(arguments),
            timeout_s=arguments.duration_s("timeout", DRAIN_TIMEOUT_S if goal is Goal.DRAIN else UNCORDON_TIMEOUT_S),
            grace_s=arguments.duration_s("grace", 0.0) if "grace" in arguments else None,
            after_timeout=arguments.converted("on_timeout", AfterTimeout, "take-back or stay")
            if stated
            else AfterTimeout.TAKE_BACK,
            delete_emptydir_data=arguments.flag("delete_emptydir_data", default=False),
            force=arguments.flag("force", default=False),
        )

    def describe(self) -> str:
        return f"{self.goal.value} {self.target.node or 'the node'} in Kubernetes"

    def queries(self) -> tuple[Query, ...]:
        return (self.target.query,)

    def job(self, facts: Facts) -> Job | CannotAct:
        answer = facts[self.target.query]
        if not isinstance(answer, Known):
            return CannotAct(f"it is not known how the node stands in Kubernetes: {answer.why}")
        about = told(answer)
        if self.goal is Goal.DRAIN and (obstacle := self._obstacle(about)) is not None:
            return obstacle
        node = str(about["node"])
        given: dict[str, Value] = {**self.target.values, "node": node}
        given.update(state=self.goal.value, timeout_s=self.timeout_s)
        command = f"kubectl {self.goal.value} {node}"
        if self.goal is Goal.DRAIN:
            command += f" --ignore-daemonsets --timeout={self.timeout_s:g}s"
            given.update(
                grace_s=self.grace_s,
                stay=self.after_timeout is AfterTimeout.STAY,
                delete_emptydir_data=self.delete_emptydir_data,
                force=self.force,
            )
        return Job((Task(kind="kubernetes_node", arguments=given, display=command),))

    def state(self, facts: Facts) -> State:
        return kubernetes_state(told(facts[self.target.query]) or None)

    def predict(self, facts: Facts) -> Prediction | Unknown:
        answer = facts[self.target.query]
        if not isinstance(answer, Known):
            return Unknown("how the node stands in Kubernetes is not known")
        before = told(answer)
        after = _drained(before) if self.goal is Goal.DRAIN else _uncordoned(before)
        if after == before:
            return Prediction(changes=(), answers={})
        query = self.target.query
        answers: dict[Query, Answer] = {
            it: Known(after)
            for it, known in facts.of_kind(query.kind)
            if it.arguments == query.arguments and isinstance(known, Known)
        }
        evicted = pod_names(before) if self.goal is Goal.DRAIN else ()
        return Prediction(
            changes=differences(kubernetes_state(before), kubernetes_state(after)),
            answers=answers,
            details=tuple(f"evicts {it}" for it in evicted),
        )

    def reach(self, facts: Facts) -> frozenset[Query] | None:
        return frozenset(it for it in facts.answers if it.kind == "kubernetes_node")

    def implied(self) -> tuple[Condition, ...]:
        state = "undisturbed" if self.goal is Goal.DRAIN else "uncordoned"
        values: dict[str, Value] = {"state": state, **self.target.values}
        places: dict[Path, Location] = {(key,): self.arguments.place(key) for key in values}
        at = self.arguments.at
        return (Condition(kind="kubernetes_node", arguments=Arguments(values, at, places), at=at),)

    def diagnose(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        return explain_kubernetes_failure(evidence, told(evidence.after[self.target.query]))

    def _obstacle(self, about: Mapping[str, Plain]) -> CannotAct | None:
        """Return what kubectl would refuse: pods that are lost, or lose data, with their eviction."""
        loose = [str(it["name"]) for it in pods(about) if it["owner"] is None]
        if loose and not self.force:
            return CannotAct(
                f"pods on {about['node']} have no controller that starts them anew: {_some(loose)}",
                "Delete them, or write `force: true` to have them deleted for good.",
            )
        losing = [str(it["name"]) for it in pods(about) if it["empty_dir"]]
        if losing and not self.delete_emptydir_data:
            return CannotAct(
                f"pods on {about['node']} keep data in emptyDir volumes, which are gone with them: {_some(losing)}",
                "Write `delete_emptydir_data: true` if that data may go.",
            )
        return None


def _some(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _drained(before: Mapping[str, Plain]) -> dict[str, Plain]:
    mark = before["mark"] if before["unschedulable"] else _FORETOLD_MARK
    return {**before, "unschedulable": True, "mark": mark, "pods": []}


def _uncordoned(before: Mapping[str, Plain]) -> dict[str, Plain]:
    return dict(before) if before["mark"] is None else {**before, "unschedulable": False, "mark": None}


KIND = KubernetesNode
