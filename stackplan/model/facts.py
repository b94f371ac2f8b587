"""Questions about a node and their answers.

A query that could not be answered is `Unknown` or `Failed`, never "absent": whoever reads facts has to say what it
makes of the three.
"""

import enum
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from functools import lru_cache
from typing import TypeAlias

from stackplan.model.arguments import Value, holds_secret
from stackplan.model.frozen import dataclass
from stackplan.model.secret import Secret

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"


class NotAsked(LookupError):
    """A fact was used that nobody asked for: a bug in the kind that uses it."""


def _plain(value: object) -> object:
    """Return in JSON's terms what is not in them yet: of a secret its digest."""
    if isinstance(value, Secret):
        return {"secret": hashlib.sha256(value.reveal().encode("utf-8", "surrogateescape")).hexdigest()}
    assert isinstance(value, Mapping)
    return dict(value)


_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, default=_plain)
_SIMPLE = (str, bool, type(None))


def _key(query: "Query") -> str:
    return _CANONICAL.encode([query.kind, query.user, query.arguments])


# Kinds state their questions anew whenever they look at facts. Without numbers among them, what is equal is the same.
@lru_cache(maxsize=16384)
def _simple_key(kind: str, user: str | None, arguments: tuple[tuple[str, str | bool | None], ...]) -> str:
    return _CANONICAL.encode([kind, user, dict(arguments)])


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A question: a kind of `stackplan/node/queries/`, its arguments, and the user whose `~` and rights it is asked
    with; None is the user of the connection.

    Equal questions are equal and hash alike, so that a batch asks each once.
    """

    kind: str
    arguments: Mapping[str, Value]
    user: str | None = None
    key: str = field(init=False, repr=False, default="")

    def __post_init__(self) -> None:
        plain = all(type(value) in _SIMPLE for value in self.arguments.values())
        key = _simple_key(self.kind, self.user, tuple(self.arguments.items())) if plain else _key(self)
        object.__setattr__(self, "key", key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Query) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def holds_secret(self) -> bool:
        """Whether a secret stands in it: then neither it nor its key may be kept."""
        return holds_secret(self.arguments)

    def asked_by(self, user: str | None) -> "Query":
        """Return the question as the step of `user` asks it; one that names a user of its own stays with that one."""
        return self if user is None or self.user is not None else replace(self, user=user)


@dataclass(frozen=True, slots=True)
class Known:
    value: Plain


@dataclass(frozen=True, slots=True)
class Unknown:
    """The node has no means to answer (a probing tool is missing, a format is not recognised)."""

    why: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The attempt to answer went wrong (a tool exited non-zero, a permission was refused)."""

    why: str
    stderr: str = ""


Answer: TypeAlias = Known | Unknown | Failed


WITHHELD = "withheld"
"""Names, in what a Known answer says, those of its fields that may be used and not kept: a secret shows in them."""


def to_keep(answer: Answer) -> Answer:
    """Return what of an answer may stand in a file: all but the fields that it withholds, which are null there."""
    told = answer.value if isinstance(answer, Known) else None
    names = told.get(WITHHELD) if isinstance(told, dict) else None
    if not isinstance(told, dict) or not isinstance(names, list):
        return answer
    return Known({key: None if key in names else value for key, value in told.items()})


class Laid(Mapping[Query, Answer]):
    """Answers with others laid over them, where looking at one of them is wanted only once it is used."""

    def __init__(self, under: Mapping[Query, Answer], over: Mapping[Query, Answer]) -> None:
        self._under = under
        self._over = over

    def __getitem__(self, query: Query) -> Answer:
        found = self._over.get(query)
        return self._under[query] if found is None else found

    def __iter__(self) -> Iterator[Query]:
        return iter(dict.fromkeys((*self._under, *self._over)))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def laid(under: Mapping[Query, Answer], over: Mapping[Query, Answer]) -> Mapping[Query, Answer]:
    """Return the answers `under` with those `over` laid over them."""
    return {**under, **over} if isinstance(under, dict) and isinstance(over, dict) else Laid(under, over)


class Origin(enum.Enum):
    LIVE = "live"
    RECORDED = "recorded"
    PREDICTED = "predicted"


@dataclass(frozen=True, slots=True)
class Facts:
    """Answers of one node. `taken` is an ISO 8601 time in UTC, for display only; nothing may decide on it.

    A kind makes of them what follows from `answers` and `user` alone: it counts for every node that answers the same.
    """

    node: str
    origin: Origin
    taken: str
    answers: Mapping[Query, Answer]
    user: str | None = None

    def __getitem__(self, query: Query) -> Answer:
        try:
            return self.answers[query.asked_by(self.user)]
        except KeyError:
            raise NotAsked(f"{query.kind} {dict(query.arguments)!r} was not among the queries") from None

    def of_kind(self, *kinds: str) -> "Iterator[tuple[Query, Answer]]":
        """Yield the questions of some kinds with their answers; no other answer is looked at."""
        return ((query, self.answers[query]) for query in self.answers if query.kind in kinds)

    def seen_by(self, user: str | None) -> "Facts":
        """Return these facts as the step of `user` asked for them."""
        return self if user == self.user else replace(self, user=user)

    def foreseen(self, answers: Mapping[Query, Answer]) -> "Facts":
        """Return these facts with what is foretold laid over them; no answer is looked at for that."""
        return replace(self, origin=Origin.PREDICTED, answers=laid(self.answers, answers))

    def merged(self, later: "Facts") -> "Facts":
        """Return these facts with those of `later` laid over them."""
        return replace(later, answers={**self.answers, **later.answers}, user=self.user)
