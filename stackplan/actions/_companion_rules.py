"""Rules for packages that have to go together, where one went alone."""

from packaging.requirements import InvalidRequirement, Requirement

from stackplan.actions._failure import Failure
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.outcome import Reason
from stackplan.model.pep503 import canonical_name
from stackplan.model.regular import regular

_ONE = regular(r"one (?P<word>label|version|local label|public version) for all of them")
_MEMBER = regular(r"(?P<name>[A-Za-z0-9][\w.-]*) (?P<version>\d[\w.+!-]*)")
_FOR_CUDA = regular(r"(?P<stem>.+)-cu\d+")


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


def library_left_beside(failure: Failure) -> Diagnosis | None:
    """SP256: a library for another CUDA stayed beside the one that came, and both write the same files."""
    if failure.reason not in (Reason.POSTCONDITION, Reason.REGRESSION):
        return None
    shared = {_stem(name) for kind, name in failure.findings if kind == "two-owners"}
    used = {it.name for it in failure.changes} | {*failure.wishes.names} | _required(failure)
    families: dict[str, list[str]] = {}
    for name in sorted({it.canonical for it in failure.after}):
        if (stem := _stem(name)) is not None:
            families.setdefault(stem, []).append(name)
    # The walk over RECORD shows its first findings alone: where one family shares files, the others are named with it.
    mixed = {stem: names for stem, names in families.items() if 0 < len(used.intersection(names)) < len(names)}
    if not shared.intersection(mixed):
        return None
    left = ", ".join(name for names in mixed.values() for name in names if name not in used)
    kept = ", ".join(name for names in mixed.values() for name in names if name in used)
    summary = f"{left} stayed beside {kept}: files are written by both, and nothing requires {left} any longer."
    remedy = (
        f"Add a step before this one with `python_packages: {{venv: {failure.wishes.venv}, remove: [{left}]}}`. Where "
        f"this step ran already and was not taken back, add `reinstall: [{kept}]` at {failure.at}, too: the removal "
        "takes the shared files along."
    )
    return failure.diagnosis("SP256", summary, remedy)


def files_of_two(failure: Failure) -> Diagnosis | None:
    """SP256: two distributions own the same files, as a package and its successor under another name do."""
    if failure.reason not in (Reason.POSTCONDITION, Reason.REGRESSION, Reason.NO_OP) or not failure.shared:
        return None
    if library_left_beside(failure) is not None:
        return None
    pair = sorted(failure.shared[0])
    needed = {*failure.wishes.names} | _required(failure)
    spare = [it for it in pair if it not in needed]
    if not spare:
        return None
    came = {it.name for it in failure.changes}
    summary = f"{' and '.join(pair)} own the same files: those that lie there are of the one that was installed last."
    if not came.intersection(pair):
        summary += " This step changed neither of them."
    left = spare[0] if len(spare) == 1 else "NAME"
    kept = next((it for it in pair if it != left), pair[0])
    which = "" if len(spare) == 1 else ", NAME being the one that is not wanted,"
    remedy = (
        f"Add a step with `python_packages: {{venv: {failure.wishes.venv}, remove: [{left}]}}` before this one{which} "
        f"and `reinstall: [{kept if left != 'NAME' else 'OTHER'}]` where the other one is installed: the removal takes "
        "the shared files along."
    )
    return failure.diagnosis("SP256", summary, remedy)


def _stem(name: str) -> str | None:
    """Return a library's name without the CUDA release that it is for; None where the name tells none."""
    match = _FOR_CUDA.fullmatch(name)
    return match["stem"] if match is not None else None


def _required(failure: Failure) -> set[str]:
    """Return what the installed packages require, extras that were perhaps not asked for included."""
    found = set()
    for text in (text for it in failure.after for text in it.requires):
        try:
            found.add(str(canonical_name(Requirement(text).name)))
        except InvalidRequirement:
            continue
    return found
