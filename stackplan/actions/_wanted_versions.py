"""Which versions a step states by itself: in `packages`, in requirements that stand in the playbook, in constraints."""

import re
from collections.abc import Iterator

from packaging.specifiers import SpecifierSet

from stackplan.actions._wishes import Lines, Wishes
from stackplan.model.frozen import dataclass
from stackplan.model.pep503 import canonical_name
from stackplan.model.pep508 import InvalidRequirement, Requirement, requirement
from stackplan.model.secret import Secret

_EXACT = ("==", "===")


@dataclass(frozen=True, slots=True)
class Stated:
    """A requirement that the playbook holds, and the key of the action under which it stands."""

    key: str
    name: str
    shown: str
    requirement: Requirement

    @property
    def exact(self) -> bool:
        """Whether nothing but one build is left: an address, or a version with its label."""
        if self.requirement.url is not None:
            return True
        return any(it.operator == "===" or (it.operator == "==" and "+" in it.version) for it in self._specifiers)

    def leaves(self, build: str) -> bool:
        """Return whether it leaves a build of that label alone, or one address, whatever lies there."""
        labels = (it.version.partition("+")[2] for it in self._specifiers if it.operator in _EXACT)
        named = re.compile(rf"(?<![a-z0-9]){re.escape(build)}(?!\d)", re.IGNORECASE)
        return self.requirement.url is not None or any(map(named.search, labels))

    @property
    def _specifiers(self) -> SpecifierSet:
        return self.requirement.specifier


def to_install(wishes: Wishes) -> tuple[Stated, ...]:
    """Return what the step asks for, so far as the playbook tells it; a file on the node tells nothing here."""
    packages = (
        Stated("packages", it.name, it.shown, found)
        for it in wishes.wanted
        if it.name is not None and (found := it.requirement) is not None
    )
    return (*packages, *_of_lines("requirements", wishes.requirements))


def pin_of(wishes: Wishes, name: str) -> Stated | None:
    """Return what leaves one build of a package alone, wherever in the step it stands; None where nothing does."""
    bounds = (*_of_lines("constraints", wishes.constraints), *_of_lines("overrides", wishes.overrides))
    wanted = canonical_name(name)
    return next((it for it in (*to_install(wishes), *bounds) if it.name == wanted and it.exact), None)


def _of_lines(key: str, lines: Lines | None) -> Iterator[Stated]:
    if lines is None or lines.text is None or isinstance(lines.text, Secret):
        return
    for line in lines.text.splitlines():
        try:
            found = requirement(line)
        except InvalidRequirement:
            # A path or an address says only when it is opened what it holds.
            continue
        yield Stated(key, canonical_name(found.name), line, found)
