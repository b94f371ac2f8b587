"""The kind `same_build`: the packages of a family are of one build."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Self

from stackplan.conditions._answers import listed, mapping, unanswered
from stackplan.conditions._environment import Environment
from stackplan.model.arguments import Arguments
from stackplan.model.change import State
from stackplan.model.distribution import Distribution, distributions_query, named, package_state
from stackplan.model.facts import Facts, Known, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.pep440 import InvalidVersion, Version
from stackplan.model.pep503 import canonical_name, is_name
from stackplan.model.verdict import Verdict, held, not_held, unknown

_UNREADABLE = "unreadable-metadata"
_WORDS = {"label": "local label", "version": "public version"}


@dataclass(frozen=True, slots=True)
class SameBuild(ConditionKind):
    """Packages that belong together are all installed, and agree in their local label or in their public version.

    Read from METADATA on disk, and where that bears no label from the name of the dist-info folder. By version,
    0.6.16+cu130 and 0.6.16 are the same; by label, torch 2.14.0+cu130 and torchvision 0.29.0+cu130 are. A label proves
    no build: a package that bears none leaves the verdict unknown, and `cuda_coherent` looks at the files instead.
    """

    foreseeable: ClassVar[bool] = True

    environment: Environment
    packages: tuple[str, ...]
    by: str = "label"

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        by_name = {canonical_name(name): name for name in map(partial(_name, arguments), arguments.texts("packages"))}
        packages = tuple(by_name.values())
        if len(packages) < 2:
            expected = "the packages of a family, such as [torch, torchvision, torchaudio]"
            raise arguments.invalid("packages", "`packages` names fewer than two different packages", expected=expected)
        by = arguments.text("by", "label")
        if by not in _WORDS:
            raise arguments.invalid("by", "`by` is neither `label` nor `version`", expected="label or version")
        return cls(Environment.read(arguments), packages, by)

    def describe(self) -> str:
        return f"{', '.join(self.packages)} of one {_WORDS[self.by]}"

    def queries(self) -> tuple[Query, ...]:
        return (self._query,)

    def evaluate(self, facts: Facts) -> Verdict:
        text = self.describe()
        answer = facts[self._query]
        told = mapping(answer)
        if told is None or not isinstance(answer, Known):
            return unanswered(text, answer)
        if (absence := self.environment.absence(told)) is not None:
            return not_held(text, expected=self.environment.expected, observed=absence)
        members = tuple(named(answer, canonical_name(name)) for name in self.packages)
        absent = [name for name, found in zip(self.packages, members, strict=True) if not found]
        twice = [it.folder for found in members if len(found) > 1 for it in found]
        if absent or twice:
            parts = [f"{name} not installed" for name in absent]
            parts += [f"installed more than once: {', '.join(twice)}"] if twice else []
            return not_held(
                text,
                expected=f"{', '.join(self.packages)}, each installed once",
                observed=listed(parts, len(parts)),
                evidence=str(self.environment),
            )
        return self._judge(tuple(it for found in members for it in found))

    def state(self, facts: Facts) -> State:
        return package_state(facts[self._query])

    @property
    def _query(self) -> Query:
        return distributions_query(venv=self.environment.venv, python=self.environment.python)

    def _judge(self, members: tuple[Distribution, ...]) -> Verdict:
        text, word, where = self.describe(), _WORDS[self.by], str(self.environment)
        unread = [f"{it.folder} ({it.why})" if it.why else it.folder for it in members if it.fault == _UNREADABLE]
        if unread:
            return unknown(text, why=f"METADATA cannot be read in {', '.join(unread)}")
        versions = {it.name: _version(it) for it in members}
        odd = [f"{it.name} {it.version}" for it in members if versions[it.name] is None]
        if odd:
            return unknown(text, why=f"no version by PEP 440: {', '.join(odd)}")
        found = {name: _PARTS[self.by](version) for name, version in versions.items() if version is not None}
        shown = ", ".join(f"{name} {version}" for name, version in versions.items())
        borne = {part for part in found.values() if part}
        if len(borne) > 1:
            other = "version" if self.by == "label" else "label"
            agreed = len({_PARTS[other](version) for version in versions.values() if version is not None}) == 1
            aside = f" (the {_WORDS[other]} is the same)" if agreed else ""
            expected = f"one {word} for all of them"
            return not_held(text, expected=expected, observed=f"{shown}{aside}", evidence=where)
        mute = [name for name, part in found.items() if not part]
        if mute:
            why = f"without a local label: {', '.join(mute)}; nothing tells their builds apart but their files"
            return unknown(text, why=why, expected=f"one {word} for all of them")
        return held(text, observed=shown, evidence=where)


def _name(arguments: Arguments, text: str) -> str:
    if not is_name(text):
        summary = f"{text!r} in `packages` is no package's name"
        raise arguments.invalid("packages", summary, expected="names such as torchvision")
    return text


def _version(it: Distribution) -> Version | None:
    """Return the version of METADATA, or that of the folder where it says the same and has the label besides."""
    try:
        stated = Version(it.version)
    except InvalidVersion:
        return None
    try:
        by_folder = Version(it.folder.removesuffix(".dist-info").partition("-")[2])
    except InvalidVersion:
        return stated
    return by_folder if stated.local is None and by_folder.public == stated.public else stated


_PARTS: dict[str, Callable[[Version], str]] = {
    "label": lambda version: version.local or "",
    "version": lambda version: version.public,
}

KIND = SameBuild
