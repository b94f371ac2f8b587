"""Templates that only name variables, `a {{ b }} c`, as nearly all do: filled in without compiling anything."""

from collections.abc import Mapping
from typing import Any

from stackplan.language.cost import LONGEST_TEXT, MOST_PARTS, TooMuch, weight
from stackplan.language.yielded import plain, readable, shown
from stackplan.model.arguments import Value
from stackplan.model.frozen import dataclass
from stackplan.model.regular import regular

_NAMED = regular(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_WORDS = frozenset({
    "and", "or", "not", "in", "is", "if", "elif", "else", "for", "true", "false", "none", "True", "False", "None",
    "range", "loop", "self", "context", "budget__", "result__",
})  # fmt: skip
"""What is no variable, or one of Jinja's own."""
_OTHERWISE = regular(r"\{[{%#]|\r|\{$|^\}")
"""In the text between names: another template, what Jinja rewrites, or a brace that belongs to a name's own."""


@dataclass(frozen=True)
class Interpolation:
    """`texts` stand around the `order` of names, one more of them; `native` if only white space is around one name."""

    texts: tuple[str, ...]
    order: tuple[str, ...]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.order)

    @property
    def native(self) -> bool:
        return len(self.order) == 1 and not any(text.strip() for text in self.texts)

    def filled(self, variables: Mapping[str, Any]) -> Value:
        """Return what it yields, for variables that hold all of its names. Raise TooMuch or BadTemplate."""
        if self.native:
            value = plain(variables[self.order[0]], [MOST_PARTS])
            return f"{self.texts[0]}{value}{self.texts[1]}" if isinstance(value, str) else value
        parts = [self.texts[0]]
        for name, text in zip(self.order, self.texts[1:], strict=True):
            weight(variables[name])
            parts += [str(shown(variables[name])), text]
        whole = "".join(parts)
        if len(whole) > LONGEST_TEXT:
            raise TooMuch(f"it yields more than {LONGEST_TEXT} characters")
        return readable(whole)


def interpolation(text: str) -> Interpolation | None:
    """Return the template that a text is if it only names variables, else None."""
    texts = _NAMED.split(text)
    order, around = tuple(texts[1::2]), tuple(texts[::2])
    if not order or not _WORDS.isdisjoint(order) or any(map(_OTHERWISE.search, around)):
        return None
    return Interpolation(around, order)
