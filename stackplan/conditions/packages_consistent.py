"""The kind `packages_consistent`: every requirement of an installed distribution is met."""

from collections.abc import Mapping
from typing import ClassVar, Self

from stackplan.conditions._answers import listed, mapping, unanswered
from stackplan.conditions._environment import Environment
from stackplan.conditions._requirement_check import problems
from stackplan.model.arguments import Arguments
from stackplan.model.change import State
from stackplan.model.distribution import distributions, package_state
from stackplan.model.facts import Facts, Known, Plain, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.pep503 import canonical_name
from stackplan.model.verdict import Verdict, held, not_held, unknown


@dataclass(frozen=True, slots=True)
class PackagesConsistent(ConditionKind):
    """Every requirement that an installed distribution states is met by what is installed.

    As `pip check`, computed with `packaging` from the METADATA on disk: markers are evaluated for the environment's
    Python, and a requirement's extras are followed. Like `pip check` it takes +cu128 and +cu130 for the same version:
    state the label with `package`. `allow` names distributions whose own requirements may stay unmet.
    """

    foreseeable: ClassVar[bool] = True

    environment: Environment
    allow: frozenset[str] = frozenset()

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        allow = frozenset(canonical_name(name) for name in arguments.texts("allow"))
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
        wrong = [it for it in problems(found, _markers(told)) if it.name not in self.allow]
        unread = [
            f"{it.folder} ({it.why})" if it.why else it.folder
            for it in found
            if it.fault == "unreadable-metadata" and it.canonical not in self.allow
        ]
        if unread and not wrong:
            return unknown(text, why=f"METADATA cannot be read in {listed(unread)}")
        if not wrong:
            return held(text, observed=f"all met ({len(found)} installed)", evidence=str(self.environment))
        return not_held(
            text,
            expected=listed([it.wanted for it in wrong]),
            observed=listed(list(dict.fromkeys(it.found for it in wrong))),
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


KIND = PackagesConsistent
