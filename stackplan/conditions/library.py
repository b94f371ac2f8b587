"""The kind `library`: which file a library's name leads a program to."""

import re
from collections.abc import Mapping
from typing import ClassVar, Self

from stackplan.conditions._answers import listed, mapping, unanswered
from stackplan.conditions._environment import Environment
from stackplan.conditions._specifier import Specifier, read_specifier, version_verdict
from stackplan.model.arguments import Arguments, Value
from stackplan.model.condition import Recheck
from stackplan.model.facts import Facts, Plain, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.verdict import Verdict, conjunction, held, not_held, unknown


@dataclass(frozen=True, slots=True)
class Library(ConditionKind):
    """A program that asks the loader for a library gets the file that is meant, of the version that is meant.

    The library is really loaded, in a process of its own: by the environment's interpreter, after torch where torch is
    installed, or in the environment of the user's login shell. The version is what the library itself says (NCCL,
    cuDNN, the CUDA runtime, nvrtc, cuBLAS and their like are called), else what its file's name ends with. So a copy
    that nobody loads, a `compat` folder and an old LD_LIBRARY_PATH show. It does not see what a service's unit sets.
    """

    recheck: ClassVar[Recheck] = Recheck.FINAL

    name: str
    environment: Environment | None = None
    user: str | None = None
    path: str | None = None
    version: Specifier | None = None

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        name = arguments.text("name")
        if not re.fullmatch(r"lib[A-Za-z0-9_+-]+\.so(\.\d+)*", name):
            expected = "a name as the loader takes it, such as libnccl.so.2"
            raise arguments.invalid("name", "`name` is not a library's name", expected=expected)
        if "user" in arguments and ("venv" in arguments or "python" in arguments):
            remedy = "take one away: `venv` asks as the step's user, `user` asks that user's login shell"
            raise arguments.invalid("user", "`user` and an environment are both given", remedy=remedy)
        of_environment = "venv" in arguments or "python" in arguments
        path = arguments.optional_text("path")
        if path is not None and not path.startswith(("/", "~")):
            raise arguments.invalid("path", "`path` is not a whole path", expected="a path that begins with / or ~/")
        return cls(
            name=name,
            environment=Environment.read(arguments) if of_environment else None,
            user=arguments.optional_text("user"),
            path=path,
            version=read_specifier(arguments, "version"),
        )

    def describe(self) -> str:
        whose = str(self.environment) if self.environment else f"{self.user}'s login" if self.user else "a login"
        stated = (self.version and self.version.text, self.path and f"from {self.path}", f"in {whose}")
        return " ".join([self.name, *(part for part in stated if part)])

    def queries(self) -> tuple[Query, ...]:
        return (self._query,)

    def evaluate(self, facts: Facts) -> Verdict:
        text = self.describe()
        told = mapping(facts[self._query])
        wanted = (self.version and self.version.text) or self.path or "a library that loads"
        if told is None:
            return unanswered(text, facts[self._query], expected=wanted)
        if self.environment is not None and (fault := self.environment.without_interpreter(told)) is not None:
            return not_held(text, expected="an interpreter", observed=fault)
        if told["loaded"] is None:
            return not_held(text, expected=wanted, observed=str(told["fault"]), evidence=_where(told))
        evidence = _evidence(told)
        parts = []
        if self.path is not None:
            stated = f"{self.name} from {self.path}"
            observed = str(told["loaded"])
            if told["within"]:
                parts.append(held(stated, observed=observed))
            else:
                parts.append(not_held(stated, expected=self.path, observed=observed, evidence=_where(told)))
        if self.version is not None:
            parts.append(self._of_version(told, self.version, evidence))
        return conjunction(text, tuple(parts)) if parts else held(text, observed=str(told["loaded"]), evidence=evidence)

    def _of_version(self, told: Mapping[str, Plain], wanted: Specifier, evidence: str) -> Verdict:
        text = f"{self.name} {wanted.text}"
        if told["version"] is None:
            why = str(told["call_fault"] or f"{told['file']} does not say its version, and its name bears none")
            return unknown(text, why=why, expected=wanted.text)
        return version_verdict(text, wanted, str(told["version"]), evidence)

    @property
    def _query(self) -> Query:
        asked: dict[str, Value] = {"name": self.name, "path": self.path}
        if self.environment is not None:
            return self.environment.query("library", **asked)
        return Query("library", asked, self.user)


def _evidence(told: Mapping[str, Plain]) -> str:
    by = f"by {told['source']}" if told["source"] is not None else None
    others = told["others"]
    assert isinstance(others, list)
    unused = f"not loaded: {listed([str(it) for it in others], 3)}" if others else None
    return ", ".join(str(part) for part in (told["loaded"], by, _setting(told), unused) if part)


def _where(told: Mapping[str, Plain]) -> str | None:
    others = told["others"]
    assert isinstance(others, list)
    found = f"not loaded: {listed([str(it) for it in others], 3)}" if others else None
    torch = f"import torch: {told['torch_fault']}" if told["torch_fault"] is not None else None
    return ", ".join(part for part in (_setting(told), found, torch) if part) or None


def _setting(told: Mapping[str, Plain]) -> str | None:
    return f"LD_LIBRARY_PATH={told['library_path']}" if told["library_path"] is not None else None


KIND = Library
