"""What can be said of a `cuda_toolkit` action that did not lead where it should; only from evidence."""

import re

from stackplan.actions._transfer_failures import explain_transfer
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.job import Exited
from stackplan.model.kind import Evidence
from stackplan.model.outcome import Reason


def explain_toolkit_failure(evidence: Evidence, release: str) -> tuple[Diagnosis, ...]:
    """Return what the output of the runfile or of apt says, most telling first."""
    found = [*explain_transfer(evidence)]
    failed = isinstance(evidence.ending, Exited) and evidence.ending.code != 0
    if failed:
        for code, pattern, summary, remedy in _RULES:
            if match := re.search(pattern, evidence.output, re.MULTILINE):
                words = {"release": release, **{key: value or "" for key, value in match.groupdict().items()}}
                found.append(
                    Diagnosis(
                        code=code,
                        summary=summary.format(**words),
                        at=evidence.at,
                        step=evidence.step,
                        causes=(match[0].strip()[:300],),
                        remedy=remedy.format(**words),
                        remedy_at=evidence.at,
                    )
                )
    elif evidence.reason is Reason.NO_OP:
        found.extend(_nothing_installed(evidence))
    return tuple({it.code: it for it in reversed(found)}.values())[::-1]


def _nothing_installed(evidence: Evidence) -> list[Diagnosis]:
    """SP225: apt says that all is there; a package that is held or half installed counts for it."""
    match = re.search(r"^(\S+) is already the newest version[^\n]*", evidence.output, re.MULTILINE)
    if match is None:
        return []
    summary = f"apt holds {match[1]} for installed, and the toolkit is not there as the postcondition states."
    remedy = (
        f"Look at `dpkg --audit` and `dpkg -V {match[1]}` on the node: it is half installed, or files were removed."
    )
    return [
        Diagnosis(code="SP225", summary=summary, at=evidence.at, step=evidence.step, causes=(match[0],), remedy=remedy)
    ]


_RULES = (
    (
        "SP221",
        r"Extraction failed\.?[^\n]*|Ensure there is enough space in[^\n]*|\[ERROR\][^\n]*No space left on device",
        "The runfile could not be unpacked: there is too little room.",
        "Make room in the home of the step's user (`~/.cache/stackplan`) and where `prefix` lies.",
    ),
    (
        "SP222",
        r"Could not get lock (?P<lock>\S+?)\.?\s[^\n]*|Unable to acquire the dpkg frontend lock[^\n]*",
        "Another program held the lock of apt for five minutes.",
        "Wait for it to end (often unattended-upgrades), then run the playbook again.",
    ),
    (
        "SP223",
        r"E: (Unable to locate package (?P<absent>\S+)|Version '[^']*' for '(?P<version>[^']*)' was not found)",
        "No repository of the node offers {absent}{version} as the step wants it.",
        "Add NVIDIA's CUDA repository for the node's distribution in an earlier step, and run `apt-get update`.",
    ),
    (
        "SP224",
        r"dpkg was interrupted[^\n]*|held broken packages[^\n]*|dpkg: error processing package (?P<broken>\S+)[^\n]*",
        "apt cannot install anything until what is half installed is put right.",
        "Run `dpkg --configure -a` on the node and look at `dpkg --audit`.",
    ),
    (
        "SP265",
        r"[^\n]*(?:Failed to verify gcc version|unsupported compiler version)[^\n]*",
        "The runfile refuses, because it does not support the node's gcc.",
        (
            "Install a gcc that CUDA {release} supports in an earlier step and let it be the node's `gcc`, or use a "
            "newer toolkit."
        ),
    ),
    (
        "SP226",
        r"(?P<log>/tmp/cuda-installer\.log) belongs to (?P<owner>\S+)[^\n]*",
        "The runfile cannot write its log {log}: it belongs to {owner}.",
        "Remove {log} on the node.",
    ),
)
