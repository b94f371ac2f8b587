"""Whatever nvcc stands first on the PATH of the step's shell."""

from collections.abc import Iterator
from itertools import chain

from stackplan.language.lint._held import filled, held
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Looked, Statement, Subject
from stackplan.model.regular import regular

_WHY = "this asks the nvcc that is first on the PATH of this shell, which need not be the one just installed"
_REMEDY = "state `nvcc: {prefix: /usr/local/cuda-X.Y, release: X.Y}`"
_LOOKED_UP = regular(r"(?:\$\(|`)\s*(?:command -v|type -[pP]|which)\s+nvcc\b[^)`]*[)`]")


def check(subject: Subject) -> Iterator[Finding]:
    for statement, step in chain(_by_command(subject), _by_path(subject)):
        yield Finding(_WHY, statement.at, _REMEDY, None if step is None else step.id)


def _by_command(subject: Subject) -> Iterator[tuple[Statement, Looked | None]]:
    for told, statement, step in subject.asked:
        if any("nvcc" in it.text for it in told):
            values = held(told)
            if any(_from_path(filled(it.words[0], values)) for it in told if it.words):
                yield statement, step


def _by_path(subject: Subject) -> Iterator[tuple[Statement, Looked | None]]:
    """Yield the conditions `nvcc` that name the compiler without its folder."""
    for statement, step, _ in subject.conditions:
        path = statement.text("path") if statement.kind == "nvcc" else None
        if path is not None and "/" not in path:
            yield statement, step


def _from_path(program: str) -> bool:
    """Return whether a program is the nvcc that the PATH leads to: `nvcc`, `$(command -v nvcc)`."""
    return program == "nvcc" or _LOOKED_UP.fullmatch(program) is not None


RULE = warning(
    "SP134",
    "`nvcc` by its name as proof",
    "PATH, CUDA_HOME and /usr/local/cuda are set by three installers and lead to three toolkits; a login shell, a "
    "command over SSH and sudo see different ones, and a distribution's /usr/bin/nvcc is a wrapper. The condition "
    "`nvcc` runs the compiler of one prefix.",
    check,
    by_step=True,
)
