"""The variables of a run, as the journal and the reports tell of them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

from stackplan.cli._variable_mask import VariableMask
from stackplan.cli.preparation import Prepared
from stackplan.language.variables import Scope
from stackplan.model.arguments import Value
from stackplan.model.playbook import SecretSource
from stackplan.model.report import Report
from stackplan.model.secret import MASK, Secret, shown

_LONGEST = 2000
_MOST_ORIGINS = 3
_DIFFERS = "(differs between nodes)"


def variables_of(scopes: Iterable[Scope], mask: VariableMask | None = None) -> dict[str, str]:
    """Return the value of each variable that a node's playbook used, by name; secrets as `***`, also those by name.

    What holds the value of one of these, whatever its own name is, is shown without it.
    """
    nodes = tuple(scopes)
    mask = mask or VariableMask.of(nodes)
    found: dict[str, str] = {}
    for scope in nodes:
        for name, value in scope.resolved.items():
            text = _text(mask.hidden(name, value))
            found[name] = text if found.get(name, text) == text else _DIFFERS
    return dict(sorted(found.items()))


def with_variables(report: Report, prepared: Prepared) -> Report:
    """Return the report with the variables that were used, and who set those that are not the playbook's own."""
    hidden = prepared.redactor.text
    own = [(name, it.value) for name, it in prepared.playbook.variables.items()]
    mask = VariableMask.of(prepared.scopes.values(), own)
    variables = variables_of(prepared.scopes.values(), mask)
    origins = _origins(prepared)
    overridden = {name: _text(_own(name, value, mask)) for name, value in own if name in variables and name in origins}
    return replace(
        report,
        variables={name: hidden(text) for name, text in variables.items()},
        variable_origins={name: hidden(origins[name]) for name in variables if name in origins},
        variables_overridden={name: hidden(text) for name, text in sorted(overridden.items())},
    )


def _origins(prepared: Prepared) -> dict[str, str]:
    """Return who set a variable on the nodes, in the order of these, unless it was the playbook on all of them."""
    own = {name: variable.origin for name, variable in prepared.playbook.variables.items()}
    found: dict[str, dict[str, None]] = {}
    for scope in prepared.scopes.values():
        for name, variable in scope.variables.items():
            found.setdefault(name, {})[variable.origin] = None
    return {name: _listed([*setting]) for name, setting in found.items() if [*setting] != [own.get(name)]}


def _own(name: str, value: "Value | SecretSource", mask: VariableMask) -> Value:
    """Return what the playbook sets a variable to, as it is written; of a secret nothing."""
    return MASK if isinstance(value, SecretSource) else mask.hidden(name, value)


def _listed(origins: list[str]) -> str:
    first = ", ".join(origins[:_MOST_ORIGINS])
    return f"{first} and {len(origins) - _MOST_ORIGINS} more" if len(origins) > _MOST_ORIGINS else first


def _text(value: Value) -> str:
    text = shown(value) if isinstance(value, (str, Secret)) else json.dumps(value, default=_plain, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)
