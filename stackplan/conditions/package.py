"""The kind `package`: which version of a distribution is installed."""

from typing import ClassVar, Self

from stackplan.conditions._answers import mapping, unanswered
from stackplan.conditions._environment import Environment
from stackplan.conditions._specifier import Specifier, read_specifier, version_verdict
from stackplan.model.arguments import Arguments
from stackplan.model.change import State
from stackplan.model.distribution import Distribution, named, package_state
from stackplan.model.facts import Facts, Known, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.pep440 import InvalidVersion, Version
from stackplan.model.pep503 import canonical_name, is_name
from stackplan.model.verdict import Verdict, conjunction, held, not_held, unknown


@dataclass(frozen=True, slots=True)
class Package(ConditionKind):
    """A distribution is installed, in a version, with a local label; or it is absent.

    Rests on the dist-info folders on disk, never on a tool's output. Two of them for one name do not hold: which one is
    imported is chance. A label is weak evidence of what a wheel was built for (`torch` looks deeper). It does not see
    whether the files are all there: that is `environment_intact`.
    """

    foreseeable: ClassVar[bool] = True

    environment: Environment
    name: str
    version: Specifier | None = None
    local: str | None = None
    absent: bool = False

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        absent = arguments.flag("absent", default=False)
        for key in ("version", "local"):
            if absent and key in arguments:
                raise arguments.invalid(key, f"`{key}` says nothing beside `absent`", remedy=f"take `{key}` away")
        return cls(
            environment=Environment.read(arguments),
            name=arguments.converted("name", _named, "a distribution's name"),
            version=read_specifier(arguments, "version"),
            local=arguments.converted("local", _label, "a local label such as cu130") if "local" in arguments else None,
            absent=absent,
        )

    def describe(self) -> str:
        if self.absent:
            return f"{self.name} not installed"
        if self.version is None and self.local is None:
            return f"{self.name} installed"
        stated = (self.name, self.version and self.version.text, self.local is not None and f"labelled {self._label}")
        return " ".join(part for part in stated if part)

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
        wanted = canonical_name(self.name)
        return self._judge(text, [*named(answer, wanted)])

    def state(self, facts: Facts) -> State:
        return package_state(facts[self.environment.distributions])

    @property
    def _wanted(self) -> str:
        if self.absent:
            return "not installed"
        return " and ".join(part for part in (self.version and self.version.text, self.local) if part) or "installed"

    @property
    def _label(self) -> str:
        return f"+{self.local}" if self.local else "with nothing"

    def _judge(self, text: str, found: list[Distribution]) -> Verdict:
        where = str(self.environment)
        if len(found) > 1:
            folders = ", ".join(it.folder for it in found)
            expected = self._wanted if self.absent else f"{self._wanted}, once"
            return not_held(text, expected=expected, observed=f"{len(found)} times: {folders}", evidence=where)
        if not found and self.absent:
            return held(text, observed="not installed", evidence=where)
        if not found:
            return not_held(text, expected=self._wanted, observed="not installed", evidence=where)
        (it,) = found
        evidence = f"{it.name} {it.version} in {where}"
        if self.absent:
            return not_held(text, expected=self._wanted, observed=it.version, evidence=evidence)
        parts = self._parts(it, evidence)
        return self._broken(text, it) or (
            conjunction(text, parts) if parts else held(text, observed=it.version, evidence=evidence)
        )

    def _broken(self, text: str, it: Distribution) -> Verdict | None:
        """Return the verdict on a distribution whose METADATA cannot be used, None for a sound one."""
        if it.fault == "unreadable-metadata":
            reason = f": {it.why}" if it.why else ""
            return unknown(text, why=f"{it.folder}/METADATA in {self.environment} cannot be read{reason}")
        if it.fault in ("missing-metadata", "incomplete-metadata"):
            broken = "has no METADATA" if it.fault == "missing-metadata" else "has a METADATA without name or version"
            return not_held(
                text, expected=self._wanted, observed=f"{it.folder} {broken}", evidence=str(self.environment)
            )
        return None

    def _parts(self, it: Distribution, evidence: str) -> tuple[Verdict, ...]:
        parts = []
        if self.version is not None:
            text = f"{self.name} {self.version.text}"
            parts.append(version_verdict(text, self.version, it.version, evidence))
        if self.local is not None:
            parts.append(self._label_verdict(it, evidence))
        return tuple(parts)

    def _label_verdict(self, it: Distribution, evidence: str) -> Verdict:
        text = f"{self.name} labelled {self._label}"
        try:
            label = Version(it.version).local or ""
        except InvalidVersion:
            return unknown(text, why=f"{it.version} is no version by PEP 440", expected=self.local)
        if label == self.local:
            return held(text, observed=label or "no label", evidence=evidence)
        return not_held(text, expected=self.local or "no label", observed=label or "no label", evidence=evidence)


def _named(text: str) -> str:
    if not is_name(text):
        raise ValueError(f"name is invalid: {text!r}")
    return text


def _label(text: str) -> str:
    """Return a local label in the form in which versions bear it. Raise ValueError when it is none."""
    bare = text.strip().removeprefix("+")
    return (Version(f"0+{bare}").local or "") if bare else ""


KIND = Package
