"""What a `python_packages` step brings when it is run again, told from what is installed and what it states. Pure."""

import re

from stackplan.actions._failure import admits, records_query
from stackplan.actions._wanted_versions import Stated, to_install
from stackplan.actions._wishes import Wishes
from stackplan.model.distribution import Distribution, distributions, distributions_query
from stackplan.model.environment_place import real_place
from stackplan.model.facts import Facts, Known
from stackplan.model.kind import Evidence, Outstanding
from stackplan.model.verdict import Status, Verdict


def environment(facts: Facts, venv: str) -> str:
    """Return the real folder of an environment, or its name where no answer tells the folder."""
    asked = (it.asked_by(facts.user) for it in (distributions_query(venv=venv), records_query(venv)))
    return next((place for it in asked if (place := real_place(facts, it)) is not None), venv)


def outstanding(wishes: Wishes, evidence: Evidence) -> Outstanding | None:
    """Return the packages that are not there as the step states them; None where it is not known, or there are none.

    What satisfies its requirement is left alone by an installer, so it is no part of this: to run the step again would
    change nothing, and the playbook has to be edited. With `upgrade` or `reinstall` the installer looks anew, which
    counts where a condition that does not hold is about that very package.
    """
    facts = evidence.after
    answer = facts.answers.get(distributions_query(venv=wishes.venv).asked_by(facts.user))
    if not isinstance(answer, Known):
        return None
    installed = {it.canonical: it for it in distributions(answer)}
    things = {
        it.name: words for it in to_install(wishes) if (words := _lacking(it, installed.get(it.name), wishes, evidence))
    }
    for name in wishes.remove:
        if (there := installed.get(name)) is not None:
            things[name] = f"no {name}, and {there.version} is there"
    place = environment(facts, wishes.venv)
    return Outstanding(step=evidence.step, place=place, things=things) if things else None


def _lacking(stated: Stated, there: Distribution | None, wishes: Wishes, evidence: Evidence) -> str | None:
    """Return in words what is wanted and what is there instead, None where that is the same or nothing tells."""
    if stated.requirement.marker is not None:
        # Whether it counts on this node is the installer's to say.
        return None
    if there is None:
        return f"{stated.shown}, and it is not there"
    found = f"{there.version} is there"
    if stated.requirement.url is None and not admits(stated.requirement, there.version):
        return f"{stated.shown}, and {found}"
    if not any(_is_about(stated.name, it) for it in evidence.unmet):
        return None
    if wishes.upgrade.covers(stated.name):
        return f"{stated.shown} upgraded, and {found}"
    return f"{stated.shown} installed anew, and {found}" if wishes.reinstall.covers(stated.name) else None


def _is_about(name: str, verdict: Verdict) -> bool:
    """Return whether a condition does not hold that begins with a package's name: `torch built for CUDA 13.0`."""
    text = verdict.text.lower().replace("_", "-")
    return verdict.status is Status.NOT_HELD and re.match(rf"{re.escape(name)}(?![\w-])", text) is not None
