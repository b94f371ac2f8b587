"""The kind `disk`: free space for a path."""

from typing import Self

from stackplan.conditions._answers import mapping, unanswered
from stackplan.model.arguments import Arguments
from stackplan.model.facts import Facts, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.quantity import size_text
from stackplan.model.verdict import Verdict, held, not_held


@dataclass(frozen=True, slots=True)
class Disk(ConditionKind):
    """The filesystem that holds a path, or would hold it, has so much room for a user without privileges.

    The path need not exist: the nearest folder above it that does counts. A filesystem that can make no more files has
    no room either. Quotas and reservations of other users are not seen.
    """

    path: str
    free: int

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        free = arguments.optional_size_bytes("free")
        if free is None:
            raise arguments.invalid("free", "`free` is missing", expected="a size such as 30GiB")
        return cls(arguments.text("path"), free)

    def describe(self) -> str:
        return f"at least {size_text(self.free)} free for {self.path}"

    def queries(self) -> tuple[Query, ...]:
        return (self._query,)

    def evaluate(self, facts: Facts) -> Verdict:
        text = self.describe()
        told = mapping(facts[self._query])
        if told is None:
            return unanswered(text, facts[self._query], expected=size_text(self.free))
        free, files = told["free_bytes"], told["free_files"]
        assert isinstance(free, int)
        evidence = f"on the filesystem of {told['nearest']}"
        if free < self.free:
            return not_held(text, expected=size_text(self.free), observed=size_text(free), evidence=evidence)
        if files == 0:
            observed = f"{size_text(free)}, but no more files can be made"
            return not_held(text, expected=size_text(self.free), observed=observed, evidence=evidence)
        return held(text, observed=size_text(free), evidence=evidence)

    @property
    def _query(self) -> Query:
        return Query("disk", {"path": self.path})


KIND = Disk
