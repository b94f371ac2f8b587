"""The kind `python_import`: modules import in a fresh interpreter."""

from collections.abc import Mapping
from typing import ClassVar, Self

from stackplan.conditions._answers import mapping, unanswered
from stackplan.conditions._environment import Environment
from stackplan.model.arguments import Arguments
from stackplan.model.condition import Recheck
from stackplan.model.facts import Facts, Plain, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.verdict import Verdict, held, not_held


@dataclass(frozen=True, slots=True)
class PythonImport(ConditionKind):
    """Modules import, each in a fresh interpreter of its own, as a service would start it.

    The current folder and PYTHON* variables play no part. Shows the last line of the traceback, or the signal that
    ended the interpreter. It does not see what a module loads only when it is used (`libnvrtc`, kernels): ask for that
    with `python`.
    """

    recheck: ClassVar[Recheck] = Recheck.FINAL

    environment: Environment
    modules: tuple[str, ...]

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        environment = Environment.read(arguments)
        modules = arguments.texts("modules")
        if not modules:
            raise arguments.invalid("modules", "`modules` names no module", expected="modules such as [torch]")
        for name in modules:
            if not all(part.isidentifier() for part in name.split(".")):
                summary = f"{name!r} in `modules` is no module's name"
                raise arguments.invalid("modules", summary, expected="names as `import` takes them, such as sgl_kernel")
        return cls(environment, tuple(dict.fromkeys(modules)))

    def describe(self) -> str:
        return f"import {', '.join(self.modules)}"

    def queries(self) -> tuple[Query, ...]:
        return (self._query,)

    def evaluate(self, facts: Facts) -> Verdict:
        text = self.describe()
        told = mapping(facts[self._query])
        if told is None:
            return unanswered(text, facts[self._query])
        if (fault := self.environment.without_interpreter(told)) is not None:
            return not_held(text, expected="an interpreter", observed=fault)
        failed = {name: line for name, line in _lines(told).items() if line is not None}
        where = str(self.environment)
        if not failed:
            return held(text, observed="imported", evidence=where)
        return not_held(
            f"import {', '.join(failed)}",
            expected="no exception",
            observed=_together(failed),
            evidence=where,
        )

    @property
    def _query(self) -> Query:
        return self.environment.query("imports", modules=self.modules)


def _together(failed: Mapping[str, str]) -> str:
    """Return why modules do not import, each reason once: what is missing in one package keeps others from loading."""
    names: dict[str, list[str]] = {}
    for name, line in failed.items():
        names.setdefault(line, []).append(name)
    if len(names) == 1:
        return next(iter(names))
    return "; ".join(f"{', '.join(having)}: {line}" for line, having in names.items())


def _lines(told: Mapping[str, Plain]) -> dict[str, str | None]:
    modules = told["modules"]
    assert isinstance(modules, dict)
    return {name: None if line is None else str(line) for name, line in modules.items()}


KIND = PythonImport
