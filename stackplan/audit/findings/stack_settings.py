"""Variables of torch, triton and flashinfer: a check that is switched off, and settings that differ between places."""

from collections.abc import Iterator

from stackplan.audit.subject import Subject
from stackplan.audit.told import Told, stated, titles
from stackplan.model.diagnosis import Diagnosis, Severity

_CHECK = "FLASHINFER_DISABLE_VERSION_CHECK"
_OFF = frozenset({None, "", "0", "false", "False"})
_COMPILED = (
    "FLASHINFER_CUDA_ARCH_LIST",
    "FLASHINFER_WORKSPACE_BASE",
    "TORCHINDUCTOR_CACHE_DIR",
    "TORCH_CUDA_ARCH_LIST",
    "TORCH_EXTENSIONS_DIR",
    "TRITON_CACHE_DIR",
    "TRITON_PTXAS_PATH",
    "XDG_CACHE_HOME",
)
"""What is compiled at run time, for which chips, by what, and where it is kept."""


def find(told: Told, subject: Subject) -> Iterator[Diagnosis]:
    if not subject.environments:
        return
    for value, places in told.values(_CHECK).items():
        if value not in _OFF:
            yield Diagnosis(
                code="SP317",
                severity=Severity.WARNING,
                summary=f"{_CHECK} hides in {titles(places)} that flashinfer's packages do not go together",
                observed=f"{_CHECK}={value}",
                remedy="Take it away, and state `same_build` of flashinfer's packages as a postcondition.",
            )
    for name in _COMPILED:
        if len(told.values(name)) > 1:
            yield Diagnosis(
                code="SP318",
                severity=Severity.NOTE,
                summary=f"{name} is not the same everywhere: a check does not see what a server compiles and keeps",
                observed="; ".join(stated(told, name)),
                remedy="Set it to what the server has where every login of the user gets it, such as /etc/environment: "
                "a step's `env` reaches its command and none of its conditions.",
            )
