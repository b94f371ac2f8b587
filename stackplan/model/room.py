"""How a kind is found by its word, without one of them being imported before somebody asks for it.

A built-in kind `torch` is the attribute `KIND` of the module `stackplan.conditions.torch` (or `stackplan.actions.…`),
and its arguments stand in `schemas/conditions/torch.json`. Other kinds come from the entry points
`stackplan.conditions` and `stackplan.actions`: such a class has the schema of its arguments in `schema`, in which
`../values.json#/$defs/text` and its like may be referred to.
"""

import importlib
from dataclasses import field

from stackplan.model.frozen import dataclass
from stackplan.model.installed import entry_points
from stackplan.model.listing import module_names


@dataclass(frozen=True, slots=True)
class Room:
    """A family of kinds: the package of the built-in ones, whose name is also the group of entry points of others."""

    package: str
    _loaded: dict[str, type] = field(default_factory=dict, compare=False, repr=False)

    def find(self, word: str) -> type | None:
        """Return the class of a kind, or None when there is no such kind."""
        if word not in self._loaded:
            found = self._builtin(word) if word in self.builtin() else self._installed(word)
            if found is None:
                return None
            self._loaded[word] = found
        return self._loaded[word]

    def builtin(self) -> tuple[str, ...]:
        """Return the words of the built-in kinds: the package's modules without an underscore in front."""
        path = importlib.import_module(self.package).__path__
        return module_names(path)

    def words(self) -> tuple[str, ...]:
        return tuple(sorted({*self.builtin(), *self.installed()}))

    def installed(self) -> tuple[str, ...]:
        """Return the words of the kinds that other packages bring along; a built-in kind cannot be replaced."""
        return tuple(sorted({entry.name for entry in entry_points(self.package)} - {*self.builtin()}))

    def _builtin(self, word: str) -> type:
        kind: type = importlib.import_module(f"{self.package}.{word}").KIND
        return kind

    def _installed(self, word: str) -> type | None:
        for entry in entry_points(self.package):
            if entry.name == word:
                kind: type = entry.load()
                return kind
        return None


CONDITIONS = Room("stackplan.conditions")
ACTIONS = Room("stackplan.actions")
