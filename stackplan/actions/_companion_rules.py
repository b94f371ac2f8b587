"""Rules for packages that have to go together, where one went alone."""

import re

from stackplan.actions._failure import Failure
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.outcome import Reason

_ONE = re.compile(r"one (?P<word>label|version|local label|public version) for all of them")
_MEMBER = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*) (?P<version>\d[\w.+!-]*)")


def left_behind(failure: Failure) -> Diagnosis | None:
    """SP256: packages that have to be of one build are not, and those that stayed are not named by the step."""
    if failure.reason not in (Reason.POSTCONDITION, Reason.REGRESSION):
        return None
    moved = {it.name for it in failure.changes if it.before != it.after}
    for verdict in failure.unmet:
        if _ONE.search(verdict.expected or "") is None:
            continue
        members = {match["name"]: match["version"] for match in _MEMBER.finditer(verdict.observed or "")}
        stayed = [name for name in members if name not in moved and name not in failure.wishes.names]
        if not stayed or len(stayed) == len(members):
            continue
        shown = ", ".join(f"{name} {members[name]}" for name in stayed)
        summary = f"{shown} stayed as {'it was' if len(stayed) == 1 else 'they were'}: the step does not name it."
        if len(stayed) > 1:
            summary = summary.replace("name it.", "name them.")
        key = "packages" if "packages" in failure.arguments else None
        where = failure.place("packages") if key else failure.at
        return failure.diagnosis("SP256", summary, f"Add {', '.join(stayed)} to `packages` at {where}.", key=key)
    return None
