"""The kind `python`: the value of an expression in an environment."""

from typing import ClassVar, Self

from stackplan.conditions._answers import mapping, matching, one_line, unanswered
from stackplan.conditions._environment import Environment
from stackplan.model.arguments import Arguments
from stackplan.model.condition import Recheck
from stackplan.model.facts import Facts, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.matcher import Matcher, read_matcher
from stackplan.model.verdict import Verdict, held, not_held

_MATCHERS = ("equals", "contains", "matches", "version", "at_least", "at_most", "one_of")


@dataclass(frozen=True, slots=True)
class Python(ConditionKind):
    """An expression, evaluated in a fresh interpreter of the environment, has a value that matches.

    Without a matcher the value has to be true in Python's sense. The value is compared as `str` gives it; `true` and
    `false` stand for Python's True and False. An expression that raises has no value: the verdict is unknown, with the
    last line of the traceback.
    """

    recheck: ClassVar[Recheck] = Recheck.FINAL

    environment: Environment
    expr: str
    imports: tuple[str, ...] = ()
    matcher: Matcher | None = None

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        expr = arguments.text("expr")
        try:
            compile(expr.strip(), "expr", "eval")
        except (SyntaxError, ValueError) as error:
            raise arguments.invalid("expr", f"`expr` is no Python expression: {error}") from error
        stated = {key: arguments.values[key] for key in _MATCHERS if key in arguments}
        places = {("matcher", *path): place for path, place in arguments.places.items() if path[:1] != ("matcher",)}
        inner = Arguments({"matcher": stated} if stated else {}, arguments.at, places)
        return cls(
            Environment.read(arguments), expr.strip(), arguments.texts("imports"), read_matcher(inner, "matcher")
        )

    def describe(self) -> str:
        expr = one_line(self.expr, 80)
        return f"{expr} is true" if self.matcher is None else matching(expr, self.matcher)

    def queries(self) -> tuple[Query, ...]:
        return (self._query,)

    def evaluate(self, facts: Facts) -> Verdict:
        text = self.describe()
        expected = "true" if self.matcher is None else self.matcher.text
        told = mapping(facts[self._query])
        if told is None:
            return unanswered(text, facts[self._query], expected=expected)
        if (fault := self.environment.without_interpreter(told)) is not None:
            return not_held(text, expected="an interpreter", observed=fault)
        value, where = str(told["text"]), str(self.environment)
        # YAML writes a truth value in small letters, Python in a capital: either form may stand in the playbook.
        forms = {value, value.lower()} if told["type"] == "bool" else {value}
        accepted = told["truth"] is True if self.matcher is None else any(map(self.matcher.accepts, forms))
        if accepted:
            return held(text, observed=one_line(value), evidence=where)
        return not_held(text, expected=expected, observed=one_line(value) or "an empty text", evidence=where)

    @property
    def _query(self) -> Query:
        return self.environment.query("python_value", expr=self.expr, imports=self.imports)


KIND = Python
