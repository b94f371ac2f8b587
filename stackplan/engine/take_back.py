"""Taking back what a run wrote on one node: everything of which it made a snapshot is put back, and proven to be so.

What was written is what the node tells, never what a controller remembers: a run may have had several.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from itertools import count

from stackplan.engine.inquiry import Inquiry
from stackplan.engine.job_name import job_name
from stackplan.engine.perform import NodeAtWork
from stackplan.engine.snapshots import rows, snapshots_query
from stackplan.engine.wording import ending_text
from stackplan.model.change import Change
from stackplan.model.event import RestoreStarted
from stackplan.model.facts import Facts, Known, Plain
from stackplan.model.frozen import dataclass
from stackplan.model.job import Absent, Ending, Exited, Interrupted, Job, Task, Work

TIMEOUT_S = 3600.0
# Under which name output is told while things are put back; no step can have it.
PUTTING_BACK = "put back"
Row = Mapping[str, Plain]


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """One thing that a run wrote. `why` says why it is not proven to be as it was, None where it is.

    `clone` is where what it was still lies, None where that was put back or there was nothing; `spoiled`: it is no
    longer what was taken. `since` are changes that no run made, by the node's words, and `since_count` how many there
    are, None where that is not known; `kept` is where lies what was replaced and is kept for that. `full` is a folder
    of the node in which there is no room.
    """

    path: str
    steps: tuple[str, ...]
    changes: tuple[Change, ...] = ()
    why: str | None = None
    clone: str | None = None
    spoiled: bool = False
    later: tuple[str, ...] = ()
    since: tuple[str, ...] = ()
    since_count: int | None = 0
    kept: tuple[str, ...] = ()
    full: str | None = None

    @property
    def changed_since(self) -> str | None:
        """What is to be said of changes that no run made, None where there are none."""
        if self.since_count is None:
            return "whether it was changed since the run wrote it is not known"
        if not self.since_count:
            return None
        more = self.since_count - len(self.since)
        names = "; ".join(dict.fromkeys(self.since)) + (f"; and {more} more" if more > 0 else "")
        return f"changed since the run wrote it: {names}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenBack:
    """What was put back on a node; `trouble` is what stood in the way of all of it, `output` what the node said.

    `interrupted` is whether the operator had the node end the putting back.
    """

    things: tuple[Thing, ...] = ()
    trouble: str | None = None
    output: str = ""
    interrupted: bool = False

    @property
    def proven(self) -> bool:
        return self.trouble is None and all(it.why is None for it in self.things)

    @property
    def steps(self) -> frozenset[str]:
        """The steps whose writing is proven to be taken back, all of it."""
        open_ = {step for it in self.things if it.why is not None for step in it.steps}
        return frozenset(step for it in self.things for step in it.steps) - open_

    @property
    def faults(self) -> tuple[str, ...]:
        """What is not proven, a line each, with where the clone is."""
        trouble = () if self.trouble is None else (self.trouble,)
        return trouble + tuple(it.why + _where(it) for it in self.things if it.why is not None)

    @property
    def hopeless(self) -> bool:
        """Whether all that is not proven can never be: what it was is gone, or is not what was taken."""
        bad = [it for it in self.things if it.why is not None]
        return self.trouble is None and bool(bad) and all(it.spoiled for it in bad)


def remedy(taken: TakenBack, run: str) -> str:
    """Return what is to be done about what was not put back or is not proven."""
    if taken.hopeless:
        return (
            "Trying again cannot help: what it was is not there any more as it was taken. "
            "Look at both on the node, and put it right by a run or by hand."
        )
    return f"Look at it on the node; `stackplan rollback {run}` tries again."


def _where(thing: Thing) -> str:
    if thing.clone is None:
        return ""
    if thing.spoiled:
        return f"; the snapshot, which is not what was taken, lies in {thing.clone}"
    return f"; what it was lies in {thing.clone}"


def look(run: str, users: Collection[str | None], inquiry: Inquiry) -> TakenBack:
    """Return what there is to take back of a run, each thing with what putting it back would change."""
    facts = inquiry.ask_again([snapshots_query(run, user, things=True) for user in users])
    return _read(run, users, facts, facts)


def take_back(
    run: str, users: Collection[str | None], node: NodeAtWork, on_output: Callable[[bytes], None]
) -> TakenBack:
    """Put back everything that `run` wrote as one of `users`, and return how that stands, asked afterwards.

    Raise ConnectionFailure.
    """
    queries = {user: snapshots_query(run, user, things=True) for user in users}
    before = node.inquiry.ask_again(tuple(queries.values()))
    found = _read(run, users, before, before)
    if found.trouble is not None or not found.things:
        return found
    told = RestoreStarted(
        node=node.name, of=run, paths=tuple(it.path for it in found.things), time=node.run.clock.now()
    )
    if (untold := node.run.recorder.record(told)) is not None:
        return TakenBack(trouble=f"nothing was put back: {untold}")
    node.inquiry.forget()
    output: list[bytes] = []

    def heard(data: bytes) -> None:
        output.append(data)
        on_output(data)

    endings: list[Ending] = []
    # Of a thing that two users wrote, what the first one found is put back last.
    for index, (user, query) in reversed(list(enumerate(queries.items()))):
        if rows(before.answers[query]):
            task = Task(kind="restore", arguments={"run": run}, display=f"put back what run {run} wrote")
            name = _unused(f"_restore{index}", node)
            work = Work(name=name, job=Job((task,)), user=user, timeout_s=TIMEOUT_S)
            endings.append(node.attachment.carry_out(work, heard))
    after = node.inquiry.ask_again(tuple(queries.values()))
    said = b"".join(output).decode("utf-8", "replace")
    done = _read(run, users, before, after, restored=True)
    things = tuple(_with_reason(it, said, endings) for it in done.things)
    return TakenBack(
        things=things,
        trouble=done.trouble or _trouble(endings, done, said),
        output=said,
        interrupted=any(isinstance(ending, Interrupted) for ending in endings),
    )


def _with_reason(thing: Thing, said: str, endings: Collection[Ending]) -> Thing:
    """Return a thing that was not put back with the node's own word on why, or how the job ended that should have."""
    bad = f"{thing.path} was not put back"
    if thing.why is None or thing.why != bad:
        return thing
    begins = (f"{bad}: ", f"{thing.path} is a folder")
    line = next((line for line in said.splitlines() if line.startswith(begins)), None)
    ill = [ending for ending in endings if not _went_well(ending)]
    last = said.strip().rpartition("\n")[2]
    why = line or (f"{bad}: {last or ending_text(ill[0])}" if ill else bad)
    if thing.full is not None and "make room" not in why:
        why += f"; there is no room in {thing.full}: make some, and put it back again"
    return replace(thing, why=why)


def _went_well(ending: Ending) -> bool:
    return isinstance(ending, Exited) and ending.code == 0


def _unused(step: str, node: NodeAtWork) -> str:
    """Return the name of a job that the node has not started yet, by whichever controller; it starts a name once."""
    names = (job_name(node.run.id, node.name, step, it) for it in count(1))
    return next(name for name in names if isinstance(node.attachment.find(name), Absent))


def _trouble(endings: Collection[Ending], done: TakenBack, said: str) -> str | None:
    """Return what the node's own word adds: a thing can look as it was and not be what its RECORDs say."""
    bad = [ending for ending in endings if not _went_well(ending)]
    if not bad or any(it.why is not None for it in done.things):
        return None
    last = said.strip().rpartition("\n")[2]
    return last or f"putting back did not end well: {ending_text(bad[0])}"


def _read(run: str, users: Collection[str | None], before: Facts, after: Facts, *, restored: bool = False) -> TakenBack:
    things: dict[str, Thing] = {}
    for user in users:
        query = snapshots_query(run, user, things=True)
        answer = after.answers[query]
        if not isinstance(answer, Known):
            return TakenBack(trouble=f"the node does not tell what run {run} wrote there: {answer.why}")
        old = {it["path"]: it for it in rows(before.answers[query])}
        # Without an end of the snapshot its action had not begun: there is nothing to take back.
        for it in (it for it in rows(answer) if it["complete"] is True):
            thing = _thing(old.get(it["path"], it), it, restored=restored)
            first = things.setdefault(thing.path, thing)
            things[thing.path] = replace(first, steps=tuple(dict.fromkeys((*first.steps, *thing.steps))))
    return TakenBack(things=tuple(things.values()))


def _thing(before: Row, now: Row, *, restored: bool) -> Thing:
    found = _differences(now)
    path = str(now["path"])
    why = None
    if restored and now["restored"] is not True:
        why = f"{path} was not put back" + (f": {now['clone_fault']}" if now["clone_fault"] else "")
    elif restored and found is None:
        why = f"{path}: it could not be compared with what it was"
    elif restored and found:
        why = f"{path} is not what it was: {found}"
    elif not restored and now["clone_fault"]:
        why = f"{path} cannot be put back: {now['clone_fault']}"
    lies = why is not None and now["restored"] is not True and isinstance(now["clone"], str)
    since = before.get("since")
    told = since if isinstance(since, dict) else None
    # What was put back by an earlier rollback is told no more than once.
    new = before["restored"] is not True
    return Thing(
        path=path,
        steps=_texts(now["steps"]),
        changes=_changes(before),
        why=why,
        clone=str(now["clone"]) if lies else None,
        spoiled=bool(now["clone_fault"]),
        later=_texts(before["later"]) if new else (),
        since=_texts(told["first"]) if told and new else (),
        since_count=(_count(told["count"]) if told else None) if new else 0,
        kept=_texts(now.get("kept")),
        full=_text(now.get("full")),
    )


def _count(value: Plain) -> int:
    return value if isinstance(value, int) else 0


def _differences(row: Row) -> str | None:
    """Return in what a thing differs from what it was, empty where in nothing, None where that is not told."""
    told = row["differences"]
    if not isinstance(told, dict):
        return None
    first, count = _texts(told["first"]), told["count"]
    more = int(count) - len(first) if isinstance(count, int) else 0
    return "; ".join(first) + (f"; and {more} more" if more > 0 else "")


def _changes(row: Row) -> tuple[Change, ...]:
    """Return what putting back changes: packages of an environment, or the thing itself."""
    was, path = row["was"], str(row["path"])
    if not _differences(row):
        return ()
    old, new = row["packages_now"], row["packages"]
    if isinstance(old, dict) and isinstance(new, dict):
        names = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
        moved = tuple(Change("package", name, _text(old.get(name)), _text(new.get(name))) for name in names)
        if moved:
            return moved
    kind = str(row["kind"])
    since = row.get("since")
    untouched = isinstance(since, dict) and since["count"] == 0
    now = "as the run left it" if untouched else "as it is now"
    return (Change(kind, path, now, None if was == "absent" else "as it was before the run"),)


def _text(value: Plain) -> str | None:
    return None if value is None else str(value)


def _texts(value: Plain) -> tuple[str, ...]:
    return tuple(str(it) for it in value) if isinstance(value, list) else ()
