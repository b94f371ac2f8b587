"""What was worked out for one node, kept for all that answer the same. Pure; imports model only.

Everything in a plan follows from answers. So a call is kept together with the questions that it looked at, in their
order, and what it found there; whoever finds the very same objects gets the very same result. What is worked out from
that result is then found again, too, so one node's free space costs the others no more than the steps that look at it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Generic, TypeAlias, TypeVar, cast

from stackplan.model.facts import Answer, Known, Query
from stackplan.model.frozen import dataclass
from stackplan.model.same import Same

T = TypeVar("T")
Source: TypeAlias = Mapping[Query, Answer]


@dataclass(frozen=True, slots=True)
class Look:
    """A look at one of a call's sources: at the answer to `query`, or, where that is None, at what was asked at all."""

    source: int
    query: Query | None

    def mark(self, sources: tuple[Source, ...]) -> object:
        """Return what tells apart what stands there, as `_mark` does; None stands where no such question was asked."""
        found = sources[self.source]
        # Answers are not compared, for they may be large.
        return tuple(found) if self.query is None else id(found.get(self.query))


@dataclass(slots=True)
class Fork:
    """A look that every call which came this far took next, and how it went on for each thing that was found.

    `found` keeps the answers: no other object can then come to bear the identity of one of them.
    """

    look: Look
    ways: "dict[object, Fork | Result[object]]" = field(default_factory=dict)
    found: list[object] = field(default_factory=list)

    def way(self, found: object) -> "Fork | Result[object] | None":
        return self.ways.get(_mark(found))

    def lead(self, found: object, way: "Fork | Result[object]") -> None:
        self.ways[_mark(found)] = way
        self.found.append(found)


@dataclass(frozen=True, slots=True)
class Result(Generic[T]):
    value: T


class Watched(Mapping[Query, Answer]):
    """A source that writes down, once each, the looks that are taken at it and what they find."""

    def __init__(self, source: Source, number: int, looks: dict[Look, object]) -> None:
        self._source = source
        self._number = number
        self._looks = looks

    def __getitem__(self, query: Query) -> Answer:
        found = self._source.get(query)
        self._looks.setdefault(Look(self._number, query), found)
        if found is None:
            raise KeyError(query)
        return found

    def __iter__(self) -> Iterator[Query]:
        asked = tuple(self._source)
        self._looks.setdefault(Look(self._number, None), asked)
        return iter(asked)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Memo:
    """The calls of the plans of one playbook; it lives as long as they are being made, and serves one thread."""

    def __init__(self) -> None:
        self._calls: dict[tuple[object, ...], tuple[object, Fork | Result[object]]] = {}
        self._answers: dict[str, Answer] = {}
        self._parts: dict[Same[object], int] = {}
        self._texts: dict[str, int] = {}

    def one(self, answer: Answer) -> Answer:
        """Return the answer, or the very object that was such an answer before."""
        value = answer.value if isinstance(answer, Known) else None
        if not isinstance(value, dict):
            return self._answers.setdefault(repr(answer), answer)
        marks = {key: (self._number(it),) if isinstance(it, list) else it for key, it in value.items()}
        return self._answers.setdefault(repr(marks), answer)

    def _number(self, part: object) -> int:
        """Return a number that all parts like this one have, and no others; each is looked through once."""
        same = Same(part)
        if (number := self._parts.get(same)) is None:
            number = self._parts[same] = self._texts.setdefault(repr(part), len(self._texts))
        return number

    def recall(
        self, word: str, about: object, sources: tuple[Source, ...], work: Callable[..., T], *besides: object
    ) -> T:
        """Return what `work` makes of `sources`, or made of them when it found the same there.

        `word` and `about`, the very object, say which call it is, with whatever hashable `besides` it depends on.
        """
        key = (word, id(about), *besides)
        _, way = self._calls.get(key, (None, None))
        while isinstance(way, Fork):
            way = way.ways.get(way.look.mark(sources))
        if way is None:
            looks: dict[Look, object] = {}
            way = Result(work(*(Watched(source, number, looks) for number, source in enumerate(sources))))
            self._keep(key, about, looks, way)
        return cast("T", way.value)

    def _keep(self, key: tuple[object, ...], about: object, looks: dict[Look, object], result: Result[object]) -> None:
        """Lay a way to the result: along what is known for as long as the looks are the same."""
        way: Fork | Result[object] = result
        known = self._calls.get(key, (None, None))[1]
        last: tuple[Fork, object] | None = None
        taken = list(looks.items())
        while taken and isinstance(known, Fork) and known.look == taken[0][0]:
            last = known, taken.pop(0)[1]
            known = known.way(last[1])
        for look, found in reversed(taken):
            fork = Fork(look)
            fork.lead(found, way)
            way = fork
        if last is None:
            self._calls[key] = about, way
        else:
            last[0].lead(last[1], way)


def _mark(found: object) -> object:
    """Return what tells apart what was found, as `Look.mark` does."""
    return found if isinstance(found, tuple) else id(found)
