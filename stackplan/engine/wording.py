"""The one sentence that says how a step ended. Pure; imports model only."""

import signal
from collections.abc import Collection

from stackplan.engine.prove import Proof
from stackplan.model.job import (
    Ending,
    Exited,
    Interrupted,
    Lost,
    NotRebooted,
    NotStarted,
    Rebooted,
    Signalled,
    TimedOut,
)
from stackplan.model.outcome import Reason
from stackplan.model.quantity import duration_text
from stackplan.model.report import Broken
from stackplan.model.verdict import Status

_COMMAND = 120


def ending_text(ending: Ending | None) -> str | None:  # noqa: PLR0911 - one line an ending
    """Return how an action ended, in words; None when there was nothing to run."""
    match ending:
        case None:
            return None
        case Exited(code):
            return f"exit status {code}"
        case Signalled(number):
            return f"ended by {_signal_name(number)}"
        case TimedOut(after_s, killed):
            names = f"; ended with it: {', '.join(killed)}" if killed else ""
            return f"not done after {duration_text(after_s)}{names}"
        case Interrupted():
            return "ended on the node because the operator asked for it"
        case Lost(why):
            return f"how it ended is not known: {why}"
        case NotStarted(why):
            return f"the action was not started: {why}"
        case Rebooted(before, after):
            return (
                f"the node was restarted: boot {short_boot(before)} is over, it answers from boot {short_boot(after)}"
            )
        case NotRebooted(boot, says):
            told = f"; it says: {says}" if says else ""
            return f"the node was not restarted in time: it answered, the boot id is still {short_boot(boot)}{told}"


def short_boot(boot: str) -> str:
    """Return the part of a boot's id that people tell boots apart by."""
    return boot.partition("-")[0]


def unknown_end_text(ending: Ending) -> str:
    """Return the sentence for an action of which nobody knows how far it came."""
    text = ending_text(ending) or ""
    return f"how it ended is not known: {text}" if isinstance(ending, Rebooted) else text


def lost_text(ending: Ending | None, why: str, command: str | None, since: str | None) -> str:
    """Return what is known of an action after which the node could not be asked any more, in one sentence."""
    if isinstance(ending, Lost):
        first = (command or "").strip().partition("\n")[0][:_COMMAND]
        running = f"`{first}` was started" if first else "the action was started"
        now = "was ended with that" if ending.broken else "may still be running there"
        return f"how it ended is not known: {ending.why}; {running} at {since} and {now}"
    return f"what it left is not known: {why}; the action itself had come to its end ({ending_text(ending)})"


def stop_text(reason: Reason, ending: Ending | None, unmet: Collection[Proof], broken: Broken | None) -> str:
    """Return why a step failed, in one sentence without a full stop."""
    match reason:
        case Reason.NO_OP:
            return "the action exited 0 and changed nothing"
        case Reason.REGRESSION if broken is not None:
            return regression_text(broken)
        case Reason.POSTCONDITION | Reason.PRECONDITION | Reason.REGRESSION:
            return unmet_text(unmet)
        case Reason.LOST if ending is not None:
            return unknown_end_text(ending)
        case Reason.ACTION | Reason.TIMEOUT | Reason.LOST | Reason.INTERRUPTED | Reason.BUG | Reason.UNRECORDED:
            return ending_text(ending) or unmet_text(unmet)


def undeclared_no_op_text() -> str:
    """Return the sentence for an action that declares nothing of what it changes: only what was asked for is known."""
    return "the action exited 0 and changed nothing that the conditions see"


def regression_text(broken: Broken) -> str:
    """Return what no longer holds of an earlier step."""
    texts = "; ".join(condition.text for condition in broken.conditions)
    unknown = all(condition.status is Status.UNKNOWN for condition in broken.conditions)
    return f"`{broken.step}` {'can no longer be proven' if unknown else 'no longer holds'}: {texts}"


def foretold_text(reason: Reason, unmet: Collection[Proof], broken: Broken | None) -> str:
    """Return why a step would fail, in one sentence without a full stop; `unmet` are verdicts that are foretold."""
    if reason is Reason.NO_OP:
        return "the action would exit 0 and change nothing"
    if reason is Reason.REGRESSION and broken is not None:
        return f"would break `{broken.step}`: {'; '.join(condition.text for condition in broken.conditions)}"
    if own := [proof.condition.condition.message for proof in unmet if proof.condition.condition.message]:
        return own[0]
    first, *others = unmet
    more = f", and {len(others)} more" if others else ""
    return f"will not hold: {first.verdict.text}{more}"


def unmet_text(unmet: Collection[Proof]) -> str:
    """Return the first condition that does not hold, or that is not known to, and how many more there are.

    An author's own message for such a condition takes its place.
    """
    if own := [proof.condition.condition.message for proof in unmet if proof.condition.condition.message]:
        return own[0]
    if not unmet:
        return "a condition does not hold"
    culprit = next((proof for proof in unmet if proof.verdict.status is Status.NOT_HELD), next(iter(unmet)))
    verdict = culprit.verdict
    more = f", and {len(unmet) - 1} more" if len(unmet) > 1 else ""
    if verdict.status is Status.UNKNOWN:
        return f"cannot be proven: {verdict.text}{more} ({verdict.why or 'there is no answer'})"
    return f"does not hold: {verdict.text}{more}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
