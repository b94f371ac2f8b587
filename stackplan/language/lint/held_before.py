"""A version is installed, and the postconditions ask for the name alone, or for older versions as well."""

from collections.abc import Iterator

from stackplan.language.lint._apt_name import bare
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Looked, Statement, Subject
from stackplan.language.lint._version_bounds import lowest, public, stated
from stackplan.language.lint._wanted import Wanted, texts
from stackplan.model.pep440 import Version
from stackplan.model.pep503 import canonical_name

_BUILDS = {"package": ("local", "absent"), "torch": ("cuda", "arch")}
"""What tells one build from another beside the version, by kind."""


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.installing:
        if step.step.always or "create" in step.arguments:
            continue
        aimed = _aimed(step)
        if aimed and step.postconditions and all(_older_will_do(it, aimed) for it in step.postconditions):
            yield _finding(step, aimed)
    for step in subject.steps:
        if step.kind == "apt_packages" and not step.step.always:
            yield from _of_apt(step)


def _of_apt(step: Looked) -> Iterator[Finding]:
    """Look at `install: [NAME=VERSION]` behind which `apt_package: {name: NAME}` is all that is stated."""
    pinned = {bare(text): text for _, text in texts(step.arguments, "install") if "=" in text}
    stated = step.postconditions
    if not pinned or not stated or any(it.kind != "apt_package" or _tells_version(it) for it in stated):
        return
    told = next((it for it in stated if it.text("name") in pinned), None)
    if told is not None:
        name = told.text("name") or ""
        summary = f"the postcondition holds with any {name} that is there: `{pinned[name]}` is not put over it"
        remedy = f"state its version: `apt_package: {{name: {name}, version: …}}`"
        yield Finding(summary, told.at, remedy, step.id)


def _tells_version(it: Statement) -> bool:
    return it.negated or "version" in it.arguments or "absent" in it.arguments


def _aimed(step: Looked) -> dict[str, Wanted]:
    """Return what a step wants of a version, by name.

    A range beside a name that takes anything is a mere bound: that step is there to bring what is missing.
    """
    ranges = all(it.pin is not None or lowest(it.specifier) is not None for it in step.wanted)
    return {it.name: it for it in step.wanted if it.pin is not None or ranges or step.upgrades(it.name)}


def _floor(it: Wanted) -> Version | None:
    """Return the version that a requirement wants at least; None where it takes any."""
    return public(it.pin) if it.pin is not None else lowest(it.specifier)


def _older_will_do(it: Statement, aimed: dict[str, Wanted]) -> bool:
    """Return whether a condition may hold before the step: by its name alone, or by a version below the wanted one."""
    if it.kind == "python_import":
        return True
    if it.kind not in _BUILDS or any(name in it.arguments for name in _BUILDS[it.kind]):
        return False
    if "version" not in it.arguments:
        return it.kind == "package" or "torch" in aimed
    return not it.negated and _admits_older(it, aimed)


def _admits_older(it: Statement, aimed: dict[str, Wanted]) -> bool:
    wanted, text = aimed.get(_name(it)), it.text("version")
    if wanted is None or text is None or text.removeprefix("==") == wanted.pin:
        return False
    floor, specifier = _floor(wanted), stated(text)
    if floor is None or specifier is None:
        return False
    lower = lowest(specifier)
    # Builds of two nights are of one version here.
    return lower is None or Version(lower.base_version) < Version(floor.base_version)


def _name(it: Statement) -> str:
    return "torch" if it.kind == "torch" else canonical_name(it.text("name") or "")


def _finding(step: Looked, aimed: dict[str, Wanted]) -> Finding:
    # A version that reaches too far down says best what is wrong.
    told = next((it for it in step.postconditions if "version" in it.arguments), step.postconditions[0])
    version = told.text("version")
    wanted = aimed[_name(told)] if version is not None else next(iter(aimed.values()))
    which = "installed" if version is None else f"`{version}`"
    summary = f"the postcondition holds with any {wanted.name} that is {which}: {_instead(wanted)}"
    return Finding(summary, told.at, f"state its version: `package: {{name: {wanted.name}, version: …}}`", step.id)


def _instead(it: Wanted) -> str:
    return "the step is skipped where an old one is" if it.pin is None else f"`{it.text}` is not installed over another"


RULE = warning(
    "SP132",
    "a version is to be installed, and any version satisfies the postconditions",
    "A step whose postconditions hold already is satisfied and does not run. `package: {name: sglang}` holds with "
    "every sglang, so a node with an old one keeps it, and the run is green; so does `version: '>=0.4'` where 0.5.16 "
    "is installed, and `apt_package: {name: libnccl2}` beside `install: [libnccl2=2.30.7-1]`. State the version, the "
    "label or the CUDA release that the step is there for.",
    check,
    by_step=True,
)
