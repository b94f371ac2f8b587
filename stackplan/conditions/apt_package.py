"""The kind `apt_package`: an installed Debian package, its version, whether it is on hold."""

from collections.abc import Mapping
from typing import ClassVar, Self

from stackplan.conditions._answers import mapping, unanswered
from stackplan.model.arguments import Arguments
from stackplan.model.change import Held, State
from stackplan.model.debian_package import PACKAGE_NAME, debian_package_query, package_text
from stackplan.model.debian_version import DebianSpecifier, read_debian_specifier
from stackplan.model.facts import Facts, Plain, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.verdict import Verdict, conjunction, held, not_held


@dataclass(frozen=True, slots=True, kw_only=True)
class AptPackage(ConditionKind):
    """A Debian package is installed, in a version by Debian's order, and on hold or not; or it is absent.

    Rests on dpkg's own record. A package that is unpacked or half configured is not installed, whatever its version;
    one of which only configuration files are left is absent. Whether its files are still there is not looked at.
    """

    foreseeable: ClassVar[bool] = True

    name: str
    version: DebianSpecifier | None = None
    held: bool | None = None
    absent: bool = False

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        name = arguments.text("name")
        if not PACKAGE_NAME.fullmatch(name):
            expected = "a name such as libnccl2, or libc6:i386"
            raise arguments.invalid("name", "`name` is not a Debian package's name", expected=expected)
        absent = arguments.flag("absent", default=False)
        for key in ("version", "held"):
            if absent and key in arguments:
                raise arguments.invalid(key, f"`{key}` says nothing beside `absent`", remedy=f"take `{key}` away")
        version = read_debian_specifier(arguments, "version")
        return cls(name=name, version=version, held=arguments.optional_flag("held"), absent=absent)

    def describe(self) -> str:
        if self.absent:
            return f"no apt package {self.name}"
        stated = (f"apt package {self.name}", self.version and self.version.text, _hold_words(self.held))
        return " ".join(part for part in stated if part)

    def queries(self) -> tuple[Query, ...]:
        return (self._query,)

    def evaluate(self, facts: Facts) -> Verdict:
        text = self.describe()
        told = mapping(facts[self._query])
        if told is None:
            return unanswered(text, facts[self._query], expected=self._expected)
        if self.absent:
            if told["status"] is None:
                return held(text, observed="not installed")
            return not_held(text, expected="not installed", observed=_observed(told))
        if told["status"] is None or told["broken"]:
            return not_held(text, expected=self._expected, observed=_observed(told))
        parts = []
        installed = str(told["version"])
        if self.version is not None:
            stated = f"apt package {self.name} {self.version.text}"
            if self.version.admits(installed):
                parts.append(held(stated, observed=installed))
            else:
                parts.append(not_held(stated, expected=self.version.text, observed=installed))
        if self.held is not None:
            stated = f"apt package {self.name} {_hold_words(self.held)}"
            expected, observed = _hold_words(self.held), _hold_words(told["held"])
            if told["held"] is self.held:
                parts.append(held(stated, observed=observed))
            else:
                parts.append(not_held(stated, expected=expected or "", observed=observed or ""))
        return conjunction(text, tuple(parts)) if parts else held(text, observed=installed)

    def state(self, facts: Facts) -> State:
        told = mapping(facts[self._query])
        if told is None or told["status"] is None:
            return {}
        status = told["status"] if told["broken"] else None
        return {("apt", self.name): Held(package_text(told["version"], on_hold=bool(told["held"]), status=status))}

    def traits(self, facts: Facts) -> Mapping[str, str]:
        told = mapping(facts[self._query])
        return {} if told is None else {f"apt package {self.name}": str(told["version"] or "none")}

    @property
    def _expected(self) -> str:
        wanted = (self.version.text if self.version else "installed", _hold_words(self.held))
        return ", ".join(part for part in wanted if part)

    @property
    def _query(self) -> Query:
        return debian_package_query(self.name)


def _hold_words(on_hold: Plain) -> str | None:
    return None if on_hold is None else "on hold" if on_hold else "not on hold"


def _observed(told: Mapping[str, Plain]) -> str:
    if told["status"] is None:
        return "not installed"
    return f"{told['version']}, {told['status']}" if told["broken"] else str(told["version"])


KIND = AptPackage
