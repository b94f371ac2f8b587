"""What apt would do for a CUDA toolkit, from its own simulation on the node. Pure; imports model only."""

from collections.abc import Mapping

from stackplan.actions._apt_foretold import (
    AptRequest,
    foretell_packages,
    foretold_record,
    held_packages,
    installed_packages,
    simulation_changes,
)
from stackplan.actions._foretold import left_open
from stackplan.actions._target import told
from stackplan.actions._toolkit_failures import explain_toolkit_failure
from stackplan.actions._toolkit_forecast import installed_answers
from stackplan.model.arguments import Arguments
from stackplan.model.debian_package import DPKG_QUERY
from stackplan.model.debian_version import compare
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.facts import Answer, Facts, Known, Query
from stackplan.model.frozen import dataclass
from stackplan.model.job import Exited
from stackplan.model.kind import Evidence
from stackplan.model.outcome import Reason

OPTIONS = ("--no-install-recommends",)
_WHY = "it depends on what the packages of the toolkit bring along"

Changes = Mapping[str, tuple[str | None, str | None]]


@dataclass(frozen=True, slots=True)
class Toolkit:
    """What apt is asked for: `default` has the common link lead to it."""

    packages: tuple[str, ...]
    release: str
    default: bool


def simulation(toolkit: Toolkit, facts: Facts) -> Query:
    """Return the question what apt would do, on top of what earlier steps are foretold to have it do."""
    return Query(
        "apt_simulation",
        {
            "install": toolkit.packages,
            "remove": (),
            "update": False,
            "options": OPTIONS,
            "after": foretold_record(told(facts[DPKG_QUERY])),
        },
    )


def failures(arguments: Arguments, answer: Known, facts: Facts, release: str) -> tuple[Diagnosis, ...]:
    """Return why apt would not do it, or would do what a toolkit's step must not; empty when neither is so."""
    problems = told(answer).get("problems")
    if isinstance(problems, list) and problems:
        return _not_possible(arguments, tuple(str(it) for it in problems), facts, release)
    changes, held = simulation_changes(answer), held_packages(told(facts[DPKG_QUERY]))
    cases = (
        ("remove", [name for name, (_, after) in changes.items() if after is None]),
        ("downgrade", [name for name, (old, new) in changes.items() if old and new and compare(new, old) < 0]),
        ("change", [name for name in changes if name in held]),
    )
    return tuple(_surprise(arguments, verb, sorted(names)) for verb, names in cases if names)


def answers(toolkit: Toolkit, facts: Facts, build: Query, changes: Changes) -> dict[Query, Answer]:
    """Return the answers once apt has made `changes`: those about packages, and about the toolkit's folder.

    The release is known where the compiler's package comes along; what other parts bring is not.
    """
    foretold = foretell_packages(facts, changes, AptRequest(install=toolkit.packages))
    release, dashed = toolkit.release, toolkit.release.replace(".", "-")
    if changes.get(f"cuda-nvcc-{dashed}", (None, None))[1] is not None:
        return {**foretold, **installed_answers(facts, build, release, release, link_moves=toolkit.default)}
    if not changes:
        return foretold
    prefix = str(told(facts.answers[build])["prefix"])
    opened = left_open(facts, prefix, str(build.arguments["prefix"]), why=_WHY)
    compiler = f"cuda-nvcc-{dashed}" in installed_packages(told(facts[DPKG_QUERY]))
    # Another part does not touch the compiler that is there.
    return {**foretold, **{query: it for query, it in opened.items() if not (compiler and query.kind == "nvcc")}}


def _not_possible(arguments: Arguments, problems: tuple[str, ...], facts: Facts, release: str) -> tuple[Diagnosis, ...]:
    evidence = Evidence(
        step="",
        at=arguments.at,
        arguments=arguments,
        before=facts,
        after=facts,
        ending=Exited(100),
        output="\n".join(f"E: {it}" for it in problems),
        reason=Reason.ACTION,
    )
    if found := explain_toolkit_failure(evidence, release):
        return found
    summary = "apt cannot install the toolkit: its packages do not go with what the node has or offers."
    remedy = "Mend the node's repositories or packages; `apt-get -s install` on the node tells more."
    return (Diagnosis(code="SP229", summary=summary, at=arguments.at, causes=problems[:6], remedy=remedy),)


def _surprise(arguments: Arguments, verb: str, names: list[str]) -> Diagnosis:
    """SP227: a toolkit brings packages, and takes none away, sets none back and leaves those on hold alone."""
    first = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    on_hold = ", which is on hold" if verb == "change" and len(names) == 1 else ", which are on hold"
    return Diagnosis(
        code="SP227",
        summary=f"apt would {verb} {first}{on_hold if verb == 'change' else ''}; a toolkit's step does not.",
        at=arguments.at,
        remedy="Do it in an `apt_packages` step before, where it is named, or choose another version of the toolkit.",
    )
