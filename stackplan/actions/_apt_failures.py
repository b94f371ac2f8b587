"""What can be said of apt when it cannot do what a step asks, before and after it was tried; only from evidence."""

import re
from collections.abc import Mapping

from stackplan.actions._apt_foretold import AptRequest
from stackplan.model.arguments import Arguments
from stackplan.model.debian_version import compare
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.facts import Plain
from stackplan.model.job import Exited
from stackplan.model.kind import Evidence
from stackplan.model.location import Location
from stackplan.model.outcome import Reason
from stackplan.model.regular import regular

_SHOWN_VERSIONS = 5
_UNKNOWN = regular(
    r"Unable to locate package (?P<absent>[^\s'\"]+)|Package '(?P<gone>[^']+)' has no installation candidate"
    r"|Version '(?P<version>[^']+)' for '(?P<name>[^']+)' was not found"
)


def explain_simulation(
    arguments: Arguments,
    request: AptRequest,
    simulation: Mapping[str, Plain],
    changes: Mapping[str, tuple[str | None, str | None]],
    held: tuple[str, ...],
) -> tuple[Diagnosis, ...]:
    """Return why the step would fail, from what the query `apt_simulation` answers; empty when it would not."""
    if fetch := _lines(simulation.get("fetch_problems")):
        return (_lists(arguments, fetch),)
    if problems := _lines(simulation.get("problems")):
        return _not_possible(arguments, request, problems, simulation.get("available"))
    return _surprises(arguments, request, changes, held)


def explain_apt_failure(evidence: Evidence) -> tuple[Diagnosis, ...]:
    """Return what the output of the task `apt_packages` and of apt says of a failure."""
    if evidence.reason is Reason.NO_OP:
        return _already_newest(evidence)
    if not isinstance(evidence.ending, Exited) or evidence.ending.code == 0:
        return ()
    found = []
    for code, pattern, summary, remedy in _RULES:
        if match := re.search(pattern, evidence.output, re.MULTILINE):
            words = {key: value or "" for key, value in match.groupdict().items()}
            at = evidence.arguments.place("lock_timeout") if code == "SP222" else evidence.at
            found.append(
                Diagnosis(
                    code=code,
                    summary=summary.format(**words),
                    at=at,
                    step=evidence.step,
                    causes=tuple(line.strip()[:300] for line in match[0].strip().splitlines()[:6]),
                    remedy=remedy.format(**words),
                    remedy_at=at,
                )
            )
    return tuple(found[:1])


def _lines(value: Plain) -> tuple[str, ...]:
    return tuple(str(line) for line in value) if isinstance(value, list) else ()


def _lists(arguments: Arguments, causes: tuple[str, ...]) -> Diagnosis:
    """SP228: a repository cannot be fetched, or is not trusted."""
    at = arguments.place("update")
    return Diagnosis(
        code="SP228",
        summary="The package lists cannot be fetched.",
        at=at,
        causes=causes[:6],
        remedy="Mend the repository on the node (address, key, network), or take its list out of /etc/apt.",
        remedy_at=at,
    )


def _not_possible(
    arguments: Arguments, request: AptRequest, problems: tuple[str, ...], available: Plain
) -> tuple[Diagnosis, ...]:
    offers = available if isinstance(available, Mapping) else {}
    found = []
    for problem in problems:
        if match := _UNKNOWN.search(problem):
            name = match["absent"] or match["gone"] or match["name"]
            place = _place(arguments, request, name)
            found.append(_not_offered(arguments, name, match["version"], _versions(offers.get(name)), place))
    if found:
        return tuple(found)
    # SP229: the resolver's own reasons.
    at = arguments.place("install") if request.install else arguments.place("remove")
    remedy = (
        f"Name versions that go together at {_where(at)}, or mend the repositories; `apt-get -s install` tells more."
    )
    summary = "No set of package versions is what the step asks for."
    return (Diagnosis(code="SP229", summary=summary, at=at, causes=problems[:6], remedy=remedy, remedy_at=at),)


def _not_offered(
    arguments: Arguments, name: str, version: str | None, versions: tuple[str, ...], at: Location
) -> Diagnosis:
    """SP223: no repository of the node offers the package, or not in that version."""
    wanted = f"{name} {version}" if version else name
    update = "" if arguments.flag("update", default=False) else f"Add `update: true` at {_where(arguments.at)}, or "
    if versions:
        more = f" and {len(versions) - _SHOWN_VERSIONS} more" if len(versions) > _SHOWN_VERSIONS else ""
        observed = ", ".join(versions[:_SHOWN_VERSIONS]) + more
        choose = f"pin one of those at {_where(at)}."
        remedy = update + choose if update else choose.capitalize()
    else:
        observed = "no version of it"
        bring = "add the repository that offers it in an earlier step."
        remedy = update + bring if update else bring.capitalize()
    summary = f"No repository of the node offers {wanted}."
    return Diagnosis(
        code="SP223", summary=summary, expected=wanted, observed=observed, at=at, remedy=remedy, remedy_at=at
    )


def _versions(about: Plain) -> tuple[str, ...]:
    return _lines(about.get("versions")) if isinstance(about, dict) else ()


def _surprises(
    arguments: Arguments,
    request: AptRequest,
    changes: Mapping[str, tuple[str | None, str | None]],
    held: tuple[str, ...],
) -> tuple[Diagnosis, ...]:
    """SP227: apt would do more than the step names."""
    pinned = [word.partition("=")[0] for word in request.install if "=" in word]
    removed = [name for name, (_, after) in changes.items() if after is None]
    lowered = [name for name, (old, new) in changes.items() if old and new and compare(new, old) < 0]
    changed = [name for name in changes if name in held]
    cases = (
        ("remove", removed, request.remove, "remove", "Name them in `remove`, if they may go."),
        ("downgrade", lowered, pinned, "install", "Name their versions in `install`, if they may go down."),
        ("change, although on hold,", changed, (*request.hold, *request.remove), "hold", "Name them in `hold`."),
    )
    found = []
    for verb, names, asked, key, remedy in cases:
        unasked = sorted(name for name in names if name not in asked and name.partition(":")[0] not in asked)
        if unasked:
            at = arguments.place(key)
            summary = f"apt would {verb} {', '.join(unasked)}, which the step does not name."
            found.append(
                Diagnosis(code="SP227", summary=summary, at=at, remedy=f"{remedy} ({_where(at)})", remedy_at=at)
            )
    return tuple(found)


def _already_newest(evidence: Evidence) -> tuple[Diagnosis, ...]:
    """SP223: apt did nothing because nothing newer is on offer."""
    match = re.search(r"^(\S+) is already the newest version \(([^)]+)\)", evidence.output, re.MULTILINE)
    if match is None:
        return ()
    at = evidence.arguments.place("install")
    fetched = evidence.arguments.flag("update", default=False)
    remedy = (
        "Add the repository that offers another version in an earlier step, or name a version in `install`."
        if fetched
        else f"Add `update: true` at {_where(evidence.arguments.at)}: the node's package lists may be old."
    )
    summary = f"{match[1]} {match[2]} is the newest version that the node's repositories offer, so apt did nothing."
    return (
        Diagnosis(
            code="SP223",
            summary=summary,
            at=at,
            step=evidence.step,
            causes=(match[0],),
            remedy=remedy,
            remedy_at=at,
        ),
    )


def _place(arguments: Arguments, request: AptRequest, name: str) -> Location:
    for index, word in enumerate(request.install):
        if word.partition("=")[0].partition(":")[0] == name.partition(":")[0]:
            return arguments.place("install", index)
    return arguments.place("install")


def _where(at: Location) -> str:
    return f"{at.line}:{at.column}"


_RULES = (
    (
        "SP222",
        r"apt's lock \S+ is held by (?P<holder>.+) for longer|Could not get lock \S+ It is held by (?P<who>[^\n]+)",
        "Another program holds apt's lock: {holder}{who}.",
        "Wait for it to end (often unattended-upgrades), or give it longer with `lock_timeout`.",
    ),
    (
        "SP224",
        r"stackplan: dpkg was interrupted: (?P<what>[^\n]+)|^E: dpkg was interrupted[^\n]*",
        "apt cannot install anything until what is half installed is put right.",
        "Run `dpkg --configure -a` on the node and look at `dpkg --audit`.",
    ),
    (
        "SP228",
        r"the package lists could not be fetched:\n(?:  [^\n]+\n?)+",
        "The package lists cannot be fetched.",
        "Mend the repository on the node (address, key, network), or take its list out of /etc/apt.",
    ),
    (
        "SP227",
        r"apt would (?:also )?(?P<what>(?:remove|downgrade|change) .+?), (?:which|for which)[^\n]*",
        "apt would {what}, which the step does not name.",
        "Name them in `remove`, with a version in `install`, or in `hold`.",
    ),
    (
        "SP223",
        _UNKNOWN.pattern,
        "No repository of the node offers {absent}{gone}{name} as the step wants it.",
        "Add `update: true`, or the repository that offers it in an earlier step.",
    ),
    (
        "SP229",
        r"apt cannot do it:\n(?:  [^\n]+\n?)+",
        "No set of package versions is what the step asks for.",
        "Name versions that go together; `apt-get -s install` on the node tells more.",
    ),
    (
        "SP230",
        r"dpkg: error processing (?:package|archive) (?P<broken>\S+)[^\n]*\n(?: [^\n]*\n)*",
        "dpkg could not finish {broken}; it is left half installed.",
        "See what its script says above; mend that on the node and run `dpkg --configure -a` there.",
    ),
    (
        "SP233",
        r"You don't have enough free space in (?P<where>[^\n]+?)\.?$|No space left on device",
        "There is no room for the packages {where}.",
        "Make room on the node.",
    ),
)
