"""What is wrong as text, as much of it as anybody reads; the JSON form has all of it."""

from collections.abc import Sequence

from stackplan.model.diagnosis import Diagnosis
from stackplan.reports.count import counted

MOST = 100


def some(diagnoses: Sequence[Diagnosis], *, colour: bool) -> str:
    """Return the first hundred as text, and how many more there are."""
    if not diagnoses:
        return ""
    from stackplan.reports import diagnostics  # noqa: PLC0415 - spared by whoever has nothing to tell

    text = diagnostics.render(diagnoses[:MOST], colour=colour)
    if len(diagnoses) <= MOST:
        return text
    return f"{text}\n… and {counted(len(diagnoses) - MOST, 'more problem')}; `--format json` shows all of them.\n"
