"""Builds for two CUDA majors in one environment."""

from collections.abc import Iterator
from itertools import chain

from stackplan.language.lint._installation import Installation
from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._stated import stated_builds
from stackplan.language.lint._subject import Looked, Statement, Subject
from stackplan.language.lint._wanted import COMPILED, LABELLED, Wanted
from stackplan.model.location import Location


def check(subject: Subject) -> Iterator[Finding]:
    torch: dict[str | None, str] = {}
    for step in subject.steps:
        told: set[str] = set()
        for name, shown, build, venv, at in chain(_installed(step), _stated(step)):
            if name == "torch":
                torch[venv] = build
            there = torch.get(venv)
            if there is not None and there[:4] != build[:4] and name not in told:
                told.add(name)
                summary = f"{shown} is built for {build} and torch for {there}: one process cannot load both"
                yield Finding(summary, at, f"take the {there} build of {name}", step.id)


_Build = tuple[str, str, str, str | None, Location]


def _installed(step: Looked) -> Iterator[_Build]:
    """Yield what a step installs of a known build for CUDA, torch first."""
    for call in step.installations:
        for it in sorted(call.wanted, key=lambda it: it.name != "torch"):
            build = _build(call, it)
            if build is not None and build.startswith("cu") and it.name in LABELLED | COMPILED:
                yield it.name, f"`{it.text}`", build, call.venv, it.at


def _build(call: Installation, it: Wanted) -> str | None:
    return call.build(it) if it.label is not None or it.name in LABELLED else None


def _stated(step: Looked) -> Iterator[_Build]:
    """Yield what the postconditions of a step state of builds for CUDA."""
    installed = {it.name for call in step.installations for it in call.wanted}
    for it in step.postconditions:
        if not (it.negated or it.optional):
            for stated in stated_builds(it):
                # Of what the step itself installs SP120 speaks.
                known = stated.name == "torch" or stated.name not in installed
                if known and stated.build.startswith("cu") and stated.name in LABELLED:
                    yield stated.name, f"`{stated.name}`", stated.build, _venv(it), it.at


def _venv(it: Statement) -> str | None:
    value = it.arguments.values.get("venv")
    return value if isinstance(value, str) else None


RULE = error(
    "SP119",
    "packages built for two CUDA releases in one environment",
    "A package that was compiled for CUDA 12 needs libcudart.so.12, which a torch for CUDA 13 does not bring. `uv pip "
    "check` calls the mix compatible; the import ends with `libnvrtc.so.12: cannot open shared object file`, or two "
    "runtimes share a process and it crashes. The rule compares the labels, indexes and postconditions of the steps of "
    "one environment.",
    check,
)
