"""Installed Debian packages, as the queries `dpkg` (all of them) and `apt_package` (one) answer them.

The shapes stand in the docstrings of `stackplan/node/queries/`. A package of another architecture than the node's own
has it in its name: `libc6:i386`.
"""

from collections.abc import Mapping

from stackplan.model.change import Held, State
from stackplan.model.facts import Plain, Query
from stackplan.model.regular import regular

PACKAGE_NAME = regular(r"[a-z0-9][a-z0-9+.-]*(:[a-z0-9-]+)?")

DPKG_QUERY = Query("dpkg", {})


def debian_package_query(name: str) -> Query:
    return Query("apt_package", {"name": name})


def package_text(version: Plain, *, on_hold: bool, status: Plain = None) -> str:
    """Return how a package stands, in words: `2.30.7-1, held`; `status` is dpkg's word for one that is half done."""
    parts = (str(version), "held" if on_hold else "", str(status) if status else "")
    return ", ".join(part for part in parts if part)


def dpkg_state(told: Mapping[str, Plain]) -> State:
    """Return the state ("apt", name) of what the query `dpkg` tells."""
    packages, held, unfinished = told["packages"], told["held"], told["unfinished"]
    assert isinstance(packages, Mapping)
    assert isinstance(held, list)
    assert isinstance(unfinished, Mapping)
    return {
        ("apt", name): Held(package_text(version, on_hold=name in held, status=unfinished.get(name)))
        for name, version in packages.items()
    }
