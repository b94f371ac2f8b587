"""What a `python_packages` action is expected to do to its environment, from a dry run. Pure; imports model only."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from stackplan.actions._dry_run import DryRun, Finding, Refusal, dry_run_query, read_dry_run
from stackplan.actions._installer_facts import InstallerFacts
from stackplan.actions._invocation import listing
from stackplan.actions._predicted import Environment, made
from stackplan.actions._wishes import Installer, Wishes
from stackplan.model.distribution import distributions_query
from stackplan.model.facts import Facts, Failed, Known, Query, Unknown
from stackplan.model.frozen import dataclass
from stackplan.model.pep440 import InvalidVersion, Version

_UNCHECKED = "UV_SKIP_WHEEL_FILENAME_CHECK"


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What the action is done with: the node's facts, the installer; `making`: the environment is not there yet."""

    node: InstallerFacts
    installer: Installer
    making: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """The environment before and after. `refusal`: the installer would not do it; `stuck`: folders without RECORD that
    it could not take away, which ends the action.
    """

    before: Environment
    after: Environment
    refusal: Refusal | None = None
    stuck: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


Expected: TypeAlias = Outlook | Unknown


def question(wishes: Wishes, means: Means, facts: Facts) -> Query | None:
    """Return what has to be asked to tell the outlook; None where the packages that are there tell it."""
    before = _before(wishes, facts)
    carried = before.carried() if isinstance(before, Environment) and not means.making else None
    return dry_run_query(wishes, means.node, means.installer, carried)


def outlook(wishes: Wishes, means: Means, facts: Facts) -> Expected:
    """Return what the action is expected to do, from facts that hold the answer to `question`."""
    before = _before(wishes, facts)
    if isinstance(before, Unknown):
        return before
    removed = before
    if wishes.remove and not means.making:
        if stuck := before.unremovable(wishes.remove):
            return Outlook(before=before, after=before, stuck=tuple(str(row["folder"]) for row in stuck))
        removed = before.without(wishes.remove)
    query = question(wishes, means, facts)
    if query is None:
        return Outlook(before=before, after=removed)
    answer = facts[query]
    if not isinstance(answer, Known):
        said = answer.stderr.strip().splitlines() if isinstance(answer, Failed) else []
        return Unknown(f"the dry run could not be done: {answer.why}{f' ({said[-1].strip()})' if said else ''}")
    told = read_dry_run(answer)
    if told.made is not None:
        make = query.arguments["make"]
        assert isinstance(make, Mapping)
        removed = made(told.made, make)
    return _concluded(means, before, removed, _checked(wishes, means, told), _remarks(wishes, told))


def _checked(wishes: Wishes, means: Means, told: DryRun) -> DryRun:
    """Return the dry run; refused where uv would find, once it has a wheel, that its metadata is of another version
    than its file's name. pip reads the metadata in its dry run, too, and refuses by itself.
    """
    if means.installer is not Installer.UV or wishes.inherit_config or _UNCHECKED in wishes.environment:
        return told
    for name, version in told.after.items():
        stated = told.metadata.get(name, {}).get("version")
        if isinstance(stated, str) and version is not None and _differ(stated, version):
            reason = f"the metadata of {name} says {stated}, which does not match the name of its file ({version})"
            return replace(told, refusal=Refusal(stage="install", reason=reason, output=reason, exit_code=2))
    return told


def _differ(stated: str, named: str) -> bool:
    """Return whether uv takes the version in a wheel's metadata for another one; the label may be missing there."""
    if stated == named:
        return False
    try:
        one, other = Version(stated), Version(named)
    except InvalidVersion:
        return False
    return one != other and one != Version(other.public)


def _concluded(
    means: Means, before: Environment, ready: Environment, told: DryRun, remarks: tuple[str, ...]
) -> Expected:
    """Return what comes of an environment that is `ready` for what the installer would do next."""
    if told.refusal is not None:
        if told.refusal.stage == "make":
            return Unknown(f"the environment cannot be made for a dry run: {told.refusal.reason}")
        return Outlook(before=before, after=ready, refusal=told.refusal, remarks=remarks, findings=told.findings)
    stuck = ready.unremovable(tuple(told.after)) if means.installer is Installer.PIP else ()
    if stuck:
        return Outlook(before=before, after=ready, stuck=tuple(str(row["folder"]) for row in stuck), remarks=remarks)
    return Outlook(before=before, after=ready.after(told), remarks=remarks)


def _before(wishes: Wishes, facts: Facts) -> Environment | Unknown:
    answer = facts[distributions_query(venv=wishes.venv)]
    if not isinstance(answer, Known) or not isinstance(answer.value, dict):
        why = answer.why if not isinstance(answer, Known) else "its answer cannot be read"
        return Unknown(f"it is not known what is installed in {wishes.venv}: {why}")
    return Environment.read(answer.value)


def asked(wishes: Wishes, finding: Finding) -> str:
    """Return what an index did when it was asked, as a clause."""
    what = finding.name or listing(wishes.names)
    return f"the index {wishes.indexes[finding.index].shown}, asked for {what}, {finding.why}"


def _remarks(wishes: Wishes, told: DryRun) -> tuple[str, ...]:
    """Return what people should know of the dry run besides its changes."""
    unread = "" if told.after or told.refusal else "; what is installed satisfied the installer without it"
    remarks = [f"{asked(wishes, it)}{unread}" for it in told.findings]
    untold = {name: str(about["why"]) for name, about in told.metadata.items() if about.get("why") is not None}
    remarks += [f"what {name} {told.after.get(name)} requires is not known: {why}" for name, why in untold.items()]
    return tuple(remarks)
