"""The order of the steps of two playbooks: which moved, and which of them no longer wait for what guarded them."""

import bisect
from collections.abc import Mapping, Sequence

from stackplan.language.compare_values import Ruling
from stackplan.model.comparison import Effect, Move
from stackplan.model.diagnosis import Invalid
from stackplan.model.facts import Facts, Origin, Unknown
from stackplan.model.frozen import dataclass
from stackplan.model.job import Job
from stackplan.model.kind import ActionKind
from stackplan.model.playbook import Step
from stackplan.model.room import ACTIONS

WITHOUT_NODE = Unknown("no node is asked for a comparison")
_NAMED = 4


@dataclass(frozen=True)
class Order:
    """The steps that both sides have, by their new ids, each at its number in the old and in the new playbook."""

    old: Mapping[str, int]
    new: Mapping[str, int]
    acting: frozenset[str]
    guards: frozenset[str]
    before: Mapping[str, str | None]
    after: Mapping[str, str | None]
    moved: frozenset[str]

    def move(self, name: str) -> Move | None:
        """Return from where to where a step moved, and what that does; None where it kept its place."""
        if name not in self.moved:
            return None
        effect, why = self._ruling(name)
        return Move(self.before[name], self.after[name], effect, why)

    def _ruling(self, name: str) -> Ruling:
        """Return what it does: a step that acts began only once the steps before it were proven."""
        ahead = [it for it in self.new if self.old[it] < self.old[name] and self.new[it] > self.new[name]]
        behind = [it for it in self.new if self.old[it] > self.old[name] and self.new[it] < self.new[name]]
        found: list[Ruling] = []
        if ahead and name in self.acting:
            guards = [it for it in ahead if it in self.guards]
            said = f"runs now before {_names(guards or ahead)} {_are(guards or ahead)} proven"
            found.append((Effect.WEAKER if guards else Effect.NOTE, said))
        # Of two that both moved it is said once, of the one that came forward.
        if waited := [it for it in behind if it not in self.moved and it in self.acting]:
            effect = Effect.WEAKER if name in self.guards else Effect.NOTE
            found.append((effect, f"{_names(waited)} no longer {_wait(waited)} for its proof"))
        if not found:
            return Effect.OTHER, None
        loudest = Effect.WEAKER if any(effect is Effect.WEAKER for effect, _ in found) else Effect.NOTE
        return loudest, "; ".join(why for _, why in found if why)


def order(old: Sequence[tuple[str, Step]], new: Sequence[Step]) -> Order:
    """Return the order; the old steps come with the ids that they have in the new playbook."""
    numbers = {name: number for number, (name, _) in enumerate(old)}
    common = [str(step.id) for step in new if step.id in numbers]
    staying = _longest_rising([numbers[name] for name in common])
    acting = frozenset(str(step.id) for step in new if acts(step))
    return Order(
        old=numbers,
        new={name: number for number, name in enumerate(common)},
        acting=acting,
        # What is there to hold up the rest: it asks before it acts, or does nothing but ask.
        guards=frozenset(str(step.id) for step in new if step.preconditions or step.id not in acting),
        before=_before([name for name, _ in old]),
        after=_before([str(step.id) for step in new]),
        moved=frozenset(name for index, name in enumerate(common) if index not in staying),
    )


def acts(step: Step) -> bool:
    """Return whether a step does anything on the node; one that cannot be told of is taken to."""
    found = ACTIONS.find(step.action.kind)
    if found is None or not issubclass(found, ActionKind):
        return True
    try:
        job = job_of(found.read(step.action.arguments))
    except (Invalid, ValueError, TypeError):
        return True
    return job is None or bool(job.stages)


def job_of(action: ActionKind) -> Job | None:
    """Return what an action gives the node to do; None where that depends on the node."""
    try:
        job = action.job(Facts("", Origin.RECORDED, "", dict.fromkeys(action.queries(), WITHOUT_NODE)))
    except Exception:  # noqa: BLE001 - a kind may take it for certain that a node has answered; then words will do
        return None
    return job if isinstance(job, Job) else None


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _wait(names: Sequence[str]) -> str:
    return "waits" if len(names) == 1 else "wait"


def _before(names: Sequence[str]) -> dict[str, str | None]:
    return dict(zip(names, [None, *names], strict=False))


def _longest_rising(numbers: Sequence[int]) -> frozenset[int]:
    """Return the indexes of a longest rising sequence: what stays in order, so that the fewest steps count as moved."""
    ends: list[int] = []
    tails: list[int] = []
    previous: list[int | None] = []
    for index, number in enumerate(numbers):
        position = bisect.bisect_left(ends, number)
        previous.append(tails[position - 1] if position else None)
        ends[position:] = [number, *ends[position + 1 :]]
        tails[position:] = [index, *tails[position + 1 :]]
    found = set()
    at = tails[-1] if tails else None
    while at is not None:
        found.add(at)
        at = previous[at]
    return frozenset(found)
