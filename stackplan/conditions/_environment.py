"""The arguments `venv` and `python`, which say whose packages a condition speaks of."""

from collections.abc import Mapping
from typing import Self

from stackplan.model.arguments import Arguments, Value
from stackplan.model.distribution import distributions_query
from stackplan.model.facts import Plain, Query
from stackplan.model.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment's folder, or an interpreter; exactly one is given, as written in the playbook."""

    venv: str | None = None
    python: str | None = None

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        venv, python = arguments.optional_text("venv"), arguments.optional_text("python")
        if venv is None and python is None:
            expected = "`venv` (an environment's folder) or `python` (an interpreter)"
            raise arguments.invalid("venv", "neither `venv` nor `python` is given", expected=expected)
        if venv is not None and python is not None:
            raise arguments.invalid("python", "`venv` and `python` are both given", remedy="take one of them away")
        return cls(venv, python)

    def __str__(self) -> str:
        return self.venv or self.python or ""

    @property
    def distributions(self) -> Query:
        return distributions_query(venv=self.venv, python=self.python)

    def query(self, kind: str, **more: Value) -> Query:
        """Return a question about this environment."""
        whose: dict[str, Value] = {"venv": self.venv} if self.venv is not None else {"python": self.python}
        return Query(kind, {**whose, **more})

    @property
    def expected(self) -> str:
        """What has to be there before anything can be said of its packages."""
        return "a virtual environment" if self.venv else "an interpreter"

    def absence(self, told: Mapping[str, Plain]) -> str | None:
        """Return why an answer knows of no environment here, None when there is one."""
        if not told["exists"]:
            return f"there is no {self}"
        if not told["environment"]:
            return f"{self} is no virtual environment" if self.venv else f"{self} cannot be started"
        return None

    def without_interpreter(self, told: Mapping[str, Plain]) -> str | None:
        """Return why nothing can be run in this environment, None when something can."""
        absence = self.absence(told)
        if absence is not None or told["interpreter"] is not None:
            return absence
        return str(told["interpreter_fault"])
