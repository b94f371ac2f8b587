"""Snapshots around an action: asked for room before, taken by a stage ahead of its job, looked at again afterwards.

The engine knows no kind by name: what is written, and whether it can be taken back, its kind says.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from stackplan.engine.attachment import Attachment
from stackplan.engine.bind import BoundStep
from stackplan.engine.inquiry import Inquiry
from stackplan.engine.job_name import job_name
from stackplan.model.arguments import Value
from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.model.facts import Answer, Facts, Known, Plain, Query
from stackplan.model.frozen import dataclass
from stackplan.model.job import Exited, Job, Task, Work
from stackplan.model.kind import CannotAct
from stackplan.model.quantity import size_text
from stackplan.model.written import Written

_RELEASE_S = 600.0
NO_ROOM = (
    "Make room there, or remove old snapshots: `stackplan rollback` uses one up, and of each thing three are kept."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """What a step writes, by the path that it has on the node, and where its snapshots are noted there."""

    run: str
    step: str
    things: tuple[Written, ...] = ()
    paths: tuple[str, ...] = ()
    state: str | None = None

    @property
    def writes(self) -> tuple[Written, ...]:
        """What is written, by the paths that it has on the node."""
        return tuple(replace(it, path=path) for it, path in zip(self.things, self.paths, strict=True))

    @property
    def queries(self) -> tuple[Query, ...]:
        """What is asked after the action."""
        return (snapshots_query(self.run, self.things[0].user),) if self.things else ()

    def around(self, job: Job) -> Job:
        """Return the job with its snapshots taken first, and removed again where nothing came of it."""
        if not self.things:
            return job
        first = Task(kind="snapshot", arguments=self._arguments, display=f"take a snapshot of {', '.join(self.paths)}")
        return Job((first, *job.stages, self.last))

    @property
    def last(self) -> Task:
        """What drops the snapshots of what is as it was."""
        names = ", ".join(self.paths)
        return Task(kind="release", arguments=self._arguments, display=f"drop the snapshot of {names} if unchanged")

    @property
    def _arguments(self) -> Mapping[str, Value]:
        things = tuple({"kind": it.kind.value, "path": it.path} for it in self.things)
        return {"state": self.state, "run": self.run, "step": self.step, "things": things}

    def not_begun(self, facts: Facts, ending: object) -> bool:
        """Tell whether the action never started, because a snapshot could not be taken."""
        if not self.things or not isinstance(ending, Exited) or ending.code == 0:
            return False
        answer = facts.answers.get(self.queries[0])
        if not isinstance(answer, Known):
            return False
        whole = {
            str(it["path"]) for it in rows(answer) if it.get("complete") is True and it.get("restored") is not True
        }
        return not whole.issuperset(self.paths)

    def warnings(self, facts: Facts) -> tuple[Diagnosis, ...]:
        """Return what is to be said of clones that the action wrote into."""
        answer = facts.answers.get(self.queries[0]) if self.things else None
        found = [it for it in rows(answer) if it.get("path") in self.paths and it.get("clone_fault")]
        return tuple(
            Diagnosis(
                summary=f"the snapshot of {it['path']} is no longer what was taken: {it['clone_fault']}",
                causes=("a clone that was written into is not trusted, and is not put back",),
                severity=Severity.WARNING,
                step=self.step,
                remedy="Look at what the action runs: something wrote into files in place rather than replacing them.",
            )
            for it in found
        )


def protect(step: BoundStep, facts: Facts, run: str, inquiry: Inquiry) -> Protection | CannotAct:
    """Return what has to be done around the step's job; CannotAct where there is no room for its snapshots.

    One round trip, unless it is known already.
    """
    things = step.writes(facts)
    if not things:
        return Protection(run=run, step=step.id)
    queries = [room_query(run, it) for it in things]
    answers = inquiry.learn(queries).answers
    found: list[Mapping[str, Plain]] = []
    for query, thing in zip(queries, things, strict=True):
        answer = answers[query]
        if not isinstance(answer, Known) or not isinstance(answer.value, dict):
            why = "it was answered oddly" if isinstance(answer, Known) else answer.why
            return CannotAct(f"it is not known whether there is room for a snapshot of {thing.path}: {why}")
        found.append(answer.value)
    if (lack := lacking(found)) is not None:
        return CannotAct(f"there is no room for a snapshot of {', '.join(it.path for it in things)}: {lack}", NO_ROOM)
    paths = tuple(str(it["path"]) for it in found)
    return Protection(run=run, step=step.id, things=things, paths=paths, state=str(found[0]["state"]))


def release(protection: Protection, node: str, attempt: int, attachment: Attachment) -> None:
    """Drop the snapshots of what the step's action, which failed, did not change; note what it left of the rest."""
    if not protection.things:
        return
    name = job_name(protection.run, node, f"_release.{protection.step}", attempt)
    work = Work(name=name, job=Job((protection.last,)), user=protection.things[0].user, timeout_s=_RELEASE_S)
    attachment.carry_out(work, lambda _: None)


@dataclass(frozen=True, slots=True)
class Shortage:
    """The first step for whose snapshot there is no room, and why."""

    step: BoundStep
    refusal: CannotAct


def shortage(steps: Collection[BoundStep], facts: Facts, run: str, inquiry: Inquiry) -> Shortage | None:
    """Return where room for snapshots will be lacking, counted over all `steps` together, before any of them acts."""
    wanted: dict[Query, BoundStep] = {}
    for step in steps:
        for it in step.writes(facts):
            wanted.setdefault(room_query(run, it), step)
    if not wanted:
        return None
    answers = inquiry.learn(list(wanted)).answers
    found: list[Mapping[str, Plain]] = []
    seen: set[str] = set()
    for query, step in wanted.items():
        answer = answers[query]
        # What cannot be told now is asked again, and stops the step, when its turn comes.
        if not isinstance(answer, Known) or not isinstance(answer.value, dict) or answer.value["path"] in seen:
            continue
        seen.add(str(answer.value["path"]))
        found.append(answer.value)
        if (lack := lacking(found)) is not None:
            path = answer.value["path"]
            return Shortage(step, CannotAct(f"there is no room for a snapshot of {path}: {lack}", NO_ROOM))
    return None


@dataclass(slots=True)
class _Room:
    place: str
    free_bytes: int
    free_files: int | None
    needed_bytes: int = 0
    needed_files: int = 0


def lacking(found: Collection[Mapping[str, Plain]]) -> str | None:
    """Return what is lacking for the snapshots that these answers of `snapshot_room` are about, or None."""
    rooms: dict[object, _Room] = {}
    for answer in found:
        for it in _mappings(answer.get("rooms")):
            room = rooms.setdefault(
                it["device"], _Room(str(it["place"]), _number(it["free_bytes"]), _optional(it["free_files"]))
            )
            room.needed_bytes += _number(it["needed_bytes"])
            room.needed_files += _number(it["needed_files"])
    for room in rooms.values():
        if room.needed_bytes > room.free_bytes:
            return f"{size_text(room.needed_bytes)} are needed in {room.place}, {size_text(room.free_bytes)} are free"
        if room.free_files is not None and room.needed_files > room.free_files:
            return f"{room.needed_files} files are to be made in {room.place}, there is room for {room.free_files}"
    return None


def rooms_needed(told: Mapping[str, Plain]) -> tuple[tuple[str, str], ...]:
    """Return, of an answer of `snapshot_room`, in which places how much is needed."""
    return tuple((str(it["place"]), size_text(_number(it["needed_bytes"]))) for it in _mappings(told.get("rooms")))


def room_query(run: str, thing: Written) -> Query:
    return Query("snapshot_room", {"run": run, "kind": thing.kind.value, "path": thing.path}, thing.user)


def snapshots_query(run: str, user: str | None, *, things: bool = False) -> Query:
    """Return the question for a run's snapshots; `things` asks also in what the things differ from what they were."""
    return Query("snapshots", {"run": run, "things": things}, user)


def rows(answer: Answer | None) -> tuple[Mapping[str, Plain], ...]:
    """Return what an answer of `snapshots` tells, a row for each thing; nothing where there is none."""
    return _mappings(answer.value) if isinstance(answer, Known) else ()


def _mappings(value: Plain) -> tuple[Mapping[str, Plain], ...]:
    return tuple(it for it in value if isinstance(it, dict)) if isinstance(value, list) else ()


def _number(value: Plain) -> int:
    assert isinstance(value, int)
    return value


def _optional(value: Plain) -> int | None:
    return None if value is None else _number(value)
