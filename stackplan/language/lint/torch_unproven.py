"""torch replaced, and nothing that loads what was built on it."""

from collections.abc import Iterator

from stackplan.language.lint._environment import last_looks, torch_steps
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject

_LOADING = frozenset({"kernel_launch", "cuda_coherent", "python_import", "python", "http"})


def check(subject: Subject) -> Iterator[Finding]:
    changed = torch_steps(subject)
    if not changed:
        return
    loading = [(step.number, it) for step in subject.steps for it in step.postconditions if it.kind in _LOADING]
    last = last_looks(changed, loading)
    for environment, step in changed.items():
        if "create" not in step.arguments and last[environment] < step.number:
            summary = "torch changes, and no postcondition loads what was compiled for the torch that is replaced"
            remedy = (
                "state `kernel_launch` and `cuda_coherent` behind the last step, or `python_import` of what needs torch"
            )
            yield Finding(summary, step.step.action.at, remedy, step.id)


RULE = warning(
    "SP122",
    "a torch change without a look at what depends on it",
    "flash-attn, xformers, kernels and everything else that was compiled for one torch stays installed, satisfies "
    "every requirement, and ends with `undefined symbol` or `no kernel image is available` at first use. Versions "
    "prove nothing here. `cuda_coherent` reads the libraries that each file needs, `python_import` loads modules in "
    "a fresh interpreter, `kernel_launch` computes something on each GPU. Each environment needs a look of its own.",
    check,
)
