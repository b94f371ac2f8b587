"""Expressions and templates, read once and evaluated with bounded cost.

Those that only name variables are filled in at once; what does more is Jinja's (`language.compiled`), which is imported
when it is needed. Everything that goes wrong is a `BadTemplate`; the caller knows the place.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from types import ModuleType
from typing import Any

from stackplan.language.interpolation import Interpolation, interpolation
from stackplan.language.yielded import BadTemplate
from stackplan.model.arguments import Value
from stackplan.model.frozen import dataclass
from stackplan.model.regular import regular
from stackplan.model.secret import masked

_NAME = regular(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Expression:
    """A template that was read: `names` are the variables that it uses; `native` if it is exactly one expression."""

    names: frozenset[str]
    native: bool
    _yielded: Callable[[Mapping[str, Any]], Value]

    def value(self, variables: Mapping[str, Any]) -> Value:
        """Return what it yields: the value itself when it is exactly one expression, else a text. Raise BadTemplate."""
        try:
            return self._yielded(variables)
        except BadTemplate:
            raise
        except Exception as error:
            # Whatever an evaluation raises is a fault of the template.
            worded: BadTemplate = _jinja().worded(error)
            raise worded from error

    def holds(self, variables: Mapping[str, Any]) -> bool:
        """Return whether what it yields is true. Raise BadTemplate, also for a text, which would always be true."""
        value = self.value(variables)
        if isinstance(value, str):
            if value in ("true", "false", ""):
                return value == "true"
            raise BadTemplate(
                f"it yields the text {masked(value)[:60]!r}, which is neither true nor false",
                discreet="it yields a text, which is neither true nor false",
                remedy="compare it, as in `name == 'text'`",
            )
        return bool(value)


@lru_cache(maxsize=8192)
def template(text: str) -> Expression:
    """Return the template that a text is. Raise BadTemplate when it is none."""
    if (found := interpolation(text)) is not None:
        return Expression(found.names, found.native, partial(_filled, found, partial(_template, text)))
    return _template(text)


def _template(text: str) -> Expression:
    found = _jinja().template(text)
    return Expression(found.names, found.native, found.evaluate)


@lru_cache(maxsize=1024)
def condition(text: str) -> Expression:
    """Return the expression of a `when`, with or without braces around it. Raise BadTemplate when it is none."""
    bare = text.strip()
    if bare.startswith("{{") and bare.endswith("}}"):
        bare = bare[2:-2]
    if _NAME.fullmatch(name := bare.strip()) and (found := interpolation("{{ " + name + " }}")) is not None:
        return Expression(found.names, found.native, partial(_filled, found, partial(_condition, text, bare)))
    return _condition(text, bare)


def _condition(text: str, bare: str) -> Expression:
    found = _jinja().condition(text, bare)
    return Expression(found.names, found.native, found.evaluate)


@lru_cache(maxsize=8192)
def names(text: str) -> frozenset[str]:
    """Return the variables that a template uses. Raise BadTemplate when it cannot be read."""
    if (found := interpolation(text)) is not None:
        return found.names
    used: frozenset[str] = _jinja().names(text)
    return used


def _filled(found: Interpolation, otherwise: Callable[[], Expression], variables: Mapping[str, Any]) -> Value:
    # Jinja has the words for a name that is not there.
    return found.filled(variables) if found.names <= variables.keys() else otherwise().value(variables)


def _jinja() -> ModuleType:
    from stackplan.language import compiled  # noqa: PLC0415 - imports Jinja, which most playbooks can be spared

    return compiled
