"""Builds for two CUDA majors in one environment."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._subject import Looked, Subject
from stackplan.language.lint._wanted import COMPILED, LABELLED, Wanted, build_of, cuda_of


def check(subject: Subject) -> Iterator[Finding]:
    target: dict[str | None, tuple[str, int]] = {}
    for step in subject.installing:
        for it in step.wanted:
            build = _build(step, it)
            release = cuda_of(build)
            if release is None or build is None or it.name not in LABELLED | COMPILED:
                continue
            if it.name == "torch":
                target[step.venv] = (build, release[0])
            torch = target.get(step.venv)
            if torch is not None and torch[1] != release[0]:
                summary = f"`{it.text}` is built for {build} and torch for {torch[0]}: one process cannot load both"
                yield Finding(summary, it.at, f"take the {torch[0]} build of {it.name}", step.id)


def _build(step: Looked, it: Wanted) -> str | None:
    return build_of(it.label) if it.label is not None else step.tag if it.name in LABELLED else None


RULE = error(
    "SP119",
    "packages built for two CUDA releases in one environment",
    "A package that was compiled for CUDA 12 needs libcudart.so.12, which a torch for CUDA 13 does not bring. `uv pip "
    "check` calls the mix compatible; the import ends with `libnvrtc.so.12: cannot open shared object file`, or two "
    "runtimes share a process and it crashes. The rule compares labels and indexes of the steps of one environment.",
    check,
)
