"""What the steps before leave behind: the first that would fail, and what those of unknown effect may change. Pure."""

from collections.abc import Collection
from dataclasses import replace

from stackplan.model.facts import Query, Unknown
from stackplan.model.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Cloud:
    """What a step of unknown effect may change: the answers to `queries`, to all of them where that is None.

    `sure` False: its conditions hold as far as is foretold, so it acts only if a step of unknown effect before it
    makes that necessary.
    """

    step: str
    queries: frozenset[Query] | None
    sure: bool = True

    def covers(self, query: Query) -> bool:
        return self.queries is None or query in self.queries

    @property
    def why(self) -> str:
        return f"`{self.step}` {'would' if self.sure else 'may'} act before it"


@dataclass(frozen=True, slots=True)
class Standing:
    """How things stand after some steps; `failing` None without one that would fail.

    `quiet_from` is the number, among those steps, of the last one that may act: since then nothing changes.
    """

    clouds: tuple[Cloud, ...] = ()
    failing: str | None = None
    quiet_from: int = 0

    def doubt(self, queries: Collection[Query]) -> str | None:
        """Return why the answers to `queries` may be others than foretold by then, or None."""
        return next((it.why for it in self.clouds if any(it.covers(query) for query in queries)), None)

    def clouded(self, queries: Collection[Query]) -> dict[Query, Unknown]:
        """Return those of `queries` of which the answer may be another one by then, each with the reason."""
        whys = {query: self.doubt((query,)) for query in queries} if self.clouds else {}
        return {query: Unknown(why) for query, why in whys.items() if why is not None}

    def under(self, cloud: Cloud) -> "Standing":
        """Return how things stand once the step of the cloud had its turn, too."""
        if any(it.queries is None for it in self.clouds):
            return self
        return replace(self, clouds=(*self.clouds, cloud))
