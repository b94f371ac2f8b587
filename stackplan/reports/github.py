"""Diagnoses as GitHub annotations: one workflow command a diagnosis, shown beside its line; pure.

::error file=playbooks/a.yaml,line=37,endLine=37,col=7,endColumn=12,title=SP101 (torch)::what is wrong%0Aremedy
"""

from collections.abc import Iterable

from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.reports.safe import safe

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(diagnoses: Iterable[Diagnosis]) -> str:
    """Return a line for each diagnosis, in their order."""
    return "".join(f"{_command(it)}\n" for it in diagnoses)


def _command(diagnosis: Diagnosis) -> str:
    properties = {}
    if (at := diagnosis.at) is not None:
        properties = {"file": at.path, "line": str(at.line), "endLine": str(at.line), "col": str(at.column)}
        properties["endColumn"] = str(at.column + diagnosis.span)
    properties["title"] = " ".join(
        part for part in (diagnosis.code or "stackplan", f"({diagnosis.step})" if diagnosis.step else "") if part
    )
    shown = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{_COMMANDS[diagnosis.severity]} {shown}::{_message(_text(diagnosis))}"


def _text(diagnosis: Diagnosis) -> str:
    expected = f"expected: {diagnosis.expected}" if diagnosis.expected is not None else None
    observed = f"observed: {diagnosis.observed}" if diagnosis.observed is not None else None
    parts = (diagnosis.summary, expected, observed, *diagnosis.causes, diagnosis.remedy)
    return "\n".join(safe(part) for part in parts if part)


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(safe(text)).replace(":", "%3A").replace(",", "%2C")
