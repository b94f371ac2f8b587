"""Diagnoses as text: place and summary, the line with a caret, what was expected, the remedy; pure."""

from collections.abc import Iterable, Sequence

from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.reports.cause import cause_label
from stackplan.reports.cells import cell_len
from stackplan.reports.count import counted
from stackplan.reports.layout import hanging
from stackplan.reports.paint import Paint, Style
from stackplan.reports.safe import safe

WINDOW = 96
"""Characters of a source line that are shown around the caret."""
WIDTH = 110
PLACES = 3
"""Places of what is said of several, the one that is shown in full among them."""
STYLES = {Severity.ERROR: Style.BAD, Severity.WARNING: Style.CHANGE, Severity.NOTE: Style.STRONG}


def render(diagnoses: Iterable[Diagnosis], *, colour: bool) -> str:
    """Return all `diagnoses`, in their order, with a blank line between them; empty when there are none."""
    return render_groups(((it,) for it in diagnoses), colour=colour)


def render_groups(groups: Iterable[Sequence[Diagnosis]], *, colour: bool) -> str:
    """Return the same of groups that say the same: the first of each in full, and where else it is said."""
    paint = Paint(colour)
    return "\n".join("\n".join([*_lines(first, others, paint), ""]) for first, *others in groups)


def _lines(diagnosis: Diagnosis, others: Sequence[Diagnosis], paint: Paint) -> list[str]:
    lines = _summary(diagnosis, paint)
    lines += _excerpt(diagnosis, paint)
    lines += hanging("  also at   ", _elsewhere(others), WIDTH) if others else []
    if diagnosis.expected is not None:
        lines += hanging("  expected  ", safe(diagnosis.expected), WIDTH)
    if diagnosis.observed is not None:
        lines += hanging("  observed  ", safe(diagnosis.observed), WIDTH)
    for cause in diagnosis.causes:
        lines += hanging(f"  {cause_label(cause)}", safe(cause), WIDTH)
    return lines + _remedy(diagnosis, paint)


def _elsewhere(others: Sequence[Diagnosis]) -> str:
    """Return where else the same is said: of very many places the first, and how many more there are."""
    shown = [safe(str(it.at)) + (f" (step `{safe(it.step)}`)" if it.step else "") for it in others[: PLACES - 1]]
    left = len(others) - len(shown)
    return ", ".join(shown) + (f" and {counted(left, 'more place')}" if left else "")


def _summary(diagnosis: Diagnosis, paint: Paint) -> list[str]:
    place = f"{safe(str(diagnosis.at))}  " if diagnosis.at else ""
    severity = "" if diagnosis.severity is Severity.ERROR else f"{diagnosis.severity.value}: "
    step = f" (step `{safe(diagnosis.step)}`)" if diagnosis.step else ""
    summary = paint(STYLES[diagnosis.severity], f"{severity}{safe(diagnosis.summary)}")
    return [f"{paint(Style.STRONG, place)}{summary}{step}"]


def _excerpt(diagnosis: Diagnosis, paint: Paint) -> list[str]:
    """Return the source line and under it a caret at the column, followed by as many `~` as the span is long."""
    if diagnosis.source is None or diagnosis.at is None:
        return []
    source = diagnosis.source.rstrip()
    start = min(diagnosis.at.column - 1, len(source))
    first = max(0, start - WINDOW // 2) if len(source) > WINDOW else 0
    shown = source[first : first + WINDOW]
    # Each part is made safe by itself: an escape is longer than what it stands for.
    lead = ("…" if first else "") + _blank(shown[: start - first])
    marked = shown[start - first : start - first + max(1, diagnosis.span)]
    tail = _blank(shown[start - first + len(marked) :]) + ("…" if first + WINDOW < len(source) else "")
    caret = " " * cell_len(lead) + "^" + "~" * (cell_len(_blank(marked)) - 1)
    return [f"    {lead}{_blank(marked)}{tail}", f"    {paint(STYLES[diagnosis.severity], caret)}"]


def _blank(text: str) -> str:
    return safe(text.replace("\t", " "))


def _remedy(diagnosis: Diagnosis, paint: Paint) -> list[str]:
    remedy = safe(diagnosis.remedy) if diagnosis.remedy else ""
    if diagnosis.remedy_at is not None and not names_place(diagnosis):
        remedy = f"{remedy} ({safe(str(diagnosis.remedy_at))})".lstrip()
    if diagnosis.code is None:
        return hanging("  remedy    ", remedy, WIDTH) if remedy else []
    code = safe(diagnosis.code)
    first, *rest = hanging(f"{code}  ", remedy or f"see `stackplan explain {code}`", WIDTH)
    return [first.replace(code, paint(Style.STRONG, code), 1), *rest]


def names_place(diagnosis: Diagnosis) -> bool:
    """Return whether the remedy's own words say where it goes ("Add `upgrade: true` at 37:7")."""
    place = diagnosis.remedy_at
    return place is not None and f"{place.line}:{place.column}" in (diagnosis.remedy or "")
