"""What the distributions of an environment say of the CUDA that they are built for, and which speak of another."""

from collections.abc import Iterator, Mapping

from stackplan.conditions._answers import rows
from stackplan.conditions._cuda_sonames import label_major, majors, named_for, named_major
from stackplan.model.count import counted
from stackplan.model.facts import Plain
from stackplan.model.frozen import dataclass
from stackplan.model.pep440 import InvalidVersion, Version
from stackplan.model.pep503 import canonical_name
from stackplan.model.regular import regular

_NAMED_FILES = 2
_REQUIRED = regular(
    r"nvidia-[a-z-]+-cu(?P<major>\d\d)\b|(?:nvidia-cuda-runtime|cuda-toolkit)(?:\[[^]]*\])?\s*==(?P<toolkit>\d+)\b"
)
_RELEASE = regular(r"\.so\.(\d+(?:\.\d+)+)$")


@dataclass(frozen=True, slots=True)
class Need:
    """A CUDA library that files of a distribution need. `loaded` counts those that an import loads, `idle` others."""

    library: str
    loaded: int
    idle: int
    missing: int
    first: tuple[str, ...]
    found: tuple[str, ...]

    @property
    def majors(self) -> frozenset[int]:
        return majors(self.library)


@dataclass(frozen=True, slots=True)
class Speaker:
    """A distribution whose files have to do with CUDA. `provides` are its CUDA libraries: whether something loads them.

    `overwritten_by` are the distributions whose files stand where it wrote its own.
    """

    name: str
    version: str
    needs: tuple[Need, ...]
    provides: Mapping[str, bool]
    overwritten_by: tuple[str, ...] = ()

    @property
    def canonical(self) -> str:
        return canonical_name(self.name)

    @property
    def text(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def libraries(self) -> str:
        return ", ".join(need.library for need in self.needs)

    def proves(self, major: int) -> bool:
        """Return whether a file of it needs a library that belongs to this CUDA and to no other."""
        return any(need.majors == {major} for need in self.needs)

    @property
    def told(self) -> frozenset[int]:
        """The CUDA majors that what an import loads of it has to have."""
        return frozenset(next(iter(it.majors)) for it in self.needs if it.loaded and len(it.majors) == 1)

    def foreign(self, major: int) -> tuple[Need, ...]:
        """Return the needs, of what an import loads, that another CUDA than `major` has to meet."""
        return tuple(need for need in self.needs if need.loaded and need.majors and major not in need.majors)


def speakers(told: Mapping[str, Plain]) -> tuple[Speaker, ...]:
    """Return the distributions of an answer of `cuda_libraries`."""
    return tuple(
        Speaker(
            name=str(row["name"]),
            version=str(row["version"]),
            needs=tuple(_need(it) for it in rows(row["needs"])),
            provides={str(it["library"]): bool(it["loaded"]) for it in rows(row["provides"])},
            overwritten_by=tuple(dict.fromkeys(str(it["by"]) for it in rows(row["overwritten"]))),
        )
        for row in rows(told["distributions"])
    )


def _need(row: Mapping[str, Plain]) -> Need:
    counts = [row[key] for key in ("loaded", "idle", "missing")]
    loaded, idle, missing = (it if isinstance(it, int) else 0 for it in counts)
    return Need(str(row["library"]), loaded, idle, missing, _texts(row["first"]), _texts(row["found"]))


def _texts(value: Plain) -> tuple[str, ...]:
    return tuple(str(it) for it in value) if isinstance(value, list) else ()


def variants(speaker: Speaker, major: int, others: tuple[Speaker, ...], installed: frozenset[str]) -> bool:
    """Return whether a distribution is one build of several that are there, for its own code to choose from.

    torch-memory-saver has the same modules for CUDA 12 and 13 in one wheel; nixl-cu12 lies beside nixl-cu13, each in a
    folder of its own. Where the one wrote over the other (cupy-cuda12x, cupy-cuda13x), there is nothing to choose.
    """
    if speaker.proves(major):
        return True
    if named_major(speaker.canonical) in (None, major):
        return False
    twin = named_for(speaker.canonical, major)
    overwritten = {name for it in others if it.canonical == twin for name in map(canonical_name, it.overwritten_by)}
    return twin in installed and speaker.canonical not in overwritten


def brought_along(offenders: tuple[Speaker, ...], major: int) -> frozenset[str]:
    """Return which offenders are library wheels that are loaded because another offender needs them.

    sgl-kernel for CUDA 12 loads what an upgrade left of nvidia-cublas-cu12, whose libraries need each other. It is
    sgl-kernel that has to be told. Wheels that only need each other are told themselves.
    """
    wheels = {it.canonical: it for it in offenders if it.canonical.startswith("nvidia-")}
    reached = [it for it in offenders if it.canonical not in wheels]
    found: set[str] = set()
    while reached:
        needed = {need.library for it in reached for need in it.foreign(major)}
        reached = [it for name, it in wheels.items() if name not in found and needed & it.provides.keys()]
        found |= {it.canonical for it in reached}
    return frozenset(found)


def foreign_text(speaker: Speaker, needs: tuple[Need, ...], folders: tuple[str, ...]) -> str:
    """Return in words what a distribution needs of another CUDA: `sgl-kernel 0.3.21 needs libcudart.so.12 (…)`.

    `folders` are the environment's own; what is found below them is named from there.
    """
    libraries = ", ".join(need.library for need in needs)
    missing = [need.library for need in needs if need.missing]
    if not missing:
        places = tuple(dict.fromkeys(place for need in needs for place in need.found))
        whence = f"found in {_within(places, folders)}" if places else "found"
    elif len(missing) == len(needs):
        whence = "found nowhere"
    else:
        whence = f"{', '.join(missing)} nowhere to be found"
    return f"{speaker.text} needs {libraries} ({whence}) in {files_text(needs)}"


def files_text(needs: tuple[Need, ...]) -> str:
    """Return the files that need something: two of them by name, of more the first one."""
    first = tuple(dict.fromkeys(path for need in needs for path in need.first))
    count = max(len(first), *(need.loaded for need in needs))
    if count == len(first) <= _NAMED_FILES:
        return ", ".join(first)
    more = count - len(first[:1])
    return " and ".join((*first[:1], counted(more, "other file")))


def _within(places: tuple[str, ...], folders: tuple[str, ...]) -> str:
    found = dict.fromkeys(place.rpartition("/")[0] for place in places)
    for folder in folders:
        found = dict.fromkeys(it.removeprefix(f"{folder}/") for it in found)
    return ", ".join(found)


def borrowed(speaker: Speaker, major: int) -> tuple[str, ...]:
    """Return the libraries of a distribution named for another CUDA that are loaded though their names tell no CUDA.

    `nvidia-cudnn-cu12` and `nvidia-cudnn-cu13` both write nvidia/cudnn/lib/libcudnn.so.9; the later one is loaded.
    """
    if not speaker.canonical.startswith("nvidia-") or named_major(speaker.canonical) in (None, major):
        return ()
    return tuple(library for library, loaded in speaker.provides.items() if loaded and not majors(library))


def missing(speaker: Speaker, major: int) -> tuple[Need, ...]:
    """Return the needs that the right CUDA has to meet, and that nothing meets."""
    return tuple(need for need in speaker.needs if need.missing and major in need.majors)


def outdated(speaker: Speaker, folders: tuple[str, ...], others: tuple[Speaker, ...]) -> Iterator[str]:
    """Yield in words the libraries that are found outside the environment, in an older release than the one inside."""
    for need in speaker.needs:
        inside = next((it for it in others if need.library in it.provides), None)
        for place in need.found:
            match = _RELEASE.search(place)
            if inside is None or match is None or any(place.startswith(f"{folder}/") for folder in folders):
                continue
            if _older(match[1], inside.version):
                yield f"{speaker.text} gets {need.library} from {place}, older than {inside.text}"


def _older(release: str, version: str) -> bool:
    """Compare as far as the second part: what comes behind counts builds."""
    try:
        return Version(release).release[:2] < Version(version).release[:2]
    except InvalidVersion:
        return False


def labelled(version: str, major: int) -> bool:
    """Return whether a version's local label names another CUDA than `major`."""
    return label_major(version) not in (None, major)


def borne_out(speaker: Speaker, major: int) -> bool:
    """Return whether a label that names another CUDA than `major` is borne out by files that only code opens."""
    return labelled(speaker.version, major) and any(need.majors and major not in need.majors for need in speaker.needs)


def required_major(requires: tuple[str, ...]) -> int | None:
    """Return the CUDA major whose libraries torch's METADATA asks for; None where it does not tell one."""
    found = {int(match["major"] or match["toolkit"]) for text in requires for match in _REQUIRED.finditer(text)}
    return found.pop() if len(found) == 1 else None
