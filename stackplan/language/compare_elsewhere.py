"""Where a playbook states its conditions, so that one which only went to another place is not taken for lost."""

from collections.abc import Iterator

from stackplan.language.compare_filling import essence
from stackplan.language.compare_implied import implied
from stackplan.language.compare_values import Ruling
from stackplan.model.comparison import Effect
from stackplan.model.condition import Condition
from stackplan.model.frozen import dataclass
from stackplan.model.outcome import Phase
from stackplan.model.playbook import Playbook

NODE = "preconditions"
"""The name under which the playbook's own preconditions stand beside its steps."""

Place = float
"""The number of a step in the new playbook, from 0; a removed step stands half way to the next one, the playbook's own
preconditions at `BEFORE_ALL`."""

BEFORE_ALL: Place = -1.0


def identity(condition: Condition) -> object:
    """Return what two conditions have in common that state the same, whoever states it."""
    operands = tuple(identity(it) for it in condition.operands)
    # Of a list that is only joined the order tells nothing.
    ordered = tuple(sorted(operands, key=repr)) if condition.combination is not None else operands
    return condition.kind, essence(condition.arguments.values), condition.within_s, condition.recheck, ordered


@dataclass(frozen=True, slots=True)
class _Stated:
    place: Place
    phase: Phase
    name: str

    @property
    def words(self) -> str:
        return "the playbook's preconditions state it now" if self.name == NODE else f"step {self.name} states it now"


class Elsewhere:
    """What the new playbook states, and where."""

    def __init__(self, playbook: Playbook) -> None:
        self._stated: dict[object, list[_Stated]] = {}
        for condition, stated in _all(playbook):
            self._stated.setdefault(identity(condition), []).append(stated)

    def ruling(self, condition: Condition, phase: Phase, place: Place) -> Ruling:
        """Return what it does that a condition is no longer stated at `place`.

        It is lost where it stands nowhere else, and where it stands only where it proves less: a precondition in the
        place of a postcondition, or, in the place of a precondition, what is asked after the step has run.
        """
        found = self._stated.get(identity(condition), [])
        if phase is Phase.PRE:
            # What an earlier step proves, or asks before it acts, is asked before this one acts, too.
            found = [it for it in found if it.place < place or (it.place == place and it.phase is Phase.PRE)]
        else:
            found = [it for it in found if it.phase is Phase.POST]
        if not found:
            return Effect.WEAKER, "dropped"
        nearest = min(found, key=lambda it: abs(it.place - place))
        later = ", after other steps have run" if nearest.place > place else ""
        return Effect.NOTE, f"{nearest.words}{later}"


def _all(playbook: Playbook) -> Iterator[tuple[Condition, _Stated]]:
    for condition in playbook.preconditions:
        yield condition, _Stated(BEFORE_ALL, Phase.PRE, NODE)
    for place, step in enumerate(playbook.steps):
        for condition in step.preconditions:
            yield condition, _Stated(place, Phase.PRE, step.id)
        for condition in (*step.postconditions, *(implied(step.action.kind, step.action.arguments) or ())):
            yield condition, _Stated(place, Phase.POST, step.id)
