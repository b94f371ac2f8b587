"""The options of a selection, as one writes them again behind another command; what may be a secret is left open."""

import shlex
from collections.abc import Mapping

from stackplan.cli.selection import Selection
from stackplan.language.secret_name import is_secret_name
from stackplan.model.playbook import Playbook, SecretSource
from stackplan.model.secret import without_passwords

LONGEST = 200


def same_selection(selection: Selection, playbook: Playbook) -> str:
    """Return the options that select the same nodes and variables, quoted for a shell, with a space ahead.

    Empty where none was given. Of a variable whose value may be a secret, or is long, the name alone: `--var KEY=…`.
    """
    options = [] if selection.inventory is None else ["-i", str(selection.inventory)]
    options += [word for node in selection.nodes for word in ("-n", node)]
    options += ["--local"] if selection.local else []
    options += [word for pattern in selection.limit for word in ("-l", pattern)]
    options += [word for file in selection.variable_files for word in ("--vars", str(file))]
    written = [shlex.quote(word) for word in options]
    # Of several for one name the last one counts.
    assigned = {name: value for name, _, value in (it.partition("=") for it in selection.assignments)}
    secrets = _secrets(assigned, playbook)
    for name, value in assigned.items():
        shown = not _is_secret(name, playbook) and _can_be_shown(value, secrets)
        written += ["--var", shlex.quote(f"{name}={value}") if shown else f"{shlex.quote(name)}=…"]
    return "".join(f" {word}" for word in written)


def _is_secret(name: str, playbook: Playbook) -> bool:
    own = playbook.variables.get(name)
    return is_secret_name(name) or (own is not None and isinstance(own.value, SecretSource))


def _secrets(assigned: Mapping[str, str], playbook: Playbook) -> tuple[str, ...]:
    """Return the values that are secrets by their names alone: another variable may hold one of them."""
    own = {name: it.value for name, it in playbook.variables.items() if isinstance(it.value, str)}
    return tuple(value for name, value in [*own.items(), *assigned.items()] if value and _is_secret(name, playbook))


def _can_be_shown(value: str, secrets: tuple[str, ...]) -> bool:
    """Return whether a value fits a line and holds neither a secret nor a password of an address."""
    holds_one = any(it in value for it in secrets) or without_passwords(value) != value
    return not holds_one and len(value) <= LONGEST and value.isprintable()
