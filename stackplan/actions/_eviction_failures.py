"""What can be said of a drain or an uncordon in Kubernetes that failed; only from evidence."""

import re
from collections.abc import Mapping

from stackplan.model.diagnosis import Diagnosis
from stackplan.model.facts import Plain
from stackplan.model.job import Exited, TimedOut
from stackplan.model.kind import Evidence
from stackplan.model.regular import regular

_LEFT = regular(r"^stackplan: after (\S+) (\S+) is not empty: (.*)$", re.MULTILINE)
_BUDGET = regular(r"^disruption budget \S+ lets no pod go: [^\n]*$", re.MULTILINE)
_FORBIDDEN = regular(r"^[^\n]*(?:\(Forbidden\)|is forbidden|Unauthorized)[^\n]*$", re.MULTILINE)
_MANY = 8


def explain_kubernetes_failure(evidence: Evidence, after: Mapping[str, Plain]) -> tuple[Diagnosis, ...]:
    """Return what the task's words, and how the node stands afterwards, say of a failure."""
    timed_out = isinstance(evidence.ending, TimedOut)
    if not timed_out and not (isinstance(evidence.ending, Exited) and evidence.ending.code):
        return ()
    if (said := _FORBIDDEN.search(evidence.output)) is not None:
        return (_forbidden(evidence, said[0].strip()[:300]),)
    if (found := _LEFT.search(evidence.output)) is not None:
        return (_left(evidence, found, stays=after.get("mark") is not None),)
    return ()


def _left(evidence: Evidence, found: re.Match[str], *, stays: bool) -> Diagnosis:
    """SP291: pods could not be evicted, or did not end, in time."""
    now = "It stays cordoned" if stays else "It is not left cordoned by this run"
    budgets = _BUDGET.findall(evidence.output)
    return Diagnosis(
        code="SP291",
        summary=f"Pods are still on {found[2]} after {found[1]}. {now}.",
        expected="no pod to evict",
        observed=f"{len(found[3].split('; '))} on it",
        at=evidence.at,
        step=evidence.step,
        causes=(*budgets, *found[3].split("; "))[:_MANY],
        remedy="Give the workload another healthy replica, so that its disruption budget allows an eviction."
        if budgets
        else "Give `timeout` (and the step's own) the pods' grace period and more, or shorten it by `grace`.",
        remedy_at=None if budgets else evidence.arguments.place("timeout"),
    )


def _forbidden(evidence: Evidence, said: str) -> Diagnosis:
    """SP292: the credentials that kubectl found on the node do not suffice."""
    return Diagnosis(
        code="SP292",
        summary="Kubernetes does not let the credentials on the node do that.",
        observed=said,
        at=evidence.at,
        step=evidence.step,
        remedy="Name a `kubeconfig` whose user may get and patch nodes, list pods, and create pods/eviction.",
    )
