"""Which requirements of installed distributions are not met, computed with `packaging` from their METADATA."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName

from stackplan.model.distribution import Distribution
from stackplan.model.frozen import dataclass
from stackplan.model.pep503 import canonical_name
from stackplan.model.pep508 import InvalidRequirement, Requirement
from stackplan.model.same import Same

Markers: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """`wanted` is what the distribution of that name asks for, `found` what is there instead."""

    name: str
    wanted: str
    found: str


@dataclass(frozen=True, slots=True)
class _Stated:
    """A requirement and the distribution that states it; `requirement` None where the text could not be read."""

    by: Distribution
    text: str
    requirement: Requirement | None


def problems(found: tuple[Distribution, ...], markers: Mapping[str, str]) -> tuple[Problem, ...]:
    """Return what is wrong, in the order of `found`: a name that stands twice, METADATA of no use, requirements unmet.

    `markers` are the values of environment markers of the environment's Python.
    """
    return _same_problems(Same(found), tuple(sorted(markers.items())))


# In front of the other cache, because it takes time to find many distributions equal.
@lru_cache(maxsize=256)
def _same_problems(found: Same[tuple[Distribution, ...]], values: Markers) -> tuple[Problem, ...]:
    return _problems(found.it, values)


# Nodes of one fleet have the same distributions, and a plan asks for those of a node after each of its steps.
@lru_cache(maxsize=256)
def _problems(found: tuple[Distribution, ...], values: Markers) -> tuple[Problem, ...]:
    stated = tuple(_Stated(it, text, _parsed(text)) for it in found for text in it.requires)
    extras = _extras(found, stated, values)
    installed = {it.canonical: it for it in found}
    wrong = [*_broken(found)]
    for it in stated:
        wrong += [
            problem for extra in sorted(extras[it.by.canonical]) for problem in _unmet(it, extra, installed, values)
        ]
    return tuple(dict.fromkeys(wrong))


# A rollout asks the same of many nodes, and of each node after every step: texts are parsed and markers evaluated once.
@lru_cache(maxsize=16384)
def _parsed(text: str) -> Requirement | None:
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def _broken(found: tuple[Distribution, ...]) -> Iterator[Problem]:
    folders: dict[str, list[str]] = {}
    for it in found:
        folders.setdefault(it.canonical, []).append(it.folder)
        if it.fault in ("missing-metadata", "incomplete-metadata"):
            yield Problem(it.canonical, f"METADATA of {it.name}", f"{it.folder}: {it.fault}")
    for name, twins in folders.items():
        if len(twins) > 1:
            yield Problem(name, f"{name} installed once", f"{len(twins)} times: {', '.join(twins)}")


def _extras(found: tuple[Distribution, ...], stated: tuple[_Stated, ...], markers: Markers) -> dict[str, set[str]]:
    """Return the extras of each distribution that others ask for, and the empty one for its plain requirements."""
    active = {it.canonical: {""} for it in found}
    asking = [it for it in stated if it.requirement is not None and it.requirement.extras]
    growing = True
    while growing:
        growing = False
        for it in asking:
            assert it.requirement is not None
            target = active.get(canonical_name(it.requirement.name))
            applies = any(_applies(it.text, extra, markers) for extra in active[it.by.canonical])
            if target is not None and applies and not it.requirement.extras <= target:
                target |= it.requirement.extras
                growing = True
    return active


@lru_cache(maxsize=16384)
def _applies(text: str, extra: str, markers: Markers) -> bool:
    """Return whether a requirement counts; one whose marker cannot be evaluated does not, as for pip."""
    requirement = _parsed(text)
    if requirement is None or requirement.marker is None:
        return requirement is not None
    try:
        return requirement.marker.evaluate({**dict(markers), "extra": extra})
    except (ValueError, UndefinedComparison, UndefinedEnvironmentName):
        return False


def _unmet(it: _Stated, extra: str, installed: Mapping[str, Distribution], markers: Markers) -> Iterator[Problem]:
    requirement = it.requirement
    if requirement is None:
        yield Problem(it.by.canonical, f"requirements of {it.by.name} {it.by.version}", f"unreadable: {it.text!r}")
        return
    if not _applies(it.text, extra, markers):
        return
    by = f"{it.by.name}[{extra}]" if extra and not _applies(it.text, "", markers) else it.by.name
    wanted = f"{by} {it.by.version} requires {requirement.name}{requirement.specifier}"
    there = installed.get(canonical_name(requirement.name))
    if there is None:
        yield Problem(it.by.canonical, wanted, f"{requirement.name} not installed")
    elif not _admits(requirement, there.version):
        yield Problem(it.by.canonical, wanted, f"{there.name} {there.version}")


def _admits(requirement: Requirement, version: str) -> bool:
    try:
        return requirement.specifier.contains(version, prereleases=True)
    # InvalidVersion, or a number of more digits than Python takes.
    except ValueError:
        return False
