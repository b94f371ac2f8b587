"""The kind `nvcc`: the CUDA compiler of a toolkit."""

from collections.abc import Mapping
from typing import Self

from stackplan.conditions._answers import mapping, unanswered
from stackplan.conditions._release import release_matches
from stackplan.conditions._specifier import Specifier, read_specifier, version_verdict
from stackplan.model.arguments import Arguments
from stackplan.model.change import Held, State
from stackplan.model.concern import Concern, Matter
from stackplan.model.facts import Facts, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.verdict import Verdict, conjunction, held, not_held, unknown


@dataclass(frozen=True, slots=True)
class Nvcc(ConditionKind):
    """The CUDA compiler of a toolkit folder, or at a path, is there and of a release.

    Rests on what `nvcc --version` of that very file prints. The "CUDA Version" of nvidia-smi is another number: the
    newest release that the driver can serve. It does not see which toolkit a login shell finds: that is `cuda_link`.
    """

    prefix: str | None = None
    path: str | None = None
    release: str | None = None
    version: Specifier | None = None

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        prefix, path = arguments.optional_text("prefix"), arguments.optional_text("path")
        if prefix is None and path is None:
            raise arguments.invalid("prefix", "neither `prefix` nor `path` is given", expected="a toolkit's folder")
        if prefix is not None and path is not None:
            raise arguments.invalid("path", "`prefix` and `path` are both given", remedy="take one of them away")
        return cls(prefix, path, arguments.optional_text("release"), read_specifier(arguments, "version"))

    def describe(self) -> str:
        stated = ("nvcc", self.release, self.version and f"({self.version.text})", f"in {self._where}")
        return " ".join(part for part in stated if part)

    def queries(self) -> tuple[Query, ...]:
        return (self._query,)

    def evaluate(self, facts: Facts) -> Verdict:
        text = self.describe()
        told = mapping(facts[self._query])
        if told is None:
            return unanswered(text, facts[self._query], expected=self.release)
        path = str(told["path"])
        if not told["exists"]:
            stated = self.path or f"{self.prefix}/bin/nvcc"
            observed = f"{stated} leads to {told['leads_to']}, which is missing" if told["leads_to"] else f"no {stated}"
            wanted = self.release or (self.version and self.version.text) or "a compiler"
            return not_held(text, expected=wanted, observed=observed)
        release = str(told["release"])
        # Of a compiler that is only foretold the release may be all that is known.
        version = None if told["version"] is None else str(told["version"])
        evidence = f"nvcc {version or release} at {path}"
        parts = []
        if self.release is not None:
            stated = f"nvcc {self.release} in {self._where}"
            if release_matches(self.release, release):
                parts.append(held(stated, observed=release, evidence=evidence))
            else:
                parts.append(not_held(stated, expected=self.release, observed=release, evidence=evidence))
        if self.version is not None:
            parts.append(self._of_version(version, evidence))
        return conjunction(text, tuple(parts)) if parts else held(text, observed=version or release, evidence=evidence)

    def state(self, facts: Facts) -> State:
        told = mapping(facts[self._query])
        if told is None or not told["exists"]:
            return {}
        return {("toolkit", self._where): Held(str(told["release"]), str(told["version"]))}

    def traits(self, facts: Facts) -> Mapping[str, str]:
        told = mapping(facts[self._query])
        if told is None:
            return {}
        return {f"nvcc in {self._where}": str(told["release"]) if told["exists"] else "none"}

    def _of_version(self, version: str | None, evidence: str) -> Verdict:
        assert self.version is not None
        stated = f"nvcc {self.version.text} in {self._where}"
        if version is None:
            return unknown(stated, why="its full version is not foretold", expected=self.version.text)
        return version_verdict(stated, self.version, version, evidence)

    def concerns(self) -> tuple[Concern, ...]:
        toolkit = () if self.prefix is None else (Concern(Matter.TOOLKIT, self.prefix),)
        return (*toolkit, Concern(Matter.PROGRAM, "nvcc"))

    @property
    def _where(self) -> str:
        return self.prefix or self.path or ""

    @property
    def _query(self) -> Query:
        return Query("nvcc", {"prefix": self.prefix} if self.prefix is not None else {"path": self.path})


KIND = Nvcc
