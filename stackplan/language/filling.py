"""Filling in arguments part by part: as nearly all are, each template yielding one scalar that its field takes.

What was accepted when the playbook was read needs no second look, then. Whatever is not that simple (a template that
yields a list, or nothing; a value that the field refuses) is left to the reading of the whole, which has the words.
"""

from collections.abc import Mapping
from dataclasses import field

from stackplan.language.reading import Reading, holds_template
from stackplan.language.shape import Shape
from stackplan.language.tree import YamlValue
from stackplan.language.variables import Scope
from stackplan.model.arguments import Path, Value
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location


@dataclass(slots=True)
class Filled:
    """One pass over one mapping of arguments, in which `templates` were met or not.

    `simple` turns False where the whole has to be read anew; `unfilled` is about those that could not be filled in.
    """

    scope: Scope
    reading: Reading
    places: Mapping[Path, Location]
    at: Location
    simple: bool = True
    templates: bool = False
    unfilled: list[Diagnosis] = field(default_factory=list)

    def mapping(self, values: Mapping[str, Value], shape: Shape | None, path: Path) -> dict[str, Value]:
        """Return the values at `path`, filled in; what cannot be stays as it is."""
        if shape is not None and (shape.rest or shape.alternatives or "object" not in shape.admitted):
            self.simple = False
        found = {}
        for key, value in values.items():
            inner = None if shape is None else shape.properties.get(key) or shape.others
            found[key] = self._value(value, inner, (*path, key))
        return found

    def _value(self, value: Value, shape: Shape | None, path: Path) -> Value:
        if isinstance(value, str):
            return self._text(value, shape, path) if holds_template(value) else value
        if isinstance(value, tuple):
            within = None if shape is None else _only(shape, "array")
            if shape is not None and (within is None or within.rest):
                self.simple = False
            items = None if within is None else within.items
            return tuple(self._value(item, items, (*path, index)) for index, item in enumerate(value))
        if isinstance(value, Mapping):
            within = None if shape is None else _only(shape, "object")
            if shape is not None and within is None:
                self.simple = False
            return self.mapping(value, within, path)
        return value

    def _text(self, text: str, shape: Shape | None, path: Path) -> Value:
        self.templates = True
        at = self.places.get(path, self.at)
        try:
            value = self.scope.fill(text, at)
        except Invalid as error:
            self.unfilled += error.diagnoses
            return text
        if value is None or isinstance(value, (tuple, Mapping)):
            self.simple = False
            return text
        if shape is None:
            return value
        read = self.reading.read(shape, YamlValue(value, at), "")
        if self.reading.diagnoses or not isinstance(read, YamlValue):
            self.simple = False
            return text
        return read.value


def _only(shape: Shape, kind: str) -> Shape | None:
    """Return the one shape that a list or a mapping can have here, or None where there are several, or none."""
    if not shape.alternatives:
        return shape if kind in shape.admitted else None
    fitting = [it for it in shape.alternatives if kind in it.admitted]
    return _only(fitting[0], kind) if len(fitting) == 1 and not shape.rest else None
