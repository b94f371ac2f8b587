"""The arguments of a condition or an action: plain data whose every part knows its place in the playbook.

Scalars have been read as what their schema wants: a text field holds the characters that were written (`13.0`,
`0644`), an integer or boolean field holds an int or a bool. The getters convert and word what is wrong; they never look
at a node.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import TypeAlias, TypeVar

from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location
from stackplan.model.quantity import duration_s, size_bytes
from stackplan.model.secret import Secret, Text

Value: TypeAlias = "bool | int | float | str | Secret | tuple[Value, ...] | Mapping[str, Value] | None"
Path: TypeAlias = tuple[str | int, ...]
T = TypeVar("T")


def holds_secret(value: Value) -> bool:
    """Return whether a secret stands anywhere in `value`."""
    if isinstance(value, Mapping):
        return any(holds_secret(item) for item in value.values())
    if isinstance(value, tuple):
        return any(holds_secret(item) for item in value)
    return isinstance(value, Secret)


def _as_written(value: Value) -> str:
    """Return a value as a playbook writes it in one line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_as_written, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_as_written(item)}' for key, item in value.items())}}}"
    return str(value)


@dataclass(frozen=True, slots=True)
class Arguments:
    """`values` by key; `at` is where the mapping begins, `places` where each part of it stands, by path.

    `step_environment` is the `env` of an action's step, for a kind whose dry run has to run as its action will;
    `secret_paths` are the files, as they are written, to which a step of the playbook writes a secret.
    """

    values: Mapping[str, Value]
    at: Location
    places: Mapping[Path, Location] = field(default_factory=lambda: MappingProxyType({}))
    step_environment: Mapping[str, Text] = field(default_factory=lambda: MappingProxyType({}))
    secret_paths: frozenset[str] = frozenset()

    def __contains__(self, key: str) -> bool:
        return self.values.get(key) is not None

    def place(self, *path: str | int) -> Location:
        """Return the location of the part at `path`, or of the nearest part that encloses it."""
        for end in range(len(path), 0, -1):
            if (found := self.places.get(path[:end])) is not None:
                return found
        return self.at

    def invalid(self, key: str, summary: str, *, expected: str | None = None, remedy: str | None = None) -> Invalid:
        """Return (for raising) an error at `key`, showing what stands there."""
        value = self.values.get(key)
        observed = None if value is None else _as_written(value)
        place = self.place(key)
        return Invalid([Diagnosis(summary=summary, expected=expected, observed=observed, at=place, remedy=remedy)])

    def secret_text(self, key: str) -> Text:
        """Return the text at `key`, which may be a secret. Raise Invalid when there is none."""
        value = self.values.get(key)
        if value is None:
            raise self.invalid(key, f"`{key}` is missing", expected="a text")
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (str, Secret)):
            return value
        if isinstance(value, (int, float)):
            return str(value)
        raise self.invalid(key, f"`{key}` is not a text", expected="a text")

    def text(self, key: str, default: str | None = None) -> str:
        """Return the text at `key`, or `default`. No secret may stand here: it would reach a command line or a log."""
        if key not in self and default is not None:
            return default
        value = self.secret_text(key)
        if isinstance(value, Secret):
            raise self.invalid(key, f"`{key}` may not hold a secret", remedy="pass it through `env` instead")
        return value

    def optional_text(self, key: str) -> str | None:
        return self.text(key) if key in self else None

    def optional_secret_text(self, key: str) -> Text | None:
        return self.secret_text(key) if key in self else None

    def flag(self, key: str, *, default: bool) -> bool:
        value = self.values.get(key)
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        raise self.invalid(key, f"`{key}` is not `true` or `false`", expected="true or false")

    def optional_flag(self, key: str) -> bool | None:
        return self.flag(key, default=False) if key in self else None

    def optional_integer(self, key: str) -> int | None:
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, str) and re.fullmatch(r"[+-]?\d+", value):
            return int(value)
        raise self.invalid(key, f"`{key}` is not a whole number", expected="a whole number")

    def integer(self, key: str, default: int) -> int:
        value = self.optional_integer(key)
        return default if value is None else value

    def secret_texts(self, key: str) -> tuple[Text, ...]:
        """Return the list at `key` (a single text counts as a list of one; nothing as an empty one)."""
        value = self.values.get(key)
        if value is None:
            return ()
        if not isinstance(value, tuple):
            return (self.secret_text(key),)
        items = Arguments(
            {str(index): item for index, item in enumerate(value)},
            self.place(key),
            {(str(index),): self.place(key, index) for index in range(len(value))},
        )
        return tuple(items.secret_text(str(index)) for index in range(len(value)))

    def texts(self, key: str) -> tuple[str, ...]:
        """As `secret_texts`, for fields in which no secret may stand."""
        found = []
        for index, item in enumerate(self.secret_texts(key)):
            if isinstance(item, Secret):
                summary = f"`{key}` may not hold a secret"
                remedy = "pass it through `env` instead"
                raise Invalid([Diagnosis(summary=summary, at=self.place(key, index), remedy=remedy)])
            found.append(item)
        return tuple(found)

    def environment(self, key: str = "env") -> Mapping[str, Text]:
        """Return the mapping of texts at `key`, empty when absent; its values may be secrets."""
        section = self.section(key)
        return {} if section is None else {name: section.secret_text(name) for name in section.values}

    def section(self, key: str) -> "Arguments | None":
        """Return the mapping at `key` as arguments of its own."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.invalid(key, f"`{key}` is not a mapping", expected="a mapping")
        places = {path[1:]: place for path, place in self.places.items() if path[:1] == (key,) and len(path) > 1}
        return Arguments(value, self.place(key), places)

    def converted(self, key: str, convert: Callable[[str], T], expected: str) -> T:
        """Return `convert(text)`; a ValueError of it becomes an error at `key` that says what is `expected`."""
        text = self.text(key)
        try:
            return convert(text)
        except ValueError as error:
            raise self.invalid(key, f"`{key}` is not {expected}", expected=expected) from error

    def duration_s(self, key: str, default: float) -> float:
        return self.converted(key, duration_s, "a duration such as 30s, 5m or 1h") if key in self else default

    def optional_size_bytes(self, key: str) -> int | None:
        return self.converted(key, size_bytes, "a size such as 30GiB or 500MB") if key in self else None
