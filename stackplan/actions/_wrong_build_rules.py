"""Rules for an installer that did something, and not what was wanted."""

from collections.abc import Iterator

from stackplan.actions._failure import Failure, admits, label, silence
from stackplan.actions._requirements import Wanted
from stackplan.model.change import Change
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.distribution import Distribution
from stackplan.model.outcome import Reason
from stackplan.model.pep503 import canonical_name
from stackplan.model.pep508 import InvalidRequirement, Requirement


def brought_along(failure: Failure) -> Diagnosis | None:
    """SP210: a package that the step does not name was replaced, because one that it does name requires another.

    Most upgrades replace packages on the way (another torch brings another triton). It is told where an unmet condition
    speaks of that package, or where what an earlier step had proven speaks of none that changed (`import sglang`).
    """
    if failure.reason not in (Reason.REGRESSION, Reason.POSTCONDITION):
        return None
    moved = [it for it in failure.changes if it.before is not None and it.before != it.after and _unnamed(failure, it)]
    spoken_of = {it.name for it in failure.changes if silence(failure, it.name) < len(failure.unmet)}
    if spoken_of or failure.reason is Reason.POSTCONDITION:
        moved = [it for it in moved if it.name in spoken_of]
    moved.sort(key=lambda it: (silence(failure, it.name), it.name))
    for change in moved:
        culprit = next(_requiring(failure, change), None)
        if culprit is None:
            continue
        distribution, requirement = culprit
        became = f"by {change.after}" if change.after is not None else "by nothing"
        summary = (
            f"{change.name} {change.before} was replaced {became}: "
            f"{distribution.name} {distribution.version} requires {requirement}."
        )
        return failure.diagnosis("SP210", summary, _way_out(failure, change, distribution, requirement))
    return None


def _way_out(failure: Failure, change: Change, distribution: Distribution, requirement: str) -> str:
    """Return what keeps the package from before: a constraint where both go together, else a choice to make."""
    constraint = f"`constraints: [{change.name}=={change.before}]`"
    if admits(Requirement(requirement), str(change.before)):
        return f"Add {constraint} at {failure.at}."
    return (
        f"Choose a version of {distribution.name} that goes with {change.name} {change.before}, or add `no_deps: true` "
        f"at {failure.at}; {constraint} has the installer refuse rather than replace."
    )


def overshot(failure: Failure) -> Diagnosis | None:
    """SP211: the installer chose a build that the postcondition does not want, because the requirement admits it."""
    if failure.exit_code != 0 or failure.reason not in (Reason.POSTCONDITION, Reason.REGRESSION):
        return None
    moved = [
        it for it in failure.changes if it.after is not None and it.before != it.after and not _unnamed(failure, it)
    ]
    moved = [it for it in moved if silence(failure, it.name) < len(failure.unmet)]
    moved.sort(key=lambda it: (silence(failure, it.name), it.name))
    for change in moved:
        wanted = next(it for it in failure.wishes.wanted if it.name == change.name)
        summary = f'"{wanted.shown}" admits {change.name} {change.after}, which is what the installer chose.'
        build = label(failure, change.name)
        if _pinned(wanted, build):
            continue
        pin = f"{change.name}==VERSION+{build}" if build else f"{change.name}==VERSION"
        remedy = f"Pin the version that is wanted at {failure.place('packages')}: {pin}."
        return failure.diagnosis("SP211", summary, remedy, key="packages")
    return None


def _pinned(wanted: Wanted, build: str | None) -> bool:
    """Return whether the installer had no choice: one version is named, with its label where a build is wanted."""
    if wanted.requirement is None:
        return False
    exact = [it.version for it in wanted.requirement.specifier if it.operator in ("==", "===")]
    return any(not it.endswith("*") and ("+" in it or build is None) for it in exact)


def _unnamed(failure: Failure, change: Change) -> bool:
    return change.name not in failure.wishes.names and change.name not in failure.wishes.remove


def _requiring(failure: Failure, change: Change) -> Iterator[tuple[Distribution, str]]:
    """Yield who requires the package that moved: first those whose requirement the version from before did not meet.

    What the step installed or names comes before what was there: its own pins were kept once before, by an override.
    """
    fresh = {it.name for it in failure.changes if it.before != it.after} | {*failure.wishes.names}
    later = []
    for distribution in sorted(failure.after, key=lambda it: it.canonical not in fresh):
        for text in distribution.requires:
            try:
                requirement = Requirement(text)
            except InvalidRequirement:
                continue
            if canonical_name(requirement.name) != change.name or _extra_only(requirement):
                continue
            plain = f"{requirement.name}{requirement.specifier}"
            if change.before is not None and not admits(requirement, change.before):
                yield distribution, plain
            else:
                later.append((distribution, plain))
    yield from later


def _extra_only(requirement: Requirement) -> bool:
    return requirement.marker is not None and "extra" in str(requirement.marker)
