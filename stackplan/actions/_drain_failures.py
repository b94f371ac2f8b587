"""What can be said of a drain or a resume that failed; only from evidence."""

import re
from collections.abc import Mapping

from stackplan.model.diagnosis import Diagnosis
from stackplan.model.facts import Plain
from stackplan.model.job import Exited, TimedOut
from stackplan.model.kind import Evidence
from stackplan.model.regular import regular

_OUTLASTED = regular(r"^stackplan: after (\S+) (\S+) is not empty: (.*)$", re.MULTILINE)
_REFUSED = regular(r"^[^\n]*(?:Invalid user id|Access/permission denied|Permission denied)[^\n]*$", re.MULTILINE)
_UNREACHED = regular(r"^[^\n]*(?:Unable to contact slurm controller|did not end within)[^\n]*$", re.MULTILINE)
_MANY = 8


def explain_slurm_failure(evidence: Evidence, after: Mapping[str, Plain]) -> tuple[Diagnosis, ...]:
    """Return what the task's words, and how the node stands afterwards, say of a failure."""
    if isinstance(evidence.ending, TimedOut):
        return (_too_short(evidence),)
    if not isinstance(evidence.ending, Exited) or evidence.ending.code == 0:
        return ()
    if (found := _OUTLASTED.search(evidence.output)) is not None:
        return (_outlasted(evidence, found, stays=after.get("draining") is True),)
    if (said := _REFUSED.search(evidence.output)) is not None:
        return (_refused(evidence, said[0].strip()),)
    if not after and (said := _UNREACHED.search(evidence.output)) is not None:
        return (_unreached(evidence, said[0].strip()),)
    return ()


def _outlasted(evidence: Evidence, found: re.Match[str], *, stays: bool) -> Diagnosis:
    """SP271: jobs run longer than they are waited for."""
    now = "It stays drained" if stays else "The drain was taken back: it takes jobs as before"
    return Diagnosis(
        code="SP271",
        summary=f"Jobs still ran on {found[2]} after {found[1]}. {now}.",
        expected="no job on it",
        observed=f"{len(found[3].split('; '))} on it",
        at=evidence.at,
        step=evidence.step,
        causes=tuple(found[3].split("; ")[:_MANY]),
        remedy="Give `timeout` (and the step's own) as long as the longest job may run, or run it again later.",
        remedy_at=evidence.arguments.place("timeout"),
    )


def _too_short(evidence: Evidence) -> Diagnosis:
    """SP271: the step's own time limit was over before the wait was."""
    return Diagnosis(
        code="SP271",
        summary="The step's time limit was over before the wait of its action was.",
        at=evidence.at,
        step=evidence.step,
        remedy="Give the step a `timeout` that is longer than the action's.",
        remedy_at=evidence.arguments.place("timeout"),
    )


def _refused(evidence: Evidence, said: str) -> Diagnosis:
    """SP272: Slurm lets only its operators change a node."""
    return Diagnosis(
        code="SP272",
        summary="Slurm does not let the step's user change the node.",
        observed=said,
        at=evidence.at,
        step=evidence.step,
        remedy="Add `become: true`, or a `user` who is an operator of Slurm; the step that resumes needs the same.",
    )


def _unreached(evidence: Evidence, said: str) -> Diagnosis:
    """SP273: no controller of Slurm answers."""
    return Diagnosis(
        code="SP273",
        summary="No controller of Slurm answered in time; how the node stands is not known.",
        observed=said,
        at=evidence.at,
        step=evidence.step,
        remedy="See `scontrol ping` on the node. Whatever drain was set is found again by the next run.",
    )
