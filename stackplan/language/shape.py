"""A schema made ready for reading: what may stand at a place, and in what words that is said.

Compiled once from a JSON schema document whose references all lead into itself (`schema.bundled`). Where a keyword is
not compiled, `rest` is set: that part is for the `jsonschema` library.
"""

import re
from dataclasses import field, replace
from typing import Any, TypeAlias

from stackplan.model.cached import cached_property
from stackplan.model.frozen import dataclass
from stackplan.model.regular import regular

Json: TypeAlias = dict[str, Any]
Plain: TypeAlias = bool | int | float | str | None

ALL_TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
SCALARS = ALL_TYPES - {"array", "object", "null"}
_ANNOTATIONS = {
    "$schema", "$id", "$comment", "$defs", "title", "description", "examples", "default", "deprecated", "format",
    "x-project-file", "x-weaker", "x-acts",
}  # fmt: skip
_COMPILED = {
    "type", "enum", "const", "pattern", "minLength", "maxLength", "minimum", "maximum", "properties", "required",
    "additionalProperties", "items", "minItems", "maxItems", "minProperties", "anyOf", "oneOf", "$ref", "not",
}  # fmt: skip
_KIND = regular(r"#/\$defs/(conditions|actions)_\w+")
_WORD = regular(r"\^(\w+)\$(?:\||$)")
_WORDS = regular(r"\^\(([\w-]+(?:\|[\w-]+)+)\)\$(?:\||$)")
_TYPE_WORDS = {
    "null": "nothing",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "array": "a list",
    "object": "a mapping",
}


@dataclass(eq=False)
class Shape:
    """What may stand at one place. `title` names the thing in messages ("a step"), `wording` says what is expected.

    `file` is set where a file of the project is named whose text becomes the argument `content`: `template` to be
    filled in, `verbatim` as it is. `weaker` says which change to the value makes a condition state less:
    `lower`, `higher`, `fewer`, `more`, `other` (any, for no two values compare), or `never`. `default` is what counts
    where nothing is written. `acts` are values by which an action does what none of its conditions tells.
    """

    pointer: str
    types: frozenset[str] | None = None
    title: str | None = None
    wording: str | None = None
    choices: tuple[Plain, ...] | None = None
    pattern: re.Pattern[str] | None = None
    shortest: int = 0
    longest: int | None = None
    least: float | None = None
    most: float | None = None
    properties: "dict[str, Shape]" = field(default_factory=dict)
    required: tuple[str, ...] = ()
    required_sets: tuple[tuple[str, ...], ...] = ()
    only_one_set: bool = False
    refused_set: tuple[str, ...] = ()
    others: "Shape | None" = None
    closed: bool = False
    names: re.Pattern[str] | None = None
    fewest_entries: int = 0
    items: "Shape | None" = None
    fewest_items: int = 0
    most_items: int | None = None
    alternatives: "tuple[Shape, ...]" = ()
    rest: bool = False
    file: str | None = None
    weaker: str | None = None
    default: Plain = None
    acts: tuple[Plain, ...] = ()

    @cached_property
    def is_kind(self) -> bool:
        """Whether these are the arguments of a kind, in which a template may also stand for a list or a mapping."""
        return _KIND.fullmatch(self.pointer) is not None

    @cached_property
    def naming_files(self) -> frozenset[str]:
        """The properties that name a file of the project."""
        return frozenset(name for name, shape in self.properties.items() if shape.file)

    @cached_property
    def admitted(self) -> frozenset[str]:
        """The JSON types that may stand here, those of the alternatives taken together."""
        types = self.types if self.types is not None else ALL_TYPES
        if self.choices is not None:
            types &= frozenset(type_of(choice) for choice in self.choices)
        if self.alternatives:
            types &= frozenset().union(*(it.admitted for it in self.alternatives))
        return types

    @cached_property
    def is_open(self) -> bool:
        """Whether any scalar may stand here, as in `vars`."""
        return self.admitted >= SCALARS | {"null"}

    @cached_property
    def is_textual(self) -> bool:
        """Whether a scalar here stays as it was written: the field admits numbers as well as texts."""
        return {"string", "number"} <= self.admitted

    @cached_property
    def is_plain_text(self) -> bool:
        """Whether a text here stays as it was written, and only its length and its pattern may be wrong."""
        special = self.alternatives or self.choices is not None or self.rest or "null" in self.admitted
        return (self.is_textual or self.admitted == {"string"}) and not self.is_open and not special

    @cached_property
    def named(self) -> str | None:
        """What messages call it whatever stands in it: `a step`; None where that is told by its key."""
        return self.title if self.title and self.title.startswith(("a ", "an ", "the ")) else None

    @cached_property
    def word(self) -> str | None:
        """The one word that may stand here, apart from a template."""
        match = _WORD.match(self.pattern.pattern) if self.pattern is not None else None
        return match[1] if match is not None else None

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The few words of which one has to stand here, apart from a template."""
        match = _WORDS.match(self.pattern.pattern) if self.pattern is not None else None
        return tuple(match[1].split("|")) if match is not None and match[1] != "true|false" else ()

    @cached_property
    def expected(self) -> str:
        """What may stand here, for people."""
        said = _listed([*self.words]) if self.words else self.wording or self.word
        if said is not None:
            return said
        if self.choices is not None:
            return _listed(
                [str(choice).lower() if isinstance(choice, bool) else str(choice) for choice in self.choices]
            )
        if self.alternatives:
            return _listed(list(dict.fromkeys(it.expected for it in self.alternatives)))
        if self.is_textual:
            return _listed(["a text", *(_TYPE_WORDS[it] for it in ("array", "object") if it in self.admitted)])
        if self.least is not None and self.admitted == {"integer"}:
            return f"a whole number from {self.least:g}" + (f" to {self.most:g}" if self.most is not None else "")
        return _listed([_TYPE_WORDS[it] for it in sorted(self.admitted)])


class Compiler:
    """Compiles parts of one document, each once; a part may refer to itself."""

    def __init__(self, document: Json) -> None:
        self.document = document
        self._shapes: dict[str, Shape] = {}

    def shape(self, pointer: str) -> Shape:
        """Return the shape at a JSON pointer such as `#/$defs/step`."""
        if pointer not in self._shapes:
            part = self.part(pointer)
            if "$ref" in part and set(part) - {"$ref"} <= _ANNOTATIONS:
                self._shapes[pointer] = self._referred(part["$ref"])
                if {"x-project-file", "x-weaker", "x-acts", "default"} & set(part):
                    file, weaker, default = (part.get(it) for it in ("x-project-file", "x-weaker", "default"))
                    self._shapes[pointer] = replace(
                        self._shapes[pointer],
                        file=file,
                        weaker=weaker,
                        default=default,
                        acts=tuple(part.get("x-acts", ())),
                    )
            else:
                shape = self._shapes[pointer] = Shape(pointer)
                self._fill(shape, part, pointer)
        return self._shapes[pointer]

    def part(self, pointer: str) -> Json:
        found: Any = self.document
        for word in pointer.removeprefix("#").split("/")[1:]:
            key = word.replace("~1", "/").replace("~0", "~")
            found = found[int(key)] if isinstance(found, list) else found[key]
        assert isinstance(found, dict), pointer
        return found

    def _fill(self, shape: Shape, part: Json, pointer: str) -> None:
        types = part.get("type")
        shape.types = None if types is None else _widened(types if isinstance(types, list) else [types])
        shape.title = part.get("title")
        shape.file = part.get("x-project-file")
        shape.weaker = part.get("x-weaker")
        shape.acts = tuple(part.get("x-acts", ()))
        shape.default = part.get("default")
        shape.choices = (part["const"],) if "const" in part else tuple(part["enum"]) if "enum" in part else None
        shape.pattern = regular(part["pattern"]) if "pattern" in part else None
        shape.shortest, shape.longest = part.get("minLength", 0), part.get("maxLength")
        shape.least, shape.most = part.get("minimum"), part.get("maximum")
        self._fill_containers(shape, part, pointer)
        self._fill_alternatives(shape, part, pointer)
        shape.rest = shape.rest or "$ref" in part or bool(set(part) - _COMPILED - _ANNOTATIONS - {"propertyNames"})

    def _referred(self, pointer: str) -> Shape:
        """Return a shared definition; what describes one of a scalar is what its values are called in messages."""
        part = self.part(pointer)
        target = self.shape(pointer)
        if part.get("type") != "object":
            target.wording = target.wording or _clause(part.get("description"))
        return target

    def _fill_containers(self, shape: Shape, part: Json, pointer: str) -> None:
        shape.properties = {
            name: self.shape(f"{pointer}/properties/{_escaped(name)}") for name in part.get("properties", {})
        }
        shape.required = tuple(part.get("required", ()))
        refused = part.get("not")
        if refused is not None and set(refused) == {"required"}:
            shape.refused_set = tuple(refused["required"])
        elif refused is not None:
            shape.rest = True
        shape.fewest_entries = part.get("minProperties", 0)
        others = part.get("additionalProperties")
        shape.closed = others is False
        if isinstance(others, dict):
            shape.others = self.shape(f"{pointer}/additionalProperties")
        names = part.get("propertyNames")
        if names is not None:
            shape.names = regular(names.get("pattern", ""))
            shape.rest = set(names) != {"pattern"}
        if "items" in part:
            shape.items = self.shape(f"{pointer}/items")
        shape.fewest_items, shape.most_items = part.get("minItems", 0), part.get("maxItems")

    def _fill_alternatives(self, shape: Shape, part: Json, pointer: str) -> None:
        if "anyOf" in part and "oneOf" in part:
            shape.rest = True
            return
        word = "anyOf" if "anyOf" in part else "oneOf"
        choices = part.get(word, [])
        if choices and all(set(choice) <= {"required", "description"} for choice in choices):
            shape.required_sets = tuple(tuple(choice.get("required", ())) for choice in choices)
            shape.only_one_set = word == "oneOf"
        elif choices and (shape.properties or shape.items or shape.others or shape.choices or shape.pattern):
            shape.rest = True
        elif choices:
            shape.alternatives = tuple(self.shape(f"{pointer}/{word}/{index}") for index in range(len(choices)))


def _widened(types: list[str]) -> frozenset[str]:
    return frozenset({*types, "integer"} if "number" in types else types)


def type_of(value: Plain) -> str:
    """Return the JSON type of a scalar; a whole number is an integer."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    return "number" if isinstance(value, float) else "string"


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _clause(description: str | None) -> str | None:
    """Return the first clause of a definition's description, as it continues a sentence."""
    if not description:
        return None
    first = re.split(r"; |\. |\.$", description)[0]
    return first[:1].lower() + first[1:]


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
