"""How Kubernetes sees this node: whether it is cordoned, by stackplan or not, and the pods that a drain has to evict.

Asked with `{"node": NAME, "kubeconfig": PATH, "context": NAME}`, each of which may be left out; the node is then the
one that this machine is. `mark` is what stackplan's cordon bears (an annotation), null without one. `version` is the
node object's, by which a change finds out that somebody else was faster. A pod's `owner` is the kind that controls it,
null for none; `empty_dir` tells of data that is gone with it, `ending` that it is being deleted.
"""

from __future__ import annotations

from typing import Any

from stackplan.node.context import Context
from stackplan.node.queries import _kubernetes


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    key = f"kubernetes_node {sorted(arguments.items())}"
    if key not in context.memo:
        context.memo[key] = _kubernetes.told(_kubernetes.Cluster(context, arguments), arguments.get("node"))
    found: dict[str, Any] = context.memo[key]
    return found
