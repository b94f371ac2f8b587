"""The kind `environment_intact`: an environment is whole on disk."""

import hashlib
import json
from collections.abc import Mapping
from typing import ClassVar, Self

from stackplan.conditions._answers import listed, mapping, rows, unanswered
from stackplan.conditions._environment import Environment
from stackplan.model.arguments import Arguments
from stackplan.model.change import Held, State
from stackplan.model.count import counted
from stackplan.model.facts import Facts, Plain, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.verdict import Verdict, held, not_held, unknown

# What the walk finds, most telling first, in words for people: one of them, and several.
_WORDS = {
    "missing-file": ("file missing", "files missing"),
    "no-plain-file": ("path with something else than a file", "paths with something else than files"),
    "wrong-size": ("file of another size than recorded", "files of another size than recorded"),
    "two-owners": ("file written by two distributions", "files written by two distributions"),
    "two-versions": ("distribution installed twice", "distributions installed twice"),
    "leftover": ("leftover of a broken removal", "leftovers of broken removals"),
    "missing-metadata": ("distribution without METADATA", "distributions without METADATA"),
    "missing-record": ("distribution without RECORD", "distributions without RECORD"),
}
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class EnvironmentIntact(ConditionKind):
    """The environment is whole: every recorded file is there in its size, each has one owner, nothing is left over.

    Rests on a walk over every RECORD on disk. It catches what installers pass over: a disk that filled up during an
    upgrade, a removal that took another wheel's files along, a folder or a pipe in place of a file, two dist-infos of
    one name, `~name` folders. Contents are not hashed, and compiled `__pycache__` files are not looked at. What wheels
    strew beside their packages (a `tests` folder, a README, a `setup.py`) may have several owners: nothing imports it.
    """

    foreseeable: ClassVar[bool] = True

    environment: Environment

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        return cls(Environment.read(arguments))

    def describe(self) -> str:
        return f"{self.environment} intact"

    def queries(self) -> tuple[Query, ...]:
        return (self._query,)

    def evaluate(self, facts: Facts) -> Verdict:
        text = self.describe()
        told = mapping(facts[self._query])
        if told is None:
            return unanswered(text, facts[self._query])
        if (absence := self.environment.absence(told)) is not None:
            return not_held(text, expected=self.environment.expected, observed=absence)
        findings = _findings(told)
        files = counted(int(str(told["files"])), "file")
        evidence = f"{files} of {counted(int(str(told['distributions'])), 'distribution')} in {self.environment}"
        faults = [_worded(kind, findings[kind]) for kind in _WORDS if kind in findings]
        if told["interpreter"] is None:
            faults.insert(0, str(told["interpreter_fault"]))
        expected = "every recorded file in place, with one owner"
        if faults:
            return not_held(text, expected=expected, observed=listed(faults, len(faults)), evidence=evidence)
        if findings:
            why = "; ".join(_worded(kind, found) for kind, found in findings.items())
            return unknown(text, why=why, expected=expected)
        return held(text, observed="every recorded file in place", evidence=evidence)

    def state(self, facts: Facts) -> State:
        told = mapping(facts[self._query])
        if told is None or self.environment.absence(told) is not None:
            return {}
        findings = _findings(told)
        count = sum(_count(found) for found in findings.values())
        text = "intact" if not count else f"{count} fault{'' if count == 1 else 's'}"
        fingerprint = hashlib.sha256(json.dumps(findings, sort_keys=True).encode()).hexdigest()
        return {("environment", str(self.environment)): Held(text, fingerprint)}

    @property
    def _query(self) -> Query:
        return self.environment.query("records")


def _findings(told: Mapping[str, Plain]) -> dict[str, Mapping[str, Plain]]:
    found = told["findings"]
    assert isinstance(found, dict)
    return {kind: about for kind, about in found.items() if isinstance(about, dict)}


def _count(found: Mapping[str, Plain]) -> int:
    count = found["count"]
    assert isinstance(count, int)
    return count


def _worded(kind: str, found: Mapping[str, Plain]) -> str:
    """Return a finding in words: `2 files missing: torch/version.py (torch), torch/b.so (torch)`."""
    count = _count(found)
    one, several = _WORDS.get(kind, ("path that cannot be read", "paths that cannot be read"))
    first = [f"{row['path']} ({_aside(row)})" for row in rows(found["first"])][:_SHOWN]
    more = "" if count <= len(first) else f", and {count - len(first)} more"
    return f"{count} {one if count == 1 else several}: {', '.join(first)}{more}"


def _aside(row: Mapping[str, Plain]) -> str:
    return str(row["distribution"]) if row.get("detail") is None else f"{row['distribution']}, {row['detail']}"


KIND = EnvironmentIntact
