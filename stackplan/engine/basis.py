"""What a plan rests on at one node: the state that its steps look at, and how their conditions stood. Pure.

What moves by itself (free space, a command's output) is not in a state: there the verdict alone counts.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import field

from stackplan.engine.bind import BoundCondition, BoundPlaybook
from stackplan.engine.observe import Witness, look
from stackplan.engine.prove import prove
from stackplan.model.change import Held, State
from stackplan.model.facts import Facts
from stackplan.model.frozen import dataclass
from stackplan.model.outcome import Phase
from stackplan.model.secret import Redactor
from stackplan.model.verdict import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """One thing that stood on the node. `fingerprint` tells apart what reads alike; it gives nothing of it away."""

    kind: str
    name: str
    text: str
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stood:
    """A condition and how it stood; `observed` is for people, nothing may decide on it."""

    phase: Phase
    kind: str
    text: str
    status: Status
    observed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one step rests on; `step` None: the playbook's own preconditions.

    `states` are names in the table of the basis, one for each who looks (a step's action first), None where that one
    could not.
    """

    step: str | None
    conditions: tuple[Stood, ...]
    states: tuple[str | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """The parts in the order of the playbook; `states` holds every state once, by its digest."""

    parts: tuple[Part, ...]
    states: Mapping[str, tuple[Thing, ...]]


def find(playbook: BoundPlaybook, facts: Facts, redactor: Redactor) -> Basis:
    """Return what a plan rests on that is made from `facts`, which hold an answer to every query of the playbook."""
    finding = _Finding(facts, redactor)
    parts = [finding.part(None, None, (), playbook.preconditions)]
    for step in playbook.bound_steps:
        action = Witness(step.action, step.step.user)
        parts.append(finding.part(step.id, action, step.pre, step.post))
    return Basis(parts=tuple(parts), states=finding.states)


@dataclass
class _Finding:
    """A basis in the making. Many look at the same long state (all packages of an environment): it is kept once."""

    facts: Facts
    redactor: Redactor
    states: dict[str, tuple[Thing, ...]] = field(default_factory=dict)
    _seen: list[tuple[State, str]] = field(default_factory=list)

    def part(
        self,
        step: str | None,
        action: Witness | None,
        pre: Collection[BoundCondition],
        post: Collection[BoundCondition],
    ) -> Part:
        looking = [Witness(kind, it.user) for it in (*pre, *post) for kind in it.kinds if kind.steady]
        # The preconditions of the playbook stand where those after a step would: nothing follows them.
        phases = (Phase.PRE, Phase.POST if step is not None else Phase.PRE)
        return Part(
            step=step,
            conditions=tuple(
                stood for phase, stated in zip(phases, (pre, post), strict=True) for stood in self._stood(phase, stated)
            ),
            states=tuple(self._state(it) for it in ([action] if action is not None else []) + looking),
        )

    def _stood(self, phase: Phase, conditions: Collection[BoundCondition]) -> list[Stood]:
        text = self.redactor.text
        return [
            Stood(
                phase=phase,
                kind=proof.condition.condition.kind,
                text=text(proof.verdict.text),
                status=proof.verdict.status,
                observed=None if proof.verdict.observed is None else text(proof.verdict.observed),
            )
            for proof in prove(conditions, self.facts)
        ]

    def _state(self, witness: Witness) -> str | None:
        state = look(witness, self.facts)
        if state is None:
            return None
        for known, name in self._seen:
            if known == state:
                return name
        things = tuple(self._thing(kind, name, held) for (kind, name), held in sorted(state.items()))
        digest = _digest([[it.kind, it.name, it.text, it.fingerprint] for it in things])
        self.states[digest] = things
        self._seen.append((state, digest))
        return digest

    def _thing(self, kind: str, name: str, held: Held) -> Thing:
        text = self.redactor.text
        mark = held.fingerprint if held.kept is None else held.kept
        return Thing(kind=kind, name=text(name), text=text(held.text), fingerprint=_digest(mark))


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]
