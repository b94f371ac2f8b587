"""An index of one CUDA release, and a postcondition that wants another one."""

from collections.abc import Iterable, Iterator

from stackplan.language.lint._installation import Installation
from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._stated import NO_CUDA, StatedBuild, agree, of_release, stated_builds
from stackplan.language.lint._subject import Statement, Subject
from stackplan.language.lint._wanted import LABELLED, texts
from stackplan.model.pep503 import canonical_name


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.steps:
        builds = dict(pair for call in step.installations for pair in _builds(call))
        for it in step.postconditions if builds else ():
            for stated in () if it.negated or it.optional else (*stated_builds(it), *_throughout(it, builds)):
                what, build = builds.get(stated.name, ("", stated.build))
                if not agree(build, stated.build):
                    wants = f"the postcondition wants {stated.build}: it cannot come to hold"
                    remedy = f"take the index or build of {stated.build}, or state {build}"
                    if stated.build == NO_CUDA:
                        remedy = f"take a build without CUDA, such as that of cpu, or state {build}"
                    yield Finding(f"{what} is that of {build}, and {wants}", it.at, remedy, step.id)


def _throughout(it: Statement, names: Iterable[str]) -> Iterator[StatedBuild]:
    """Yield what `cuda_coherent` states of everything beside torch: the major of its CUDA release alone."""
    build = of_release(it.text("cuda")) if it.kind == "cuda_coherent" else None
    if build is not None and build != NO_CUDA:
        allowed = {canonical_name(text) for _, text in texts(it.arguments, "allow")}
        yield from (StatedBuild(name, build[:4]) for name in names if name != "torch" and name not in allowed)


def _builds(call: Installation) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield what is installed of a known build, with what tells the build."""
    for it in call.wanted:
        if (build := call.build(it)) is not None and it.name in LABELLED:
            what = f"`{it.text}`" if it.label is not None else "the index" if call.tag is not None else "torch_backend"
            yield it.name, (what, build)


RULE = error(
    "SP120",
    "an index and a postcondition of two CUDA releases",
    "The step installs a build for one CUDA release, by its index, its label or `torch_backend`, and its own "
    "postcondition states another one, so that it fails on every node after the packages were replaced. Usually one of "
    "two variables was changed and the other forgotten.",
    check,
    by_step=True,
)
