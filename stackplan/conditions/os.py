"""The kind `os`: distribution, kernel, architecture, memory, pending restart."""

import re
from collections.abc import Mapping
from typing import ClassVar, Self

from stackplan.conditions._answers import mapping, unanswered
from stackplan.conditions._specifier import Specifier, read_specifier, version_verdict
from stackplan.model.arguments import Arguments
from stackplan.model.facts import Facts, Plain, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.matcher import Matcher, read_matcher
from stackplan.model.quantity import size_text
from stackplan.model.verdict import Verdict, conjunction, held, not_held, unknown

# One architecture, by the kernel's word and by that of package repositories.
_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64", "sbsa": "aarch64"}


@dataclass(frozen=True, slots=True)
class OperatingSystem(ConditionKind):
    """The node runs a distribution in a version, a kernel, on an architecture, with so much memory.

    Rests on /etc/os-release, the running kernel and /proc/meminfo, whose total is a little below what is built in.
    `reboot_required` rests on the file that Debian and Ubuntu leave in /run; on other distributions it is unknown.
    """

    foreseeable: ClassVar[bool] = True

    id: Matcher | None = None
    version: Specifier | None = None
    kernel: Specifier | None = None
    arch: str | None = None
    memory: int | None = None
    reboot_required: bool | None = None

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        stated = cls(
            id=read_matcher(arguments, "id"),
            version=read_specifier(arguments, "version"),
            kernel=read_specifier(arguments, "kernel"),
            arch=arguments.optional_text("arch"),
            memory=arguments.optional_size_bytes("memory"),
            reboot_required=arguments.optional_flag("reboot_required"),
        )
        if stated == cls():
            raise arguments.invalid("id", "`os` states nothing", expected="for instance `id: ubuntu`")
        return stated

    def describe(self) -> str:
        stated = (
            self.id and self.id.text,
            self.version and f"version {self.version.text}",
            self.kernel and f"kernel {self.kernel.text}",
            self.arch,
            self.memory is not None and f"{size_text(self.memory)} memory",
            self.reboot_required is not None and _reboot_text(self.reboot_required),
        )
        return ", ".join(part for part in stated if part)

    def queries(self) -> tuple[Query, ...]:
        return (_OS,)

    def evaluate(self, facts: Facts) -> Verdict:
        told = mapping(facts[_OS])
        if told is None:
            return unanswered(self.describe(), facts[_OS])
        parts: list[Verdict] = []
        if self.id is not None:
            matcher, text = self.id, f"distribution {self.id.text}"
            parts.append(
                _stated(text, matcher.text, told["id"], "the distribution", accepts=matcher.accepts(str(told["id"])))
            )
        if self.version is not None:
            parts.append(_versioned("distribution version", self.version, told["version"]))
        if self.kernel is not None:
            parts.append(_versioned("kernel", self.kernel, told["kernel"]))
        if self.arch is not None:
            accepts = _architecture(self.arch) == _architecture(str(told["arch"]))
            parts.append(
                _stated(f"architecture {self.arch}", self.arch, told["arch"], "the architecture", accepts=accepts)
            )
        if self.memory is not None:
            parts.append(_memory(self.memory, told["memory_bytes"]))
        if self.reboot_required is not None:
            parts.append(_reboot(self.reboot_required, told))
        return conjunction(self.describe(), tuple(parts))


_OS = Query("os", {})


def _architecture(word: str) -> str:
    return _ARCHITECTURES.get(word.lower(), word.lower())


def _stated(text: str, expected: str, value: Plain, what: str, *, accepts: bool) -> Verdict:
    if value is None:
        return unknown(text, why=f"the node does not state {what}", expected=expected)
    return held(text, observed=str(value)) if accepts else not_held(text, expected=expected, observed=str(value))


def _versioned(what: str, wanted: Specifier, value: Plain) -> Verdict:
    """Return the verdict on a version; of a kernel's `6.8.0-45-generic` the numbers in front count."""
    text = f"{what} {wanted.text}"
    number = None if value is None else re.match(r"\d+(\.\d+)*", str(value))
    if number is None:
        return unknown(text, why=f"the node states no {what}", expected=wanted.text)
    told = str(value)
    return version_verdict(text, wanted, number.group(), told if told != number.group() else None)


def _memory(wanted: int, value: Plain) -> Verdict:
    text = f"{size_text(wanted)} memory"
    if not isinstance(value, int):
        return unknown(text, why="/proc/meminfo states no total", expected=size_text(wanted))
    accepts = value >= wanted
    return (
        held(text, observed=size_text(value))
        if accepts
        else not_held(text, expected=f"at least {size_text(wanted)}", observed=size_text(value))
    )


def _reboot(wanted: bool, told: Mapping[str, Plain]) -> Verdict:
    text = _reboot_text(wanted)
    pending = told["reboot_required"]
    if pending is None:
        return unknown(text, why="this distribution leaves no sign of a pending restart", expected=text)
    packages = told["reboot_packages"]
    evidence = f"for {', '.join(map(str, packages))}" if isinstance(packages, list) and packages else None
    observed = "restart pending" if pending else "no restart pending"
    if pending is wanted:
        return held(text, observed=observed, evidence=evidence)
    return not_held(text, expected=text, observed=observed, evidence=evidence)


def _reboot_text(wanted: bool) -> str:
    return "restart pending" if wanted else "no restart pending"


KIND = OperatingSystem
