"""The kind `driver_coherent`: all parts of the NVIDIA driver are of one version."""

import re
from collections.abc import Iterator, Mapping
from typing import Self

from stackplan.conditions._answers import mapping, rows, unanswered
from stackplan.conditions._cuda_driver import minimum_branch
from stackplan.conditions._specifier import Specifier, read_specifier, version_verdict
from stackplan.model.arguments import Arguments
from stackplan.model.facts import Facts, Plain, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.verdict import Verdict, conjunction, held, not_held, unknown

_PARTS = Query("driver_parts", {})
Row = Mapping[str, Plain]


@dataclass(frozen=True, slots=True)
class DriverCoherent(ConditionKind):
    """The loaded kernel module, the user-space libraries, fabric manager and the modules that a restart would load are
    of one version, and new enough for a CUDA release.

    Rests on files: /sys/module/nvidia/version, the file that the loader's cache names for libcuda.so.1 and
    libnvidia-ml.so.1, the `.modinfo` of the nvidia module for the running and for the newest kernel, and what
    `nv-fabricmanager --version` says; never on nvidia-smi's header, and never on a part of a version. Fabric manager
    counts where it is installed or where the PCI bus shows an NVSwitch; the switches of Blackwell boards do not show
    there. It does not see whether fabric manager runs (`service`), nor a library that LD_LIBRARY_PATH puts before the
    loader's cache (`library`). In a container the kernel's modules are out of sight and not judged.
    """

    cuda: str | None = None
    version: Specifier | None = None

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        cuda = arguments.optional_text("cuda")
        if cuda is not None and not re.fullmatch(r"\d{1,4}(\.\d+)?", cuda):
            raise arguments.invalid("cuda", "`cuda` is not a CUDA release", expected="a release such as 13.0")
        return cls(cuda, read_specifier(arguments, "version"))

    def describe(self) -> str:
        stated = (
            "NVIDIA driver of one version",
            self.version and f"{self.version.text}",
            self.cuda and f"new enough for CUDA {self.cuda}",
        )
        return ", ".join(part for part in stated if part)

    def queries(self) -> tuple[Query, ...]:
        return (_PARTS,)

    def evaluate(self, facts: Facts) -> Verdict:
        text = self.describe()
        told = mapping(facts[_PARTS])
        if told is None:
            return unanswered(text, facts[_PARTS])
        loaded = told["loaded"]
        if not isinstance(loaded, dict):
            observed = "the kernel has loaded no NVIDIA driver"
            return not_held(text, expected="a loaded NVIDIA driver", observed=observed)
        version = str(loaded["version"])
        evidence = str(loaded["source"])
        parts = (
            *self._stated(version, evidence),
            *_libraries(told, version),
            *_fabric_manager(told, version),
            *_modules(told, version),
        )
        verdict = conjunction(text, parts)
        return held(text, observed=version, evidence=_seen(told, evidence)) if verdict.held else verdict

    def _stated(self, version: str, evidence: str) -> Iterator[Verdict]:
        if self.version is not None:
            yield version_verdict(f"driver {self.version.text}", self.version, version, evidence)
        if self.cuda is not None:
            yield _new_enough(self.cuda, version, evidence)


def _new_enough(cuda: str, version: str, evidence: str) -> Verdict:
    text = f"driver new enough for CUDA {cuda}"
    branch = minimum_branch(cuda)
    if branch is None:
        return unknown(text, why=f"which driver CUDA {cuda} needs is not known; state `version` instead")
    if int(version.partition(".")[0]) >= branch:
        return held(text, observed=version, evidence=evidence)
    return not_held(text, expected=f"{branch} or newer", observed=version, evidence=evidence)


def _libraries(told: Row, version: str) -> Iterator[Verdict]:
    if told["libraries_fault"] is not None:
        yield unknown("user-space libraries of the loaded driver", why=str(told["libraries_fault"]), expected=version)
    for library in rows(told["libraries"]):
        name = str(library["name"])
        text = f"{name} of the loaded driver"
        if library["path"] is None:
            yield not_held(text, expected=version, observed=f"the loader finds no {name}")
        elif library["version"] is None:
            yield unknown(text, why=f"the name of {library['file']} bears no version", expected=version)
        elif library["version"] != version:
            observed = str(library["version"])
            yield not_held(text, expected=version, observed=observed, evidence=str(library["file"]))


def _fabric_manager(told: Row, version: str) -> Iterator[Verdict]:
    manager = told["fabric_manager"]
    assert isinstance(manager, dict)
    text = "fabric manager of the loaded driver"
    if manager["program"] is None:
        if manager["switches"]:
            observed = f"no nv-fabricmanager, and {manager['switches']} NVSwitches"
            yield not_held(text, expected=version, observed=observed)
    elif manager["version"] is None:
        yield unknown(text, why=str(manager["fault"]), expected=version)
    elif manager["version"] != version:
        observed, evidence = str(manager["version"]), f"{manager['program']} --version"
        yield not_held(text, expected=version, observed=observed, evidence=evidence)


def _modules(told: Row, version: str) -> Iterator[Verdict]:
    for kernel in rows(told["kernels"]):
        name = f"kernel {kernel['kernel']}"
        when = "a restart into the newest kernel loads" if kernel["newest"] else "the running kernel would load again"
        text = f"module that {when}"
        if kernel["fault"] is not None:
            yield unknown(text, why=str(kernel["fault"]), expected=version)
        elif kernel["module"] is None and kernel["newest"]:
            yield not_held(text, expected=version, observed=f"{name} has no nvidia module")
        elif kernel["module"] is not None and kernel["version"] != version:
            observed = f"{kernel['version']} for {name}"
            yield not_held(text, expected=version, observed=observed, evidence=str(kernel["module"]))


def _seen(told: Row, evidence: str) -> str:
    """Return what agreed, so that nobody takes for proven what was out of sight."""
    manager = told["fabric_manager"]
    assert isinstance(manager, dict)
    kernels = [str(kernel["kernel"]) for kernel in rows(told["kernels"]) if kernel["module"] is not None]
    agreed = (
        evidence,
        *(str(library["name"]) for library in rows(told["libraries"])),
        "fabric manager" if manager["program"] is not None else None,
        f"the modules for {', '.join(kernels)}" if kernels else "no kernel's modules in sight",
    )
    return ", ".join(part for part in agreed if part)


KIND = DriverCoherent
