"""What an action printed, as far as the journal has it: the head as it was told, the tail from the end of its step.

Pure; imports model only.
"""

from collections.abc import Iterable

from stackplan.engine.job_name import job_name
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.event import Event, OutputSeen, StepEnded, StepStarted
from stackplan.model.frozen import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """The output of one step on one node, all attempts. `head` holds it from its beginning on. `tail` None: the head is
    all of it; else something is missing between the two. `job` names the last attempt's folder on the node, None where
    that is not known.
    """

    node: str
    step: str
    head: str
    tail: str | None
    job: str | None


def captured(events: Iterable[Event], run: str, step: str, node: str | None) -> Captured:
    """Return what `step` printed on `node`, or on the one node where it ran. Raise Invalid for what did not run."""
    heads: dict[tuple[str, str], list[str]] = {}
    tails: dict[tuple[str, str], str | None] = {}
    attempts: dict[tuple[str, str], int] = {}
    ran: dict[tuple[str, str], None] = {}
    for event in events:
        match event:
            case StepStarted():
                key = (event.node, event.step)
                ran[key] = None
                attempts[key] = event.action.attempts
                if event.action.attempts > 1:
                    heads.setdefault(key, []).append(f"[stackplan: attempt {event.action.attempts}]\n")
            case OutputSeen():
                # Of a rollback this is all: it puts back what several steps wrote, and starts none of them.
                ran[event.node, event.step] = None
                heads.setdefault((event.node, event.step), []).append(event.text)
            case StepEnded() if event.step.action is not None:
                tails[event.node, event.step.id] = event.step.action.output_tail
            case _:
                pass
    key = _meant(tuple(ran), step, node)
    head = "".join(heads.get(key, []))
    tail = tails.get(key)
    whole = tail is None or head.rstrip("\n").endswith(tail.rstrip("\n"))
    job = job_name(run, key[0], step, attempts[key]) if key in attempts else None
    return Captured(node=key[0], step=step, head=head, tail=None if whole else tail, job=job)


def _meant(ran: tuple[tuple[str, str], ...], step: str, node: str | None) -> tuple[str, str]:
    found = [it for it in ran if it[1] == step and node in (None, it[0])]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(name for name, _ in found[:8])
        summary = f"the action of `{step}` ran on {len(found)} nodes"
        raise Invalid([Diagnosis(summary=summary, observed=names, remedy="name one with `--node`")])
    where = "" if node is None else f" on `{node}`"
    told = [f"`{name}` on {at}" for at, name in ran[:8]]
    raise Invalid(
        [
            Diagnosis(
                summary=f"no action of a step `{step}` ran{where} in this run",
                expected=", ".join(told) if told else None,
                observed=None if told else "nothing ran: what was satisfied has printed nothing",
            )
        ]
    )
