"""A node as Kubernetes sees it, as the query `kubernetes_node` answers
(its shape: `stackplan/node/queries/kubernetes_node.py`).
"""

from collections.abc import Mapping

from stackplan.model.arguments import Arguments, Value
from stackplan.model.change import Held, State
from stackplan.model.facts import Plain, Query
from stackplan.model.frozen import dataclass
from stackplan.model.regular import regular

_NAME = regular(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesTarget:
    """Which node, and how kubectl reaches its cluster; None is left to the machine and to kubectl."""

    node: str | None
    kubeconfig: str | None
    context: str | None

    @classmethod
    def read(cls, arguments: Arguments) -> "KubernetesTarget":
        """Return what the arguments, or KUBECONFIG in the step's `env`, name. Raise Invalid."""
        node = arguments.optional_text("node")
        if node is not None and not _NAME.fullmatch(node):
            raise arguments.invalid(
                "node", "`node` is not a node's name in Kubernetes", expected="a name such as gpu-01"
            )
        configured = arguments.step_environment.get("KUBECONFIG")
        kubeconfig = arguments.optional_text("kubeconfig") or (configured if isinstance(configured, str) else None)
        return cls(node=node, kubeconfig=kubeconfig, context=arguments.optional_text("context"))

    @property
    def values(self) -> dict[str, Value]:
        """What is named, by the names of the arguments."""
        stated = {"node": self.node, "kubeconfig": self.kubeconfig, "context": self.context}
        return {key: value for key, value in stated.items() if value is not None}

    @property
    def query(self) -> Query:
        return Query("kubernetes_node", self.values)


def pods(told: Mapping[str, Plain]) -> tuple[Mapping[str, Plain], ...]:
    """Return the pods that a drain has to evict."""
    found = told["pods"]
    return tuple(it for it in found if isinstance(it, dict)) if isinstance(found, list) else ()


def pod_names(told: Mapping[str, Plain]) -> tuple[str, ...]:
    return tuple(f"{it['name']}{', ending' if it['ending'] else ''}" for it in pods(told))


def is_drained(told: Mapping[str, Plain]) -> bool:
    """Return whether nothing is scheduled there and nothing is left to be evicted."""
    return told["unschedulable"] is True and not pods(told)


def standing(told: Mapping[str, Plain]) -> str:
    """Return in words how it stands: `drained (stackplan)`. Pods come and go and are not in it but for that."""
    if not told["unschedulable"]:
        return "schedulable" if told["ready"] else "not ready"
    whose = "stackplan" if told["mark"] else "cordoned by somebody else"
    return f"{'drained' if is_drained(told) else 'cordoned'} ({whose})"


def kubernetes_state(told: Mapping[str, Plain] | None) -> State:
    """Return the state ("kubernetes", NODE) of an answer."""
    return {} if told is None else {("kubernetes", str(told["node"])): Held(standing(told))}
