"""What the node would answer once an installer had done what its dry run says. Pure; imports model only."""

from collections.abc import Mapping

from stackplan.actions._dry_run import DryRun
from stackplan.actions._installer_facts import InstallerFacts
from stackplan.actions._one_environment import concerned
from stackplan.actions._package_rows import (
    Row,
    Rows,
    canonical,
    changed_names,
    frozen,
    installed,
    lacks_record,
    listed_rows,
    own,
    predicted,
    read_rows,
    without,
)
from stackplan.actions._predicted_libraries import libraries_answer
from stackplan.actions._predicted_torch import torch_answer
from stackplan.actions._target import told
from stackplan.actions._written_anew import foretold_times
from stackplan.model.arguments import Value
from stackplan.model.cached import cached_property
from stackplan.model.facts import Answer, Facts, Known, Plain, Query, Unknown
from stackplan.model.frozen import dataclass

CARRIED = "carried"
"""The key of a predicted answer of `distributions` under which the next dry run finds what it has to lay on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The packages of an environment, on disk or predicted. `value` is the answer of `distributions` that tells them;
    `make` how the environment is made, where it is not there yet.
    """

    value: Mapping[str, Plain]
    rows: Rows
    make: Mapping[str, Value] | None
    removed: tuple[str, ...]
    round: int

    @classmethod
    def read(cls, value: Mapping[str, Plain]) -> "Environment":
        carried = value.get(CARRIED)
        known = carried if isinstance(carried, dict) else {}
        removed, make = known.get("removed"), known.get("make")
        rows = value["distributions"]
        assert isinstance(rows, list)
        return cls(
            value=value,
            rows=read_rows(rows),
            make=_invocation(make),
            removed=tuple(str(it) for it in removed) if isinstance(removed, list) else (),
            round=int(str(known.get("round", 0))),
        )

    def carried(self) -> dict[str, Value] | None:
        """Return what a dry run has to lay over the environment on disk; None where nothing is predicted."""
        if self.round == 0:
            return None
        return {"make": self.make, "removed": self.removed, "added": predicted(self.rows)}

    def unremovable(self, names: tuple[str, ...]) -> tuple[Row, ...]:
        """Return the distributions of these names that no installer can take away: they have no RECORD."""
        return tuple(row for row in self.rows if own(row) and canonical(row) in names and lacks_record(row))

    def without(self, names: tuple[str, ...]) -> "Environment":
        """Return it with the distributions of these names taken away; those without RECORD stay, as they do on disk."""
        rows, on_disk = without(self.rows, names)
        return self if rows is self.rows else self.changed(rows, (*self.removed, *on_disk))

    def after(self, dry_run: DryRun) -> "Environment":
        """Return it with what an installer would do."""
        if not dry_run.after:
            return self
        bare = self.without(tuple(dry_run.after))
        return bare.changed(installed(bare.rows, dry_run, self.round + 1), bare.removed)

    def answer(self) -> dict[str, Plain]:
        """Return what `distributions` would say."""
        carried: dict[str, Plain] = {"make": _thawed(self.make), "removed": list(self.removed), "round": self.round}
        return {**self.value, "distributions": listed_rows(self.rows), CARRIED: carried}

    def row(self, name: str) -> Row | None:
        return next((row for row in self.rows if canonical(row) == name), None)

    def changed(self, rows: Rows, removed: tuple[str, ...]) -> "Environment":
        """Return it with other rows, one round on."""
        return Environment(value=self.value, rows=rows, make=self.make, removed=removed, round=self.round + 1)


def made(value: Mapping[str, Plain], make: Mapping[str, Value]) -> Environment:
    """Return the environment that would be made, from what its shadow was found to hold."""
    first = Environment.read(value)
    return Environment(value=value, rows=first.rows, make=make, removed=(), round=1)


@dataclass(frozen=True, kw_only=True)
class Scene:
    """The facts before, and the environment as it was and as it would be."""

    facts: Facts
    node: InstallerFacts
    before: Environment
    after: Environment

    def answers(self) -> dict[Query, Answer]:
        """Return the answers that would be others than before, all questions considered that were asked already."""
        found = {}
        for query, same in concerned(self.facts, self.node):
            answer = self.facts.answers[query]
            told = self._told(query, answer) if same else self._not_known
            if told is not answer:
                found[query] = told
        return found

    @cached_property
    def changed(self) -> frozenset[str]:
        """The canonical names whose distributions are others than before."""
        return changed_names(self.before.rows, self.after.rows)

    @property
    def _created(self) -> bool:
        return self.after.make is not None and self.before.make is None

    def _told(self, query: Query, answer: Answer) -> Answer:
        if self._created and query.arguments.get("venv") is None:
            # Of an interpreter only its own word is known, and it is not there yet.
            return self._not_known
        if query.kind == "distributions":
            return Known({**self.after.answer(), **self._head(answer)})
        if query.kind == "installer":
            return self._installers(answer)
        if query.kind == "torch":
            return self._torch(answer)
        return self._of_files(query, answer)

    def _of_files(self, query: Query, answer: Answer) -> Answer:
        left = frozenset(canonical(row) for row in self.after.rows)
        if query.kind == "record_times":
            return foretold_times(answer, self.changed, left, self.after.round)
        if query.kind == "cuda_libraries" and (self.changed or self._created):
            return libraries_answer(answer, self._head(answer), self.changed, left)
        return self._not_known

    @property
    def _not_known(self) -> Unknown:
        names = ", ".join(sorted(self.changed)[:3]) or self.node.venv
        return Unknown(f"not known before {names} {'is' if len(self.changed) == 1 else 'are'} changed")

    def _installers(self, answer: Answer) -> Answer:
        if not isinstance(answer, Known) or not isinstance(answer.value, dict):
            return answer
        pip = self.after.row("pip")
        told = {**answer.value, "pip": None if pip is None else {"version": pip["version"]}}
        if self._created:
            told |= {
                "kind": "environment",
                "interpreter": f"{told['venv']}/bin/python",
                "owner": self.node.user,
                "writable": True,
                "obstacle": None,
            }
        return answer if told == answer.value or not (self._created or "pip" in self.changed) else Known(told)

    def _torch(self, answer: Answer) -> Answer:
        if "torch" not in self.changed and not self._created:
            return answer
        return torch_answer(self._head(answer), self.after.row("torch"))

    def _head(self, answer: Answer) -> dict[str, Plain]:
        """Return what answers about the environment begin with: as before, or as it is made, by the name that was
        asked with.
        """
        head = {key: value for key, value in self.after.value.items() if key in _HEAD}
        known = {key: value for key, value in told(answer).items() if key in (*_HEAD, _THROUGH)}
        if not self._created:
            return {**head, **known}
        path = str(known.get("path", head["path"])).rstrip("/")
        through = {_THROUGH: known[_THROUGH]} if _THROUGH in known else {}
        return {**{key: _moved(value, str(head["path"]), path) for key, value in head.items()}, **through}


_THROUGH = "through"
_HEAD = ("path", "exists", "environment", "interpreter", "interpreter_fault", "python_version", "site_packages")


def _invocation(make: Plain) -> Mapping[str, Value] | None:
    return {key: frozen(value) for key, value in make.items()} if isinstance(make, dict) else None


def _moved(value: Plain, before: str, after: str) -> Plain:
    """Return paths below one name of a folder as paths below another one."""
    if isinstance(value, list):
        return [_moved(item, before, after) for item in value]
    if isinstance(value, str) and (value == before or value.startswith(f"{before}/")):
        return after + value[len(before) :]
    return value


def _thawed(value: Value) -> Plain:
    if isinstance(value, Mapping):
        return {key: _thawed(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_thawed(item) for item in value]
    assert value is None or isinstance(value, (bool, int, float, str))
    return value
