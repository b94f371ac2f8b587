"""The kind `cuda_coherent`: an environment speaks one CUDA."""

from collections.abc import Mapping
from typing import ClassVar, Self

from stackplan.conditions._answers import listed, mapping, unanswered
from stackplan.conditions._cuda_evidence import (
    Speaker,
    borne_out,
    borrowed,
    brought_along,
    files_text,
    foreign_text,
    labelled,
    missing,
    outdated,
    required_major,
    speakers,
    variants,
)
from stackplan.conditions._cuda_sonames import label_major, named_major
from stackplan.conditions._environment import Environment
from stackplan.conditions._release import release, release_matches
from stackplan.model.arguments import Arguments
from stackplan.model.change import State
from stackplan.model.count import counted
from stackplan.model.distribution import Distribution, distributions, package_state
from stackplan.model.facts import Facts, Known, Plain, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.pep503 import canonical_name
from stackplan.model.verdict import Verdict, held, not_held, unknown


@dataclass(frozen=True, slots=True)
class CudaCoherent(ConditionKind):
    """Everything that importing loads in an environment is built for one CUDA major, and finds its CUDA libraries.

    Files come first: of each extension module, and of what it needs in turn, the libraries that its ELF header names,
    against what the loader would find (what torch loads, rpath, LD_LIBRARY_PATH of the login, ld.so.cache). Then
    `cuda` in `torch/version.py`. A local label comes last: it is believed by nobody, so a label that no file bears out
    leaves the verdict unknown, and one that files contradict counts for nothing.

    A library that is cut short or damaged, or a pipe in its place, leaves it unknown, and is named.

    Where nothing tells a CUDA, as in an empty environment or beside a torch without CUDA, it is unknown without `cuda`
    and not held with it.

    What nothing loads does not count: a profiler's library, a wheel of another CUDA that an upgrade left behind. Nor do
    builds for several CUDA releases side by side, in one wheel or in `NAME-cu12` beside `NAME-cu13`, as long as that
    for the right one is among them. It does not see what a package opens by its own code, an editable install (its
    RECORD names no files), or whether a kernel runs.
    """

    foreseeable: ClassVar[bool] = True

    environment: Environment
    cuda: str | None = None
    allow: frozenset[str] = frozenset()

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        allow = frozenset(canonical_name(name) for name in arguments.texts("allow"))
        cuda = arguments.converted("cuda", release, "a CUDA release such as 13.0") if "cuda" in arguments else None
        return cls(Environment.read(arguments), cuda, allow)

    def describe(self) -> str:
        return f"CUDA {self.cuda} throughout {self.environment}" if self.cuda else f"one CUDA in {self.environment}"

    def queries(self) -> tuple[Query, ...]:
        return (self._query, self.environment.query("torch"), self.environment.distributions)

    def evaluate(self, facts: Facts) -> Verdict:
        for query in self.queries():
            told = mapping(facts[query])
            if told is None:
                return unanswered(self.describe(), facts[query], expected=self.cuda and f"CUDA {self.cuda}")
            if (absence := self.environment.absence(told)) is not None:
                return not_held(self.describe(), expected=self.environment.expected, observed=absence)
        return self._judge(facts)

    def state(self, facts: Facts) -> State:
        return package_state(facts[self.environment.distributions])

    @property
    def _query(self) -> Query:
        return self.environment.query("cuda_libraries")

    def _judge(self, facts: Facts) -> Verdict:
        told, torch = mapping(facts[self._query]), mapping(facts[self.environment.query("torch")])
        answer = facts[self.environment.distributions]
        assert told is not None
        assert torch is not None
        assert isinstance(answer, Known)
        scene = _Scene(
            told=told,
            torch=_built(torch),
            torch_open=bool(torch.get("build_unknown")),
            speakers=tuple(it for it in speakers(told) if it.canonical not in self.allow),
            installed=tuple(it for it in distributions(answer) if it.canonical not in self.allow),
            wanted=self.cuda,
        )
        expected = f"CUDA {self.cuda}" if self.cuda else f"CUDA {scene.major} alone"
        evidence = f"{told['files']} {'library' if told['files'] == 1 else 'libraries'} in {self.environment}"
        if scene.major is None:
            return unknown(
                self.describe(), why=scene.unlooked() or "no file, no torch and no label there names a CUDA release"
            )
        if offences := scene.offences():
            observed = listed(offences, len(offences))
            return not_held(self.describe(), expected=expected, observed=observed, evidence=evidence)
        if (why := scene.doubt()) is not None:
            return unknown(self.describe(), why=why, expected=expected)
        return held(self.describe(), observed=scene.summary(), evidence=evidence)


def _built(torch: Mapping[str, Plain]) -> str | None:
    """Return for which CUDA torch is built: a release, `none` for a build without; None where it is not there."""
    if not torch["installed"] or torch.get("build_unknown"):
        return None
    return "none" if torch["cuda"] is None else str(torch["cuda"])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    """All that is known of an environment, allowed distributions left out. `torch` is the CUDA that it is built for."""

    told: Mapping[str, Plain]
    torch: str | None
    torch_open: bool
    speakers: tuple[Speaker, ...]
    installed: tuple[Distribution, ...]
    wanted: str | None

    @property
    def major(self) -> int | None:
        """The CUDA major that all have to speak: as stated, torch's, or the one that most of them speak."""
        if self.wanted is not None:
            return int(self.wanted.partition(".")[0])
        if self.torch not in (None, "none"):
            return int(str(self.torch).partition(".")[0])
        if self._torch is not None and (required := required_major(self._torch.requires)) is not None:
            return required
        spoken = [major for it in self.speakers for major in it.told]
        spoken = spoken or [major for it in self.installed if (major := label_major(it.version)) is not None]
        return max(set(spoken), key=lambda major: (spoken.count(major), major)) if spoken else None

    @property
    def _torch(self) -> Distribution | None:
        return next((it for it in self.installed if it.canonical == "torch"), None)

    @property
    def _folders(self) -> tuple[str, ...]:
        packages = self.told["site_packages"]
        return tuple(str(it) for it in packages) if isinstance(packages, list) else ()

    @property
    def unseen(self) -> tuple[str, ...]:
        """Distributions whose files nobody has seen: they are predicted."""
        names = self.told["unseen"]
        return tuple(str(it) for it in names) if isinstance(names, list) else ()

    def offences(self) -> list[str]:
        """Return in words what speaks of another CUDA: torch first, on which the others are built."""
        assert self.major is not None
        names = frozenset(it.canonical for it in self.installed)
        found = self._of_torch()
        counted = tuple(it for it in self.speakers if not variants(it, self.major, self.speakers, names))
        along = brought_along(tuple(it for it in counted if it.foreign(self.major)), self.major)
        for it in counted:
            # What another one's files load of a library wheel is not known before these are there.
            if it.canonical in along or (self.unseen and it.canonical.startswith("nvidia-")):
                continue
            if needs := it.foreign(self.major):
                found.append(foreign_text(it, needs, self._folders))
            elif borne_out(it, self.major):
                found.append(f"{it.text} is labelled for another CUDA, and its files need it: {it.libraries}")
        return [*found, *([] if self.unseen else self._not_found()), *self._of_labels_foretold(), *self._nothing()]

    def _not_found(self) -> list[str]:
        """Return what is the right CUDA's, and not found as it should be; only files that are there can tell."""
        assert self.major is not None
        found = []
        for it in self.speakers:
            if libraries := borrowed(it, self.major):
                other = named_major(it.canonical)
                found.append(f"{', '.join(libraries)} would be loaded from {it.text}, which is for CUDA {other}")
            if needs := missing(it, self.major):
                absent = ", ".join(need.library for need in needs)
                found.append(f"{it.text} needs {absent} (found nowhere) in {files_text(needs)}")
            found += outdated(it, self._folders, self.speakers)
        return found

    def _of_torch(self) -> list[str]:
        torch = self._torch
        if torch is None:
            return []
        if self.torch is None:
            required = required_major(torch.requires)
            wrong = required is not None and required != self.major
            return [f"{torch.name} {torch.version} requires the libraries of CUDA {required}"] if wrong else []
        if self.torch == "none":
            return [] if self.wanted is None else [f"torch {torch.version} is built without CUDA"]
        if self.wanted is None or release_matches(self.wanted, self.torch):
            return []
        return [f"torch {torch.version} is built for CUDA {self.torch}"]

    def _of_labels_foretold(self) -> list[str]:
        """Return the labels that stand against it where they are all that there is: nobody has seen the files yet."""
        assert self.major is not None
        unseen = set(self.unseen)
        return [
            f"{it.name} {it.version} is labelled for another CUDA"
            for it in self.installed
            if it.canonical in unseen and it.canonical != "torch" and labelled(it.version, self.major)
        ]

    def _nothing(self) -> list[str]:
        """Return that nothing at all speaks of CUDA, where a release is stated."""
        silent = not self.unseen and not self.torch_open and self.torch is None
        spoken = any(it.needs or it.provides for it in self.speakers)
        labels = any(label_major(it.version) is not None for it in self.installed)
        return ["nothing is built for CUDA"] if silent and not spoken and not labels else []

    def unlooked(self) -> str | None:
        """Return which files could not be looked at, None when none is left out."""
        if self.unseen:
            whose, when = _names(self.unseen), "it is" if len(self.unseen) == 1 else "they are"
            return f"what the files of {whose} need is not known before {when} installed"
        unreadable = self.told["unreadable"]
        if isinstance(unreadable, list) and unreadable:
            return f"cannot be read: {listed([str(it) for it in unreadable])}"
        return None

    def doubt(self) -> str | None:
        """Return what stands in the way of calling it coherent, None when nothing does."""
        assert self.major is not None
        if (why := self.unlooked()) is not None:
            return why
        mute = {it.canonical for it in self.installed} - {it.canonical for it in self.speakers if it.told}
        doubtful = [it for it in self.installed if it.canonical in mute and labelled(it.version, self.major)]
        if doubtful:
            texts = [f"{it.name} {it.version}" for it in doubtful]
            return f"{listed(texts)}: only its label says for which CUDA it is built, and that is another one"
        if self.torch is None and not any(it.proves(self.major) for it in self.speakers):
            return f"only labels name CUDA {self.major}: no file that an import loads needs a library of it"
        return None

    def summary(self) -> str:
        """Return which CUDA is spoken, and which wheels of another one are there and loaded by nothing."""
        assert self.major is not None
        speaking = sum(1 for it in self.speakers if it.proves(self.major))
        built = f"torch {self.torch}, " if self.torch not in (None, "none") else ""
        idle = [
            it.name
            for it in self.speakers
            if named_major(it.canonical) not in (None, self.major) and it.provides and not any(it.provides.values())
        ]
        rest = f"; nothing loads {_names(idle)}" if idle else ""
        return f"CUDA {self.major} ({built}the files of {counted(speaking, 'distribution')}){rest}"


def _names(names: list[str] | tuple[str, ...]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


KIND = CudaCoherent
