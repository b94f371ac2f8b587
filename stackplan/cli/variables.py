"""The variables of a run, as the journal and the reports tell of them."""

import json
from collections.abc import Iterable, Mapping

from stackplan.language.variables import Scope
from stackplan.model.arguments import Value
from stackplan.model.secret import Secret, shown

_LONGEST = 2000
_DIFFERS = "(differs between nodes)"


def variables_of(scopes: Iterable[Scope]) -> dict[str, str]:
    """Return the value of each variable that a node's playbook used, by name; secrets as `***`."""
    found: dict[str, str] = {}
    for scope in scopes:
        for name, value in scope.resolved.items():
            text = _text(value)
            found[name] = text if found.get(name, text) == text else _DIFFERS
    return dict(sorted(found.items()))


def _text(value: Value) -> str:
    text = shown(value) if isinstance(value, (str, Secret)) else json.dumps(value, default=_plain, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)
