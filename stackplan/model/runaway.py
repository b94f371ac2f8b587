"""Regular expressions whose search may take longer than anyone waits.

Python tries every way in which a pattern can match before it gives up. Where a repetition can take the same text in
two ways, each further character doubles the ways, and no signal ends the search. Such a pattern is told apart before
it is used: inside a repetition, one character has to decide how the match goes on.
"""

import re
from itertools import combinations

# The parser of `re` itself, so that a pattern is read here as it is read there; the types of re do not declare it.
from re import _parser  # type: ignore[attr-defined]
from typing import Any, TypeAlias

_LONG = 3
"""More rounds than this are as good as no bound: each multiplies the ways to part a text."""
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}
_HELD = {"MAX_REPEAT": 2, "MIN_REPEAT": 2, "POSSESSIVE_REPEAT": 2, "SUBPATTERN": 3, "ASSERT": 1, "ASSERT_NOT": 1}
"""Where in an item's argument stands what it holds."""

_Items: TypeAlias = list[tuple[Any, Any]]
_Starts: TypeAlias = frozenset[str]


def may_run_away(pattern: str) -> bool:
    """Return whether a repetition in `pattern`, which has to be a regular expression, can take one text in two ways.

    What is not understood (a reference to a group) counts as any text, so a harmless pattern may be refused, too.
    """
    return _Pattern(pattern).ambiguous(list(_parser.parse(pattern)))


class _Pattern:
    """One pattern, over the characters that tell its parts apart."""

    def __init__(self, pattern: str) -> None:
        self.alphabet = frozenset(map(chr, range(256))) | frozenset(pattern)
        # A flag may hold for a part of the pattern alone; taking it for the whole only finds more in common.
        flags = "".join(re.findall(r"\(\?([a-zA-Z]+)", pattern))
        self.any_case, self.dot_all = "i" in flags, "s" in flags

    def ambiguous(self, items: _Items) -> bool:
        """Return whether a long repetition anywhere in `items` leaves a choice that one character does not decide."""
        for operator, argument in items:
            if str(operator) in _REPEATS and argument[1] > _LONG:
                body = list(argument[2])
                if self._undecided(body, self._starts(body)):
                    return True
            if any(self.ambiguous(part) for part in _parts(operator, argument)):
                return True
        return False

    def _undecided(self, items: _Items, follow: _Starts) -> bool:
        """Return whether two ways through `items`, behind which `follow` comes, begin with the same character."""
        for index, (operator, argument) in enumerate(items):
            name, after = str(operator), self._starts(items[index + 1 :], follow)
            if name in ("ATOMIC_GROUP", "POSSESSIVE_REPEAT", "ASSERT", "ASSERT_NOT"):
                continue  # Python does not come back to these
            parts = _parts(operator, argument)
            if name in _REPEATS:
                least, most, _ = argument
                starts = self._starts(parts[0])
                if (least != most and starts & after) or self._undecided(
                    parts[0], starts | after if most > 1 else after
                ):
                    return True
                continue
            if any(self._undecided(part, after) for part in parts):
                return True
            if any(self._alike(one, other, after) for one, other in combinations(parts, 2)):
                return True
        return False

    def _alike(self, one: _Items, other: _Items, follow: _Starts) -> bool:
        """Return whether two alternatives begin alike; of two words, whether one is the beginning of the other."""
        shorter, longer = sorted((one, other), key=len)
        if shorter and all(str(operator) == "LITERAL" for operator, _ in one + other):
            return longer[: len(shorter)] == shorter
        return bool(self._starts(one, follow) & self._starts(other, follow))

    def _starts(self, items: _Items, follow: _Starts = frozenset()) -> _Starts:
        """Return the characters that a match of `items`, with `follow` behind it, can begin with."""
        found, skipped = self._beginning(items)
        return found | follow if skipped else found

    def _beginning(self, items: _Items) -> tuple[_Starts, bool]:
        """Return what `items` can begin with, and whether they can match nothing; both in one walk over what nests."""
        found: _Starts = frozenset()
        for operator, argument in items:
            starts, skipped = self._of_one(operator, argument)
            found |= starts
            if not skipped:
                return found, False
        return found, True

    def _of_one(self, operator: object, argument: Any) -> tuple[_Starts, bool]:
        """Return what one item can begin with, and whether it can match nothing."""
        name = str(operator)
        if name in ("AT", "ASSERT", "ASSERT_NOT"):
            return frozenset(), True
        if name in ("GROUPREF", "GROUPREF_EXISTS"):
            return self.alphabet, True
        if parts := _parts(operator, argument):
            optional = name in _REPEATS and argument[0] == 0
            starts, skipped = zip(*map(self._beginning, parts), strict=True)
            return frozenset().union(*starts), optional or any(skipped)
        return self._characters(operator, argument), False

    def _characters(self, operator: object, argument: Any) -> _Starts:
        match str(operator):
            case "LITERAL":
                found = frozenset(chr(argument))
            case "NOT_LITERAL":
                return self.alphabet - {chr(argument)}
            case "ANY":
                return self.alphabet if self.dot_all else self.alphabet - {"\n"}
            case "RANGE":
                found = frozenset(it for it in self.alphabet if argument[0] <= ord(it) <= argument[1])
            case "CATEGORY":
                found = frozenset(it for it in self.alphabet if re.match(_CATEGORIES[str(argument)], it))
            case "IN":
                parts = [self._characters(*it) for it in argument if str(it[0]) != "NEGATE"]
                found = frozenset().union(*parts)
                if str(argument[0][0]) == "NEGATE":
                    return self.alphabet - found
            case _:
                return self.alphabet
        return found | {it.swapcase() for it in found} if self.any_case else found


def _parts(operator: object, argument: Any) -> list[_Items]:
    """Return the alternatives of a branch, else the one thing that an item holds; none of a single character."""
    name = str(operator)
    if name in _HELD:
        return [list(argument[_HELD[name]])]
    if name == "ATOMIC_GROUP":
        return [list(argument)]
    if name == "BRANCH":
        return [list(it) for it in argument[1]]
    return [list(it or ()) for it in argument[1:]] if name == "GROUPREF_EXISTS" else []
