"""What may be shown of a run's variables: secrets by their name, and by value whatever holds one of them.

A variable that is declared a secret is a Secret, and so is all that is made with it. One that is a secret by its name
alone (`hf_token: hf_…`) is a text like any other, which `header: "Bearer {{ hf_token }}"` holds under another name.
"""

from collections.abc import Iterable, Iterator, Mapping

from stackplan.language.secret_name import in_clear, is_secret_name
from stackplan.language.variables import Scope
from stackplan.model.arguments import Value
from stackplan.model.frozen import dataclass
from stackplan.model.secret import MASK, SHORTEST_SECRET, Redactor, passwords, without_passwords


@dataclass(frozen=True, slots=True)
class VariableMask:
    """Hides the secrets of some variables, wherever they stand; a very short one where it is the whole value."""

    secrets: frozenset[str]
    redactor: Redactor

    @classmethod
    def of(cls, scopes: Iterable[Scope], others: Iterable[tuple[str, object]] = ()) -> "VariableMask":
        """Return the mask of the secrets that the variables of some nodes are by their names, or hold in addresses.

        `others` are names and values of variables that no node has as they are.
        """
        every = [*(it for scope in scopes for it in _values(scope)), *others]
        found = frozenset(secret for name, value in every for secret in _in(name, value))
        return cls(found, Redactor(frozenset(it for it in found if len(it) >= SHORTEST_SECRET)))

    def hidden(self, name: str, value: Value) -> Value:
        """Return a value with `***` in the place of the secrets in it, and of parts that are one by their key."""
        if isinstance(value, Mapping):
            return {key: self.hidden(key, item) for key, item in value.items()}
        if isinstance(value, tuple):
            return tuple(self.hidden(name, item) for item in value)
        text = _written(value)
        if text is None:
            return value
        if _is_secret(name, text) or text.strip() in self.secrets:
            return MASK
        return self.redactor.text(without_passwords(text)) if isinstance(value, str) else value


def _values(scope: Scope) -> Iterator[tuple[str, object]]:
    """Yield the variables of a node as they were filled in, and those that nothing needed as they were written."""
    resolved = scope.resolved
    yield from resolved.items()
    yield from ((name, it.value) for name, it in scope.variables.items() if name not in resolved)


def _in(name: str, value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _in(str(key), item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _in(name, item)
    elif (text := _written(value)) is not None:
        if _is_secret(name, text):
            yield text.strip()
        if "://" in text and "{{" not in text:
            yield from passwords(text)


def _written(value: object) -> str | None:
    """Return a value as it is written; None of a flag, of nothing, and of a Secret, which hides itself."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    return str(value)


def _is_secret(name: str, text: str) -> bool:
    return is_secret_name(name) and in_clear(text, shortest=1)
