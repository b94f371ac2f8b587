"""The kind `packages_consistent`: every requirement of an installed distribution is met."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from stackplan.conditions._answers import listed, mapping, unanswered
from stackplan.conditions._environment import Environment
from stackplan.model.arguments import Arguments
from stackplan.model.change import State
from stackplan.model.distribution import Distribution, distributions, package_state
from stackplan.model.facts import Facts, Known, Plain, Query
from stackplan.model.kind import ConditionKind
from stackplan.model.verdict import Verdict, held, not_held


@dataclass(frozen=True, slots=True)
class Problem:
    """`wanted` is what a distribution asks for, `found` what is there instead."""

    wanted: str
    found: str


@dataclass(frozen=True, slots=True)
class PackagesConsistent(ConditionKind):
    """Every requirement that an installed distribution states is met by what is installed.

    As `pip check`, computed with `packaging` from the METADATA on disk: markers are evaluated for the environment's
    Python, and a requirement's extras are followed. Like `pip check` it takes +cu128 and +cu130 for the same version:
    `same_build` and `cuda_coherent` look at that. `allow` names distributions whose own requirements may stay unmet.
    """

    environment: Environment
    allow: frozenset[str] = frozenset()

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        allow = frozenset(canonicalize_name(name) for name in arguments.texts("allow"))
        return cls(Environment.read(arguments), allow)

    def describe(self) -> str:
        return f"requirements in {self.environment} met"

    def queries(self) -> tuple[Query, ...]:
        return (self.environment.distributions,)

    def evaluate(self, facts: Facts) -> Verdict:
        text = self.describe()
        answer = facts[self.environment.distributions]
        told = mapping(answer)
        if told is None or not isinstance(answer, Known):
            return unanswered(text, answer)
        if (absence := self.environment.absence(told)) is not None:
            return not_held(text, expected=self.environment.expected, observed=absence)
        found = distributions(answer)
        problems = tuple(
            problem
            for it in found
            if it.canonical not in self.allow
            for problem in _problems(it, found, _markers(told))
        )
        if not problems:
            return held(text, observed=f"all met ({len(found)} installed)", evidence=str(self.environment))
        return not_held(
            text,
            expected=listed([it.wanted for it in problems]),
            observed=listed(list(dict.fromkeys(it.found for it in problems))),
            evidence=str(self.environment),
        )

    def state(self, facts: Facts) -> State:
        return package_state(facts[self.environment.distributions])


def _markers(told: Mapping[str, Plain]) -> dict[str, str]:
    """Return the values of environment markers on the node, as far as they are known."""
    stated = told.get("markers")
    if isinstance(stated, dict):
        return {name: str(value) for name, value in stated.items()}
    version = str(told.get("python_version") or "")
    return {"python_full_version": version, "python_version": ".".join(version.split(".")[:2])}


def _problems(it: Distribution, found: tuple[Distribution, ...], markers: Mapping[str, str]) -> tuple[Problem, ...]:
    """Return what is wrong with one distribution: itself, and each requirement that is not met."""
    twins = [other.folder for other in found if other.canonical == it.canonical]
    if len(twins) > 1 and it.folder == twins[0]:
        return (Problem(f"{it.name} installed once", f"{len(twins)} times: {', '.join(twins)}"),)
    if it.fault is not None and it.fault != "not-utf-8":
        return (Problem(f"METADATA of {it.name}", f"{it.folder}: {it.fault}"),)
    installed = {other.canonical: other for other in found}
    problems = []
    for text in it.requires:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            problems.append(Problem(f"{it.name} {it.version} states its requirements", f"{text!r} is no requirement"))
            continue
        for extra in _extras_asked(it, found):
            problem = _unmet(it, requirement, extra, installed, markers)
            if problem is not None and problem not in problems:
                problems.append(problem)
    return tuple(problems)


def _extras_asked(it: Distribution, found: tuple[Distribution, ...]) -> tuple[str, ...]:
    """Return the extras of a distribution that others ask for, and the empty one: its plain requirements."""
    asked = {""}
    for other in found:
        for text in other.requires:
            if "[" not in text.partition(";")[0]:
                continue
            try:
                requirement = Requirement(text)
            except InvalidRequirement:
                continue
            if canonicalize_name(requirement.name) == it.canonical and requirement.marker is None:
                asked |= requirement.extras
    return tuple(sorted(asked))


def _unmet(
    it: Distribution,
    requirement: Requirement,
    extra: str,
    installed: Mapping[str, Distribution],
    markers: Mapping[str, str],
) -> Problem | None:
    try:
        if requirement.marker is not None and not requirement.marker.evaluate({**markers, "extra": extra}):
            return None
    except (InvalidVersion, UndefinedComparison, UndefinedEnvironmentName) as error:
        return Problem(f"{it.name} {it.version} states its requirements", f"{requirement}: {error}")
    name = f"{it.name} {it.version}" if not extra else f"{it.name}[{extra}] {it.version}"
    wanted = f"{name} requires {requirement.name}{requirement.specifier}"
    there = installed.get(canonicalize_name(requirement.name))
    if there is None:
        return Problem(wanted, f"{requirement.name} not installed")
    try:
        met = requirement.specifier.contains(there.version, prereleases=True)
    except InvalidVersion:
        met = False
    return None if met else Problem(wanted, f"{there.name} {there.version}")


KIND = PackagesConsistent
