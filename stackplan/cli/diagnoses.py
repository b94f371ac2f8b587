"""What is wrong as text, as much of it as anybody reads; the JSON form has all of it."""

from collections.abc import Sequence

from stackplan.model.diagnosis import Diagnosis
from stackplan.reports.count import counted

MOST = 100


def some(diagnoses: Sequence[Diagnosis], *, colour: bool) -> str:
    """Return the first hundred as text, and how many more there are; what is said of several places is said once."""
    if not diagnoses:
        return ""
    from stackplan.reports import diagnostics  # noqa: PLC0415 - spared by whoever has nothing to tell
    from stackplan.reports.alike import alike  # noqa: PLC0415 - the same

    groups = alike(diagnoses)
    text = diagnostics.render_groups(groups[:MOST], colour=colour)
    if len(groups) <= MOST:
        return text
    left = sum(map(len, groups[MOST:]))
    return f"{text}\n… and {counted(left, 'more problem')}; `--format json` shows all of them.\n"
