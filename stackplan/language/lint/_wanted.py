"""What a `python_packages` step asks for: its requirements, its indexes, and what their addresses say of CUDA."""

import re
from functools import lru_cache
from urllib.parse import unquote

from stackplan.language.lint._own_address import is_own
from stackplan.model.arguments import Arguments
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location
from stackplan.model.pep440 import InvalidVersion, SpecifierSet, Version
from stackplan.model.pep503 import canonical_name
from stackplan.model.regular import regular

TORCH_FAMILY = frozenset({"torch", "torchvision", "torchaudio"})
LABELLED = TORCH_FAMILY | {
    "flash-attn", "flashinfer-jit-cache", "sgl-kernel", "sglang-kernel", "torchao", "vllm", "xformers",
}  # fmt: skip
"""Distributions whose builds for several CUDA releases bear one version and differ in the label alone."""
COMPILED = LABELLED - TORCH_FAMILY | {"flashinfer-python", "sglang", "bitsandbytes", "deep-gemm", "apex"}
"""Distributions with code that was compiled for one torch or one CUDA release."""

_TAG = regular(r"/(cu\d{2,3}|cpu|rocm\d[\d.]*|xpu)(?=/|$)")
_LABEL = regular(r"^(cu\d{2,3}|cpu|rocm\d[\d.]*|xpu)")
_WHEEL_PARTS = 5
_PLAIN = regular(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)"
    r"(?:==(?P<pin>[0-9]{1,9}(?:\.[0-9]{1,9}){0,9}(?:\+[A-Za-z0-9]{1,99}(?:\.[A-Za-z0-9]{1,99}){0,9})?))?"
)
"""What nearly every requirement looks like. What it may be besides takes a grammar, and a while to import that."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One requirement of a step. `pin` is the version of `==`, `label` its local part."""

    name: str
    text: str
    at: Location
    specifier: SpecifierSet
    pin: str | None = None
    label: str | None = None
    url: str | None = None

    @classmethod
    def of(cls, it: "Parsed", text: str, at: Location) -> "Wanted":
        return cls(it.name, text, at, it.specifier, it.pin, it.label, it.url)

    @property
    def bounded(self) -> bool:
        """Whether there is a version that is too high for it."""
        return self.url is not None or any(it.operator in ("==", "===", "<", "<=", "~=") for it in self.specifier)


@dataclass(frozen=True, slots=True)
class Index:
    """An address that packages come from; `tag` is the build that it names (cu130, cpu), None when it names none."""

    url: str
    at: Location
    field: str

    @property
    def tag(self) -> str | None:
        found = _TAG.findall(self.url)
        return found[-1] if found else None

    @property
    def nightly(self) -> bool:
        return "/nightly" in self.url

    @property
    def plain_http(self) -> bool:
        return is_plain_http(self.url)


@dataclass(frozen=True, slots=True)
class Parsed:
    name: str
    specifier: SpecifierSet
    pin: str | None
    label: str | None
    url: str | None


@lru_cache(maxsize=8192)
def parsed(text: str) -> Parsed | None:
    """Return what a requirement says; None for a folder, an option, or what a template has still to fill in.

    A path or an address of a wheel says it by the file's name.
    """
    if "{{" in text or text.startswith("-"):
        return None
    if text.startswith(("/", ".", "~", "http:", "https:", "file:")) or (text.endswith(".whl") and " @ " not in text):
        return _of_wheel(text, text)
    if (plain := _PLAIN.fullmatch(text)) is not None:
        pin = plain["pin"]
        specifier = SpecifierSet(f"=={pin}" if pin else "")
        return Parsed(canonical_name(plain["name"]), specifier, pin, _local(pin), None)
    return _by_grammar(text)


def _by_grammar(text: str) -> Parsed | None:
    from stackplan.model.pep508 import InvalidRequirement, requirement  # noqa: PLC0415 - see _PLAIN

    try:
        found = requirement(text)
    except InvalidRequirement:
        return None
    if found.url is not None:
        return _of_wheel(found.url, found.url, canonical_name(found.name))
    pins = [it.version for it in found.specifier if it.operator in ("==", "===") and not it.version.endswith(".*")]
    pin = pins[0] if len(pins) == 1 else None
    return Parsed(canonical_name(found.name), SpecifierSet(str(found.specifier)), pin, _local(pin), found.url)


def _of_wheel(text: str, url: str, name: str | None = None) -> Parsed | None:
    """Return what the name of a wheel says: that it is torch, of this version, with this label."""
    file = unquote(re.split(r"[?#]", text)[0].rpartition("/")[2])
    parts = file.removesuffix(".whl").split("-")
    pin = parts[1] if file.endswith(".whl") and len(parts) >= _WHEEL_PARTS else None
    if name is None and pin is None:
        return None
    return Parsed(name or canonical_name(parts[0]), SpecifierSet(), pin, _local(pin), url)


def _local(pin: str | None) -> str | None:
    if pin is None or "+" not in pin:
        return None
    try:
        return Version(pin).local
    except InvalidVersion:
        return None


def wanted(arguments: Arguments) -> tuple[Wanted, ...]:
    """Return the requirements that a step lists, those that can be read; a file of them lies on the node."""
    found = []
    for field in ("packages", "requirements"):
        for at, text in texts(arguments, field):
            if (it := parsed(text)) is not None:
                found.append(Wanted.of(it, text, at))
    return tuple(found)


def indexes(arguments: Arguments) -> tuple[Index, ...]:
    """Return the addresses that a step names, those that hold no template any more."""
    return tuple(
        Index(text, at, field)
        for field in ("index_url", "extra_index_urls", "find_links")
        for at, text in texts(arguments, field)
        if "{{" not in text
    )


def texts(arguments: Arguments, field: str) -> list[tuple[Location, str]]:
    """Return the texts at a field that takes one or a list of them, each with its place."""
    value = arguments.values.get(field)
    if isinstance(value, str):
        return [(arguments.place(field), value)]
    if isinstance(value, tuple):
        return [(arguments.place(field, at), it) for at, it in enumerate(value) if isinstance(it, str)]
    return []


def names(arguments: Arguments, field: str) -> frozenset[str] | None:
    """Return the packages that `upgrade` or `reinstall` names, None for all of them; empty where it is not given."""
    value = arguments.values.get(field)
    if value is True:
        return None
    return frozenset(canonical_name(text) for _, text in texts(arguments, field))


def covers(arguments: Arguments, field: str, name: str) -> bool:
    found = names(arguments, field)
    return found is None or name in found


def cuda_of(tag: str | None) -> tuple[int, int] | None:
    """Return the CUDA release that a tag or label names: (13, 0) of cu130 and of cu130.torch2.11; None of another."""
    match = re.match(r"cu(\d{2,3})(?!\d)", tag or "")
    if match is None:
        return None
    digits = match[1]
    return int(digits[:-1]), int(digits[-1])


def build_of(label: str | None) -> str | None:
    """Return the build that a label begins with: cu130 of cu130.torch2.11; None of another label."""
    match = _LABEL.match(label or "")
    return match[0] if match else None


def is_plain_http(text: str) -> bool:
    """Return whether whoever is on the way can read and change what an address brings; to the node itself is no way."""
    return text.startswith("http://") and "{{" not in text.split("/", 3)[2] and not is_own(text)
