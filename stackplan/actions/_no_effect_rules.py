"""Rules for an installer that ended with 0 and changed nothing; each is a pure function of a `Failure`."""

import re
from collections.abc import Callable
from dataclasses import replace

from stackplan.actions._failure import Failure, admits, label, silence
from stackplan.actions._invocation import listing
from stackplan.actions._requirements import Wanted
from stackplan.actions._wishes import Wishes
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.distribution import Distribution
from stackplan.model.outcome import Reason
from stackplan.model.pep440 import InvalidVersion, Version
from stackplan.model.regular import regular

# pip: "Could not fetch URL https://…: There was a problem confirming the ssl certificate: … - skipping".
_UNREAD = regular(r"Could not fetch URL|Retrying \(Retry\(total=0|- skipping$", re.IGNORECASE)
_NAMED = 3
"""Files of a summary; of more it says that there are others."""


def half_installed(failure: Failure) -> Diagnosis | None:
    """SP203: metadata is there and files are not, or others, so the installer believes that there is nothing to do."""
    kinds = ("missing-file", "no-plain-file", "wrong-size")
    names = tuple(dict.fromkeys(name for kind, name in failure.findings if kind in kinds))
    if not names or failure.wishes.reinstall.everything or all(failure.wishes.reinstall.covers(name) for name in names):
        return None
    faults = [it for it in failure.files if it.kind in kinds]
    told = "; ".join([*(it.text for it in faults[:_NAMED]), *(["and others"] if len(faults) > _NAMED else [])])
    summary = (
        f"Files of {listing(names)} are not as RECORD says ({told}), and installers look only at the metadata, "
        "which is there."
    )
    others = [name for name in names if name not in failure.wishes.names]
    if others:
        # An installer reinstalls what the step installs, and nothing else.
        remedy = (
            f"Add `reinstall: [{', '.join(names)}]` to the step that installs {listing(tuple(others))}, and begin with "
            "that one: `--from STEP`."
        )
        # The edit belongs at that step's place, which is not known here.
        return replace(failure.diagnosis("SP203", summary, remedy), remedy_at=None)
    return failure.diagnosis("SP203", summary, f"Add `reinstall: [{', '.join(names)}]` at {failure.at}.")


def broken_metadata(failure: Failure) -> Diagnosis | None:
    """SP204: no installer can remove a distribution without RECORD, and of two dist-infos only one is looked at."""
    folders: dict[str, list[str]] = {}
    for it in failure.after:
        folders.setdefault(it.canonical, []).append(it.folder)
    for kind, name in failure.findings:
        if kind == "two-versions":
            summary = f"{name} is installed twice: {', '.join(folders.get(name, []))}."
            remedy = f"Remove the older folder from site-packages, then add `reinstall: [{name}]` at {failure.at}."
            return failure.diagnosis("SP204", summary, remedy)
        if kind in ("missing-record", "missing-metadata"):
            what = "RECORD" if kind == "missing-record" else "METADATA"
            where = ", ".join(folders.get(name, [])) or name
            summary = f"{where} has no {what}, so no installer can take {name} away."
            remedy = f"Remove that folder from site-packages, then add `reinstall: [{name}]` at {failure.at}."
            return failure.diagnosis("SP204", summary, remedy)
    return None


def satisfied_already(failure: Failure) -> Diagnosis | None:
    """SP201: what is installed satisfies the requirement, so the index that was named was never consulted."""
    found = _satisfying(failure, lambda name: not _renewed(failure.wishes, name))
    if found is None:
        return None
    wanted, distribution = found
    indexed = failure.wishes.index_url or failure.wishes.extra_index_urls or failure.wishes.torch_backend
    what = "so no other index was consulted" if indexed else "so nothing was looked for"
    summary = f'The installed {distribution.name} {distribution.version} satisfies "{wanted.shown}", {what}.'
    build = label(failure, distribution.canonical)
    pin = _pin(distribution, build)
    if not _sorts_higher(build, distribution.version):
        again = f"Add `reinstall: [{distribution.name}]` at {failure.at}, or pin {pin}"
        remedy = f"{again}: `upgrade` goes to higher versions only."
    elif failure.wishes.upgrade:
        remedy = f"Add {distribution.name} to `upgrade` at {failure.place('upgrade')}, or pin {pin}."
    else:
        remedy = f"Add `upgrade: true` at {failure.at}, or pin {pin}."
    return failure.diagnosis("SP201", summary, remedy)


def index_passed_over(failure: Failure) -> Diagnosis | None:
    """SP207: pip goes on without an index that it could not read, and ends with 0 where something is installed."""
    if failure.exit_code != 0 or failure.reason is not Reason.NO_OP:
        return None
    lines = [line.strip() for line in failure.output.splitlines() if _UNREAD.search(line)]
    if not lines:
        return None
    summary = "An index could not be read, and the installer went on without it."
    settings = failure.node.ignored_files if failure.node is not None and not failure.wishes.inherit_config else ()
    remedy = "See that the node reaches it (address, proxy, certificates)"
    if settings:
        remedy += f"; if it needs what stands in {listing(settings)}, add `inherit_config: true` at {failure.at}"
    causes = tuple(line if len(line) <= 300 else f"{line[:300]}…" for line in dict.fromkeys(lines))[:2]
    return failure.diagnosis("SP207", summary, f"{remedy}.", causes=causes)


def highest_already(failure: Failure) -> Diagnosis | None:
    """SP202: `upgrade` moves to a higher version only, and a label counts: cu130 is higher than cu128."""
    if failure.wishes.reinstall or satisfied_already(failure) or index_passed_over(failure):
        return None
    found = _satisfying(failure, failure.wishes.upgrade.covers)
    if found is None:
        return None
    _, distribution = found
    if failure.findings and silence(failure, distribution.canonical) == len(failure.unmet):
        # Files of others are not as they should be, and nothing that does not hold speaks of this one.
        return None
    pin = _pin(distribution, label(failure, distribution.canonical))
    summary = (
        f"`upgrade` moves to a higher version only, and none above the installed {distribution.name} "
        f"{distribution.version} was on offer."
    )
    remedy = f"Pin {pin}, or add `reinstall: [{distribution.name}]` at {failure.at}."
    if failure.wishes.index_url:
        remedy += f" Check `index_url` at {failure.place('index_url')}: to uv an index that answers 404 offers nothing."
    return failure.diagnosis("SP202", summary, remedy)


def inherited_settings(failure: Failure) -> Diagnosis | None:
    """SP212: settings of the node, let in by `inherit_config`, can put another index in front."""
    node = failure.node
    if not failure.wishes.inherit_config or node is None or failure.exit_code != 0:
        return None
    if failure.reason not in (Reason.NO_OP, Reason.POSTCONDITION):
        return None
    sources = (*node.ignored_variables, *node.ignored_files)
    if not sources:
        return None
    summary = f"`inherit_config: true` let in what the node itself has set: {listing(sources)}."
    return failure.diagnosis("SP212", summary, f"Remove `inherit_config` at {failure.place('inherit_config')}.")


def _satisfying(failure: Failure, counts: Callable[[str], bool]) -> tuple[Wanted, Distribution] | None:
    """Return the requirement that was met before anything was done; the one that an unmet condition speaks of first."""
    if failure.exit_code != 0 or failure.reason is not Reason.NO_OP:
        return None
    found = []
    for wanted in failure.wishes.wanted:
        distribution = failure.installed(wanted.name) if wanted.name is not None else None
        if distribution is None or not counts(distribution.canonical):
            continue
        requirement = wanted.requirement
        if requirement is not None and requirement.url is None and admits(requirement, distribution.version):
            found.append((wanted, distribution))
    return min(found, key=lambda pair: silence(failure, pair[1].canonical), default=None)


def _renewed(wishes: Wishes, name: str) -> bool:
    return wishes.upgrade.covers(name) or wishes.reinstall.covers(name)


def _pin(distribution: Distribution, build: str | None) -> str:
    """Return how the wanted build is named exactly; the version stays open, because no evidence tells it."""
    return f"its version and label ({distribution.name}==VERSION+{build})" if build else "its exact version and label"


def _sorts_higher(build: str | None, version: str) -> bool:
    """Return whether a `build` of the same version would count as an upgrade; yes where it is not known."""
    try:
        installed = Version(version)
        if build is None or installed.local is None:
            return True
        return Version(f"{installed.public}+{build}") > installed
    except InvalidVersion:
        return True
