"""The kind `torch`: version, CUDA and GPU architectures of the installed torch."""

from collections.abc import Mapping
from typing import ClassVar, Self

from stackplan.conditions._answers import mapping, unanswered
from stackplan.conditions._environment import Environment
from stackplan.conditions._release import release, release_matches
from stackplan.conditions._specifier import Specifier, read_specifier, version_verdict
from stackplan.model.arguments import Arguments
from stackplan.model.change import State
from stackplan.model.distribution import named, package_state
from stackplan.model.facts import Facts, Known, Plain, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.verdict import Verdict, conjunction, held, not_held, unknown


@dataclass(frozen=True, slots=True)
class Torch(ConditionKind):
    """The installed torch is of a version, built for a CUDA release, and has compiled code for a GPU architecture.

    Version and CUDA are read from `torch/version.py` without importing torch: the wheel's metadata may lack the label,
    and the label may lack the truth. Only `arch` starts the environment's interpreter, to ask torch for the list that
    is compiled in. It does not see whether a kernel runs on the GPU: code for sm_120 also runs on a 12.1 chip.
    """

    foreseeable: ClassVar[bool] = True

    environment: Environment
    version: Specifier | None = None
    cuda: str | None = None
    arch: str | None = None

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        return cls(
            environment=Environment.read(arguments),
            version=read_specifier(arguments, "version"),
            cuda=arguments.converted("cuda", _build, "a CUDA release such as 13.0, or none")
            if "cuda" in arguments
            else None,
            arch=arguments.optional_text("arch"),
        )

    def describe(self) -> str:
        parts = (
            "torch" if self.version is None else f"torch {self.version.text}",
            self.cuda and f"built for {_cuda_text(self.cuda)}",
            self.arch and f"with code for {self.arch}",
        )
        stated = " ".join(part for part in parts if part)
        return "torch installed" if stated == "torch" else stated

    def queries(self) -> tuple[Query, ...]:
        asked = (self.environment.query("torch"), self.environment.distributions)
        return asked if self.arch is None else (*asked, self._arch_query)

    def evaluate(self, facts: Facts) -> Verdict:
        text = self.describe()
        answer = facts[self.environment.query("torch")]
        told = mapping(answer)
        if told is None:
            return unanswered(text, answer, expected=self.cuda)
        if (absence := self.environment.absence(told)) is not None:
            return not_held(text, expected=self.environment.expected, observed=absence)
        if not told["installed"]:
            return not_held(
                text, expected="torch installed", observed=self._missing(facts), evidence=str(self.environment)
            )
        version = str(told["version"])
        evidence = f"torch {version} in {self.environment}"
        parts = tuple(part for part in (self._cuda(told, evidence), self._version(told, evidence)) if part)
        if self.arch is not None:
            parts = (*parts, self._arch(facts, self.arch, evidence))
        return conjunction(text, parts) if parts else held(text, observed=version, evidence=evidence)

    def state(self, facts: Facts) -> State:
        return package_state(facts[self.environment.distributions])

    def traits(self, facts: Facts) -> Mapping[str, str]:
        told = mapping(facts[self.environment.query("torch")])
        if told is None:
            return {}
        installed = self.environment.absence(told) is None and told["installed"]
        return {f"torch in {self.environment}": str(told["version"]) if installed else "none"}

    @property
    def _arch_query(self) -> Query:
        return self.environment.query("torch_arch")

    def _missing(self, facts: Facts) -> str:
        """Say what is missing: torch, or only its files (an install that was cut short leaves the metadata)."""
        answer = facts[self.environment.distributions]
        if isinstance(answer, Known):
            for it in named(answer, "torch"):
                return f"{it.folder} is there, but torch/version.py is missing"
        return "not installed"

    def _cuda(self, told: Mapping[str, Plain], evidence: str) -> Verdict | None:
        if self.cuda is None:
            return None
        text = f"torch built for {_cuda_text(self.cuda)}"
        if (why := told.get("build_unknown")) is not None:
            return unknown(text, why=str(why), expected=self.cuda)
        built = None if told["cuda"] is None else str(told["cuda"])
        if built is None and self.cuda == "none":
            return held(text, observed="none", evidence=evidence)
        if built is not None and release_matches(self.cuda, built):
            return held(text, observed=built, evidence=evidence)
        return not_held(text, expected=self.cuda, observed=built or "none, a build without CUDA", evidence=evidence)

    def _version(self, told: Mapping[str, Plain], evidence: str) -> Verdict | None:
        if self.version is None:
            return None
        text, version = f"torch {self.version.text}", str(told["version"])
        why = told.get("build_unknown")
        if why is not None and "+" in self.version.text:
            return unknown(text, why=str(why), expected=self.version.text)
        return version_verdict(text, self.version, version, evidence)

    def _arch(self, facts: Facts, arch: str, evidence: str) -> Verdict:
        text = f"torch with code for {arch}"
        answer = facts[self._arch_query]
        told = mapping(answer)
        if told is None:
            return unanswered(text, answer, expected=arch)
        if (fault := self.environment.without_interpreter(told)) is not None:
            return not_held(text, expected=arch, observed=fault, evidence=evidence)
        archs = told["archs"]
        assert isinstance(archs, list)
        if arch in archs:
            return held(text, observed=arch, evidence=evidence)
        observed = ", ".join(str(it) for it in archs) or "no GPU code at all"
        return not_held(text, expected=arch, observed=observed, evidence=evidence)


def _build(text: str) -> str:
    return "none" if text.strip() == "none" else release(text)


def _cuda_text(cuda: str) -> str:
    return "no CUDA" if cuda == "none" else f"CUDA {cuda}"


KIND = Torch
