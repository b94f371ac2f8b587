"""Whatever nvcc stands first on the PATH of the step's shell."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    for told, statement, step in subject.asked:
        if any(it.words[:1] == ("nvcc",) for it in told):
            summary = (
                "this asks the nvcc that is first on the PATH of this shell, which need not be the one just installed"
            )
            remedy = "state `nvcc: {prefix: /usr/local/cuda-X.Y, release: X.Y}`"
            yield Finding(summary, statement.at, remedy, None if step is None else step.id)


RULE = warning(
    "SP134",
    "`nvcc` by its name as proof",
    "PATH, CUDA_HOME and /usr/local/cuda are set by three installers and lead to three toolkits; a login shell, a "
    "command over SSH and sudo see different ones, and a distribution's /usr/bin/nvcc is a wrapper. The condition "
    "`nvcc` runs the compiler of one prefix.",
    check,
)
