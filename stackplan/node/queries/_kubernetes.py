"""How Kubernetes sees a node, from kubectl's JSON: whether it is cordoned and by whom, and the pods to be evicted.

Kubernetes does not keep who cordoned a node. stackplan's cordons bear an annotation, set in the same request, so that a
cordon without it is somebody else's. Shared by the query and the task.
"""

from __future__ import annotations

import json
import os
from typing import Any

from stackplan.node.context import CannotTell, Context, ProbeFailed

ANNOTATION = "stackplan.dev/drained-by"
TIMEOUT_S = 40.0
_REQUEST_TIMEOUT = "--request-timeout=15s"
_LIMIT = 64 * 1024 * 1024
_HOSTNAME = "kubernetes.io/hostname"
_MIRROR = "kubernetes.io/config.mirror"


class Cluster:
    """A cluster as kubectl reaches it: `arguments` may name a `kubeconfig` and a `context` of it."""

    def __init__(self, context: Context, arguments: dict[str, Any]) -> None:
        self._context = context
        self._options = [_REQUEST_TIMEOUT]
        if arguments.get("kubeconfig"):
            self._options.append(f"--kubeconfig={context.expand(str(arguments['kubeconfig']))}")
        if arguments.get("context"):
            self._options.append(f"--context={arguments['context']}")

    def argv(self, *words: str) -> list[str]:
        return ["kubectl", *self._options, *words]

    def items(self, *words: str) -> list[dict[str, Any]]:
        """Return the items of a list that `kubectl get` gives as JSON. Raise CannotTell, ProbeFailed."""
        ran = self._context.run(self.argv("get", *words, "--output=json"), timeout_s=TIMEOUT_S, limit=_LIMIT)
        said = ran.error_text().strip()
        if ran.exit_code != 0:
            last = said.splitlines()[-1] if said else f"exit status {ran.exit_code}"
            raise ProbeFailed(f"kubectl get {words[0]}: {last}", said)
        try:
            found = json.loads(ran.text())["items"]
        except (ValueError, KeyError, TypeError) as error:
            raise CannotTell(f"kubectl get {words[0]} does not give a list as JSON") from error
        return [it for it in found if isinstance(it, dict)]

    def node(self, name: str | None) -> dict[str, Any]:
        """Return the node `name`, or the one that this machine is by its name or its label."""
        wanted = name or os.uname().nodename.lower()
        found = self.items("nodes", f"--field-selector=metadata.name={wanted}")
        if not found and name is None:
            found = self.items("nodes", f"--selector={_HOSTNAME}={wanted}")
        if len(found) != 1:
            hint = "" if name else "; name it by `node`"
            raise CannotTell(f"Kubernetes has {len(found) or 'no'} node{'s' if found else ''} {wanted}{hint}")
        return found[0]

    def pods(self, node: str) -> list[dict[str, Any]]:
        """Return the pods that a drain of a node has to evict: none of daemon sets, no mirrors, none that has ended."""
        found = self.items("pods", "--all-namespaces", f"--field-selector=spec.nodeName={node}")
        return [pod for pod in found if _to_evict(pod)]

    def blocking_budgets(self, pods: list[dict[str, Any]]) -> list[str]:
        """Return the disruption budgets that at present let none of their pods go, in words."""
        found = []
        for budget in self.items("poddisruptionbudgets", "--all-namespaces"):
            status, about = budget.get("status") or {}, budget["metadata"]
            covered = [it for it in pods if _covers(budget, it)]
            if covered and not status.get("disruptionsAllowed"):
                healthy = f"{status.get('currentHealthy')} of {status.get('desiredHealthy')} needed are healthy"
                found.append(f"disruption budget {about['namespace']}/{about['name']} lets no pod go: {healthy}")
        return found


def told(cluster: Cluster, name: str | None) -> dict[str, Any]:
    """Return how Kubernetes sees a node, as the query answers it."""
    node = cluster.node(name)
    about, spec = node["metadata"], node.get("spec") or {}
    conditions = (node.get("status") or {}).get("conditions") or []
    return {
        "node": about["name"],
        "unschedulable": bool(spec.get("unschedulable")),
        "ready": any(it.get("type") == "Ready" and it.get("status") == "True" for it in conditions),
        "mark": (about.get("annotations") or {}).get(ANNOTATION),
        "version": about["resourceVersion"],
        "pods": [_row(pod) for pod in cluster.pods(about["name"])],
    }


def name_of(pod: dict[str, Any]) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _row(pod: dict[str, Any]) -> dict[str, Any]:
    owner = _owner(pod)
    return {
        "name": name_of(pod),
        "owner": None if owner is None else owner.get("kind"),
        "empty_dir": any("emptyDir" in it for it in (pod.get("spec") or {}).get("volumes") or []),
        "ending": bool(pod["metadata"].get("deletionTimestamp")),
    }


def _owner(pod: dict[str, Any]) -> dict[str, Any] | None:
    owners = pod["metadata"].get("ownerReferences") or []
    return next((it for it in owners if it.get("controller")), None)


def _to_evict(pod: dict[str, Any]) -> bool:
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return False
    if _MIRROR in (pod["metadata"].get("annotations") or {}):
        return False
    return (_owner(pod) or {}).get("kind") != "DaemonSet"


def _covers(budget: dict[str, Any], pod: dict[str, Any]) -> bool:
    """Return whether a disruption budget speaks of a pod: its namespace and its whole selector."""
    if budget["metadata"]["namespace"] != pod["metadata"]["namespace"]:
        return False
    selector = (budget.get("spec") or {}).get("selector") or {}
    labels = pod["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_expressed(it, labels) for it in selector.get("matchExpressions") or [])


def _expressed(expression: dict[str, Any], labels: dict[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or []
    by_operator = {
        "In": labels.get(key) in values,
        "NotIn": labels.get(key) not in values,
        "Exists": key in labels,
        "DoesNotExist": key not in labels,
    }
    return by_operator.get(expression.get("operator", ""), False)
