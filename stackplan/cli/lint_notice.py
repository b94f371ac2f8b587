"""What lint would find in a playbook that is being planned, in one line: a plan is where people look anyway."""

from collections.abc import Iterator

from stackplan.cli.output import say
from stackplan.language import linting
from stackplan.language.alone import render_alone
from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.model.playbook import Playbook
from stackplan.reports.count import counted
from stackplan.reports.safe import safe


def say_findings(playbook: Playbook) -> None:
    """Say how many findings there are, with their codes; nothing of a playbook in which the rules find nothing."""
    findings = linting.review(playbook, render_alone(playbook).playbook).findings
    if findings:
        say(f"lint: {'; '.join(_counts(findings))}. `stackplan lint {safe(playbook.path)}` tells more.")


def _counts(findings: tuple[Diagnosis, ...]) -> Iterator[str]:
    for severity in (Severity.ERROR, Severity.WARNING):
        codes = [it.code for it in findings if it.severity is severity and it.code is not None]
        if codes:
            yield f"{counted(len(codes), severity.value)} ({', '.join(sorted(set(codes)))})"
