"""What ended a command for want of memory."""

import re

from stackplan.model.diagnosis import Diagnosis
from stackplan.model.job import Exited, Signalled
from stackplan.model.kind import Evidence
from stackplan.model.regular import regular

_KILL = 9
_BY_SHELL = 128 + _KILL
_SAID = regular(
    r"[^\n]*(?:\(signal: 9, SIGKILL\)|c\+\+: fatal error: Killed signal|died with <Signals\.SIGKILL|^Killed$)[^\n]*",
    re.MULTILINE,
)


def out_of_memory(evidence: Evidence) -> tuple[Diagnosis, ...]:
    """SP261: something was killed that stackplan did not kill, most often by the kernel, which had no memory left."""
    ending = evidence.ending
    said = _SAID.search(evidence.output)
    whole = isinstance(ending, Signalled) and ending.number == _KILL
    part = isinstance(ending, Exited) and (ending.code == _BY_SHELL or (ending.code != 0 and said is not None))
    if not whole and not part:
        return ()
    what = "The step's command was" if whole else "A program of the step was"
    return (
        Diagnosis(
            code="SP261",
            summary=f"{what} killed (signal 9): most often the kernel does that when memory runs out.",
            at=evidence.at,
            step=evidence.step,
            causes=(said[0].strip()[:300],) if said is not None else (),
            remedy=(
                "Look for `Out of memory: Killed process` in `journalctl -k` on the node. Free memory there, or let "
                f'builds run with fewer jobs: `env: {{MAX_JOBS: "4"}}` on the step '
                f"({evidence.arguments.at.line}:{evidence.arguments.at.column})."
            ),
            remedy_at=evidence.arguments.at,
        ),
    )
