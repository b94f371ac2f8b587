"""A package put in its place by hand, before the application whose own pin puts another one there."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Looked, Subject

_KERNELS = frozenset({"sgl-kernel", "sglang-kernel", "flashinfer-python", "flashinfer-cubin"})
_LIBRARIES = frozenset(
    f"nvidia-{library}-cu{major}" for library in ("nccl", "cudnn", "cusparselt", "nvshmem") for major in (12, 13)
)
_PINNED_BY = {
    "sglang": _KERNELS | _LIBRARIES,
    "vllm": frozenset({"flashinfer-python", "flashinfer-cubin"}) | _LIBRARIES,
    "torch": _LIBRARIES,
}


_PINNED = frozenset[str]().union(*_PINNED_BY.values())


def check(subject: Subject) -> Iterator[Finding]:
    resolving = [it for it in subject.installing if it.names & _PINNED_BY.keys()]
    for step in subject.installing:
        for it in step.wanted:
            later = _undone_by(resolving, step, it.name) if it.pin is not None and it.name in _PINNED else None
            if later is not None:
                step_id, application = later
                summary = (
                    f"the later step `{step_id}` installs {application}, which pins {it.name} itself and puts it back"
                )
                remedy = f"move this step behind `{step_id}`, or give `{step_id}` an `overrides` for {it.name}"
                yield Finding(summary, it.at, remedy, step.id)


def _undone_by(resolving: list[Looked], step: Looked, name: str) -> tuple[str, str] | None:
    for later in resolving:
        if later.number <= step.number or later.arguments.values.get("no_deps") is True or later.venv != step.venv:
            continue
        settled = {"overrides", "constraints"} & later.arguments.values.keys()
        for application in sorted(later.names & _PINNED_BY.keys()):
            if name in _PINNED_BY[application] and name not in later.names and not settled:
                return later.id, application
    return None


RULE = warning(
    "SP105",
    "an override stands before the package that pins something else",
    "sglang pins its kernel package and flashinfer exactly, and torch pins the NVIDIA libraries. An override that is "
    "installed before them is replaced by the default build a step later, with exit status 0; the run then stops "
    "with a regression. Put overrides of pinned dependencies behind the last step that resolves, with `no_deps: "
    "true`, or state them as `overrides` of that step. Known pins are those of sglang, vllm and torch.",
    check,
)
