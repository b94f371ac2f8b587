"""`upgrade` to whatever is newest, with no postcondition that would notice where that leads."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Looked, Statement, Subject
from stackplan.language.lint._version_bounds import has_upper_bound
from stackplan.language.lint._wanted import LABELLED


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.installing:
        if "upgrade" not in step.arguments or "constraints" in step.arguments:
            continue
        for it in step.wanted:
            if (
                it.name in LABELLED
                and step.upgrades(it.name)
                and not it.bounded
                and not _noticed(subject, step, it.name)
            ):
                summary = f"`upgrade` takes the newest {it.name}, whatever its CUDA, and no postcondition states which"
                remedy = f"pin `{it.name}==VERSION`, or state its version or label in a postcondition"
                yield Finding(summary, it.at, remedy, step.id)


def _noticed(subject: Subject, step: Looked, name: str) -> bool:
    if {"same_build", "cuda_coherent"} & subject.condition_kinds:
        return True
    # An index of one build bounds that at least.
    known = step.own.source(name) is not None
    for it in step.postconditions:
        if it.kind == "torch" and name == "torch" and _tells(it, "cuda", known):
            return True
        if it.kind == "torch" and name != "torch" and "torch" in step.names:
            return True
        if it.kind == "package" and it.text("name") == name and _tells(it, "local", known):
            return True
    return False


def _tells(it: Statement, build: str, known: bool) -> bool:
    """Return whether a condition states the build, or a version that an upgrade can miss."""
    if build in it.arguments:
        return True
    version = it.text("version")
    return "version" in it.arguments and (known or version is None or has_upper_bound(version))


RULE = warning(
    "SP112",
    "an upgrade without an upper bound, and nothing that would notice how far it went",
    "`uv pip install torch --upgrade` from the public index brought torch 2.15.0, built for CUDA 13.2, where 13.0 was "
    "wanted; a bare upgrade goes beyond what the application supports. Pin the version or bound it, or state in a "
    "postcondition which CUDA, version or label has to come out; `>=` states none.",
    check,
)
