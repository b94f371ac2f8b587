"""Removing the stale kernel caches of a user."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Self

from stackplan.actions._foretold import left_open, reach
from stackplan.actions._target import told
from stackplan.model.arguments import Arguments, Path, Value
from stackplan.model.change import State, differences
from stackplan.model.condition import Condition
from stackplan.model.count import counted, first_of
from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.model.environment_place import NAMED_BY, real_place
from stackplan.model.facts import Answer, Facts, Known, Plain, Query, Unknown
from stackplan.model.frozen import dataclass
from stackplan.model.job import Job, Task
from stackplan.model.kernel_caches import KernelCache, amount, cache_state, cleared, kernel_caches
from stackplan.model.kind import ActionKind, CannotAct, Prediction
from stackplan.model.location import Location

MOST_NAMED = 20
_LINES = 60
"""As many lines of details as a report shows; each cache is to have its part of them."""
_MOST_PLACES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearCaches(ActionKind):
    """Removes the compiled kernels that do not go with an environment any more, and says how many files and bytes.

    What is stale is what the condition `no_stale_caches` calls so, which is then checked without being written down.
    Only what holds the kernels of one of the known tools is removed, whole, and only as long as it is what was judged.
    A plan names what would go, the largest first, by path, size and age. An entry that holds anything but the tool's
    own files is left, and told, also in the plan: the tool's are known by their names and, where people use such names
    too, by what is in them. A link of the user's own that leads to a cache is followed (`~/.cache` on another disk),
    and so is one of root's; inside a cache no link is. The folders are those that the user's own environment leads to;
    the step's `env` moves none of them. Where the kernels are another user's, the action has to run as that user
    (`user` of the step), or as root.
    """

    arguments: Arguments
    asked: Mapping[str, Value]
    user: str | None

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        given = [key for key in ("venv", "python") if key in arguments]
        if len(given) != 1:
            expected = "exactly one of `venv` (an environment's folder) and `python` (an interpreter)"
            raise arguments.invalid("venv", "`clear_caches` does not say whose packages count", expected=expected)
        return cls(
            arguments=arguments,
            asked={given[0]: arguments.text(given[0])},
            user=arguments.optional_text("user"),
        )

    def describe(self) -> str:
        whose = f"{self.user}'s " if self.user is not None else ""
        return f"remove {whose}kernels that do not go with {next(iter(self.asked.values()))}"

    def queries(self) -> tuple[Query, ...]:
        return (self._query,)

    def job(self, facts: Facts) -> Job | CannotAct:
        answer = facts[self._query]
        if not isinstance(answer, Known):
            return CannotAct(f"it is not known which kernels are stale: {answer.why}")
        about = told(answer)
        if not about["environment"]:
            return CannotAct(f"there is no environment at {about['path']}", "Make it in an earlier step.")
        if self.user is not None and facts.user not in (None, self.user, "root"):
            remedy = f"Write `user: {self.user}` on the step itself, or `become: true`."
            return CannotAct(f"{facts.user} may not remove what is {self.user}'s", remedy)
        lines = [
            f"remove {amount(it.stale_entries, it.stale_size, complete=about['complete'] is True)} of {it.path}"
            for it in kernel_caches(about)
            if it.stale_entries
        ]
        if about["complete"] is not True:
            # Nothing is foretold of them then, and this is where they are named.
            lines += [line for it in kernel_caches(about) for line in _named(it, MOST_NAMED)]
        task = Task(
            kind="clear_caches",
            # By its whole path and with the folders that were found: the task sees the step's `env`, the query did not.
            arguments={next(iter(self.asked)): str(about["path"]), "user": self.user, "caches": _places(about)},
            display="\n".join(lines) or "remove nothing: no kernel is stale",
        )
        return Job((task,))

    def state(self, facts: Facts) -> State:
        about = told(facts[self._query])
        return cache_state(about) if about else {}

    def predict(self, facts: Facts) -> Prediction | Unknown:
        answer = facts[self._query]
        if not isinstance(answer, Known):
            return Unknown(f"which kernels are stale is not known: {answer.why}")
        about = told(answer)
        if about["complete"] is not True:
            return Unknown("there are more kernels than were counted")
        query = self._query.asked_by(facts.user)
        stale = _stale(about)
        folders = _folders(stale)
        answers: dict[Query, Answer] = left_open(facts, *folders, why="kernels are removed there")
        answers |= {
            it: Known(cleared(told(other)))
            for it, other in facts.of_kind("kernel_caches")
            if isinstance(other, Known) and _same(it, query, facts)
        }
        after = facts.foreseen(answers)
        changes = differences(self.state(facts), self.state(after))
        return Prediction(changes=changes, answers=answers, details=_all_named(stale, _LINES))

    def standing_lines(self, facts: Facts) -> tuple[str, ...]:
        about = told(facts[self._query])
        if not about or not about["environment"]:
            return ()
        complete = about["complete"] is True
        so_far = "" if complete else ", as far as was counted"
        named = _all_named(_stale(about), _LINES - MOST_NAMED)
        if named:
            lines = (f"as things stand now this is stale{so_far}:", *named)
        else:
            lines = (f"as things stand now nothing is stale{so_far}",)
        places = [f"  {it.path} ({amount(it.entries, it.size, complete=complete)})" for it in kernel_caches(about)]
        if places:
            shown, left = first_of(places, _MOST_PLACES)
            lines += ("by then more may be, of what is in", *shown)
            lines += (f"  and {counted(left, 'more cache')}",) if left else ()
        return lines

    def reach(self, facts: Facts) -> frozenset[Query] | None:
        about = told(facts[self._query])
        if not about:
            return None
        folders = _folders(kernel_caches(about))
        return reach(facts, *folders)

    def implied(self) -> tuple[Condition, ...]:
        at = self.arguments.at
        values: dict[str, Value] = dict(self.asked)
        if self.user is not None:
            values["user"] = self.user
        places: dict[Path, Location] = {(key,): self.arguments.place(key) for key in values}
        return (Condition(kind="no_stale_caches", arguments=Arguments(values, at, places), at=at),)

    def notes(self, facts: Facts) -> tuple[Diagnosis, ...]:
        about = told(facts[self._query])
        if not about.get("caches"):
            return ()
        holders = about.get("holders")
        rows = [row for row in holders if isinstance(row, dict)] if isinstance(holders, list) else []
        caches = kernel_caches(about)
        mixed = [it for it in caches if it.mixed_entries]
        blind = [it for it in caches if it.blind_folders]
        return (*map(self._left, mixed), *map(self._unseen, blind), *map(self._note, rows))

    def _left(self, cache: KernelCache) -> Diagnosis:
        verb = "is" if cache.stray_count == 1 else "are"
        return Diagnosis(
            summary=f"{counted(cache.mixed_entries, 'folder')} of old kernels in {cache.path} would be left: "
            f"{_listing(cache.strays, cache.stray_count)} {verb} not {cache.tool}'s",
            severity=Severity.NOTE,
            at=self.arguments.at,
            remedy="Move elsewhere what is not the tool's, or remove the folder by hand.",
        )

    def _unseen(self, cache: KernelCache) -> Diagnosis:
        verb = "stays" if cache.blind_folders == 1 else "stay"
        return Diagnosis(
            summary=f"{counted(cache.blind_folders, 'folder')} in {cache.path} cannot be looked into and {verb}: "
            f"{_listing(cache.blind, cache.blind_folders)}",
            severity=Severity.NOTE,
            at=self.arguments.at,
            remedy="Give the user the right to read it, or remove it by hand.",
        )

    def _note(self, row: dict[str, Plain]) -> Diagnosis:
        return Diagnosis(
            summary=f"process {row['pid']} ({row['name']}) has kernels of {row['tool']} open",
            severity=Severity.NOTE,
            at=self.arguments.at,
            remedy="Stop it in an earlier step; it goes on with the old kernels, and may write them anew.",
        )

    @property
    def _query(self) -> Query:
        return Query("kernel_caches", {**self.asked, "holders": True}, self.user)


def _folders(caches: Iterable[KernelCache]) -> tuple[str, ...]:
    """Return the folders of caches by both their names: as they are asked about, and where links end."""
    return tuple(dict.fromkeys(name for cache in caches for name in (cache.path, cache.place)))


def _stale(about: Mapping[str, Plain]) -> list[KernelCache]:
    return [cache for cache in kernel_caches(about) if cache.stale_entries]


def _all_named(stale: list[KernelCache], lines: int) -> tuple[str, ...]:
    """Return a line for each entry that would be removed, of each cache so many that all have room in `lines`."""
    most = min(MOST_NAMED, max(1, lines // max(1, len(stale)) - 1))
    return tuple(line for cache in stale for line in _named(cache, most))


def _named(cache: KernelCache, most: int) -> Iterator[str]:
    """Yield a line for each entry that would be removed, of very many for the largest, and how many more there are."""
    shown = cache.stale[:most]
    yield from (f"- {entry}" for entry in shown)
    if (more := cache.stale_entries - len(shown)) > 0:
        yield f"  and {more} more of {cache.tool} in {cache.path}"


def _listing(names: tuple[str, ...], count: int) -> str:
    """Return the first of `count` names for a line of text, and how many more there are."""
    more = count - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def _places(told: Mapping[str, Plain]) -> tuple[Value, ...]:
    """Return the folders of an answer that are there, by what the task knows them."""
    listed = told["caches"]
    assert isinstance(listed, list)
    there = [row for row in listed if isinstance(row, dict) and row["exists"] is True]
    return tuple({key: _text(row[key]) for key in ("tool", "path", "named_by")} for row in there)


def _text(value: Plain) -> str | None:
    return None if value is None else str(value)


def _same(one: Query, other: Query, facts: Facts) -> bool:
    """Return whether two questions are about one user's kernels, judged by the packages of one environment."""
    if one.user != other.user:
        return False
    if all(one.arguments.get(name) == other.arguments.get(name) for name in NAMED_BY):
        return True
    place = real_place(facts, one)
    return place is not None and place == real_place(facts, other)


KIND = ClearCaches
