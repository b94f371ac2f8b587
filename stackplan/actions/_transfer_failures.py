"""What can be said of a file that did not come over the network."""

import re

from stackplan.actions._sources import Address
from stackplan.model.arguments import Arguments
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.facts import Known
from stackplan.model.job import Exited
from stackplan.model.kind import Evidence

_LOGIN = ("refused the login", "wants a login", "refused access")


def explain_transfer(evidence: Evidence) -> tuple[Diagnosis, ...]:
    """Return what the task's own words (`stackplan/node/tasks/_fetch.py`) say of a failed download."""
    if not isinstance(evidence.ending, Exited) or evidence.ending.code == 0:
        return ()
    for rule in (_digest, _answered, _no_room, _not_reached):
        if (found := rule(evidence)) is not None:
            return (found,)
    return ()


def unoffered(offer: Known, url: Address, arguments: Arguments) -> Diagnosis | None:
    """Return what a plan says of an address that does not give its file out, None of one that does: SP232 where it was
    answered, SP234 where nothing came.
    """
    about = offer.value
    assert isinstance(about, dict)
    if about["offered"] is True:
        return None
    why, place = str(about["why"]), arguments.place("url")
    where = f"`url` at {place.line}:{place.column}"
    silent = why.startswith(("cannot be reached", "did not answer"))
    if silent:
        remedy = f"Check {where}, and that the node reaches it (name, proxy, firewall)."
    elif why.startswith(_LOGIN):
        remedy = f"Check {where}: it may need a user and a password, from a secret variable."
    else:
        remedy = f"Correct {where}."
    return Diagnosis(
        code="SP234" if silent else "SP232",
        summary=f"The address of the file, {url.shown}, {why}.",
        at=place,
        remedy=remedy,
        remedy_at=place,
    )


def _digest(evidence: Evidence) -> Diagnosis | None:
    """SP231: what came is not what the playbook states."""
    match = re.search(r"sha256 of .* differs\s+expected\s+(\w+)\s+observed\s+(\w+)", evidence.output)
    if match is None:
        return None
    place = evidence.arguments.place("sha256")
    return Diagnosis(
        code="SP231",
        summary="The file is not the one whose sha256 the playbook states; nothing of it was used.",
        expected=match[1],
        observed=match[2],
        at=place,
        step=evidence.step,
        remedy=f"Compare both with its publisher's digest, then correct `sha256` at {place.line}:{place.column}.",
        remedy_at=place,
    )


def _answered(evidence: Evidence) -> Diagnosis | None:
    """SP232: the server answered, and not with the file."""
    match = re.search(r"answers HTTP (\d+ ?[^\n]*)", evidence.output)
    if match is None:
        return None
    place = evidence.arguments.place("url")
    summary = f"The server answers HTTP {match[1].strip()} to the address of the file."
    where = f"`url` at {place.line}:{place.column}"
    later = match[1].startswith(("429", "5"))
    remedy = f"Try again later, or name another server in {where}." if later else f"Correct {where}."
    return Diagnosis(code="SP232", summary=summary, at=place, step=evidence.step, remedy=remedy, remedy_at=place)


def _no_room(evidence: Evidence) -> Diagnosis | None:
    """SP233: there is no room for the file."""
    match = re.search(r"no room in ([^\n:]+): ([^\n]+)", evidence.output) or re.search(
        r"^([^\n:]+): (No space left on device)", evidence.output, re.MULTILINE
    )
    if match is None:
        return None
    summary = f"There is no room in {match[1]}: {match[2]}."
    return Diagnosis(code="SP233", summary=summary, at=evidence.at, step=evidence.step, remedy="Make room on the node.")


def _not_reached(evidence: Evidence) -> Diagnosis | None:
    """SP234: no answer, or never a whole one."""
    match = re.search(r"could not be fetched: ([^\n]+)", evidence.output)
    if match is None:
        return None
    place = evidence.arguments.place("url")
    summary = f"The file could not be fetched: {match[1]}."
    remedy = "Check that the node reaches the server (proxy, firewall); what has come is kept for the next attempt."
    return Diagnosis(code="SP234", summary=summary, at=place, step=evidence.step, remedy=remedy, remedy_at=place)
