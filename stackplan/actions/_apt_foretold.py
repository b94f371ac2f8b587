"""How a node answers once apt has done what its simulation says."""

from collections.abc import Mapping

from stackplan.actions._target import told
from stackplan.model.arguments import Value
from stackplan.model.facts import Answer, Facts, Known, Plain, Query, Unknown
from stackplan.model.frozen import dataclass

_WHY = "it depends on what the packages bring along"
_PLACES = ("target", "file", "nvcc", "toolkit_build")


@dataclass(frozen=True, slots=True, kw_only=True)
class AptRequest:
    """What is asked of apt in one transaction, and what is put on hold afterwards."""

    install: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    hold: tuple[str, ...] = ()


def simulation_changes(answer: Answer) -> dict[str, tuple[str | None, str | None]]:
    """Return (before, after) by name of what the query `apt_simulation` foretells."""
    changes = told(answer).get("changes")
    rows = changes if isinstance(changes, dict) else {}
    return {
        name: (_text(it.get("before")), _text(it.get("after"))) for name, it in rows.items() if isinstance(it, dict)
    }


def installed_packages(about: Mapping[str, Plain]) -> dict[str, str]:
    """Return version by name of what the query `dpkg` tells."""
    packages = about.get("packages")
    return {name: str(version) for name, version in packages.items()} if isinstance(packages, dict) else {}


def held_packages(about: Mapping[str, Plain]) -> tuple[str, ...]:
    held = about.get("held")
    return tuple(str(name) for name in held) if isinstance(held, list) else ()


def foretold_record(about: Mapping[str, Plain]) -> Mapping[str, Value] | None:
    """Return what earlier steps are foretold to change, as the query `apt_simulation` takes it in `after`, or None."""
    foretold = about.get("foretold")
    if not isinstance(foretold, dict):
        return None
    return {"changes": {name: _text(version) for name, version in foretold.items()}, "held": held_packages(about)}


def foretell_packages(
    facts: Facts, changes: Mapping[str, tuple[str | None, str | None]], request: AptRequest
) -> dict[Query, Answer]:
    """Return the answers once `changes` are made for `request`: what dpkg tells, and Unknown to what they may bring.

    A unit, a folder or a program that is missing now may come with a package; whether a restart is pending then, only
    the node can tell.
    """
    answers: dict[Query, Answer] = {}
    for query, answer in facts.of_kind("dpkg"):
        if isinstance(answer, Known):
            answers[query] = Known(_listing(told(answer), changes, request))
    listings = [told(answer) for answer in answers.values()]
    for query, answer in facts.of_kind("apt_package", "os", "service", *_PLACES):
        if query.kind == "apt_package" and isinstance(answer, Known) and listings:
            answers[query] = Known(_row(str(query.arguments["name"]), told(answer), listings[0]))
        elif changes and _may_come_with_a_package(query, told(answer)):
            answers[query] = Unknown(_WHY)
        elif changes and query.kind == "os" and told(answer).get("reboot_required") is False:
            answers[query] = Known({**told(answer), "reboot_required": None})
    return answers


def _listing(
    about: Mapping[str, Plain], changes: Mapping[str, tuple[str | None, str | None]], request: AptRequest
) -> dict[str, Plain]:
    packages = installed_packages(about)
    for name, (_, after) in changes.items():
        if after is None:
            packages.pop(name, None)
        else:
            packages[name] = after
    # apt takes a hold away from what it changes.
    held = {name for name in held_packages(about) if name not in changes} | set(request.hold)
    earlier = about.get("foretold")
    foretold: dict[str, Plain] = {**(earlier if isinstance(earlier, dict) else {})}
    foretold.update({name: after for name, (_, after) in changes.items()})
    return {
        **about,
        "packages": dict(packages.items()),
        "held": [*sorted(held & set(packages))],
        "foretold": foretold,
    }


def _row(name: str, before: Mapping[str, Plain], listing: Mapping[str, Plain]) -> dict[str, Plain]:
    base, _, architecture = name.partition(":")
    plain = base if architecture in (listing.get("architecture"), "all") else name
    version = installed_packages(listing).get(plain)
    status = None if version is None else "installed"
    return {
        **before,
        "version": version,
        "status": status,
        "held": plain in held_packages(listing),
        "broken": False,
    }


def _may_come_with_a_package(query: Query, about: Mapping[str, Plain]) -> bool:
    if query.kind == "service":
        return True
    missing = about.get("kind") == "missing" or about.get("folder_kind") == "missing" or about.get("exists") is False
    wanted = about.get("wanted")
    # Many a package makes the user that its files belong to.
    nobody = isinstance(wanted, dict) and None in (wanted.get("uid"), wanted.get("gid"))
    return query.kind in _PLACES and (missing or nobody)


def _text(value: Plain) -> str | None:
    return None if value is None else str(value)
