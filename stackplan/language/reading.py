"""Reading a tree by a shape: every scalar becomes what its field wants, and everything wrong is said in words.

A scalar whose field admits numbers as well as texts stays as it was written (`13.0`, `0644`). A text that holds a
template may stand anywhere as long as templates are not filled in yet.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, TypeAlias

from stackplan.language.nearest import alternatives, did_you_mean, nearest
from stackplan.language.shape import SCALARS, Compiler, Plain, Shape, type_of
from stackplan.language.tree import Tree, YamlMapping, YamlScalar, YamlSequence, YamlValue
from stackplan.model.arguments import Arguments, Path, Value
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location
from stackplan.model.regular import regular
from stackplan.model.secret import Secret, Unread, masked, reveal

_INTEGER = regular(r"[+-]?(0|[1-9][0-9]*)")
_NUMBER = regular(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_MOST_DIGITS = 18
_ENDLESS = regular(rf"[+-]?[0-9]{{{_MOST_DIGITS},}}")
_ENGLISH_FLAGS = {"yes", "no", "on", "off"}
_MOST_NAMED = 16
"""A message lists the keys that may stand somewhere only when they are few."""


Read: TypeAlias = Tree
"""A tree whose scalars have become values, as far as its shape describes it."""


def holds_template(text: str) -> bool:
    return "{{" in text or "{%" in text


@dataclass
class Reading:
    """One pass over trees of one document; `templates` tells whether texts with templates are still tolerated."""

    compiler: Compiler
    templates: bool = True
    diagnoses: list[Diagnosis] = field(default_factory=list)
    in_arguments: bool = False

    def read(self, shape: Shape, tree: Read, name: str) -> Read:
        """Return `tree` with each scalar read as what `shape` wants; `name` is what messages call it."""
        if shape.alternatives:
            return self._read_alternative(shape, tree, name)
        if shape.is_plain_text:
            text = tree.text if type(tree) is YamlScalar else tree.value if type(tree) is YamlValue else None
            if isinstance(text, str) and _is_well_formed(text, shape):
                return YamlValue(text, tree.at)
        before = len(self.diagnoses)
        if isinstance(tree, YamlMapping):
            outside, self.in_arguments = self.in_arguments, self.in_arguments or shape.is_kind
            read: Read = self._read_mapping(shape, tree, name)
            self.in_arguments = outside
        elif isinstance(tree, YamlSequence):
            read = self._read_sequence(shape, tree, name)
        else:
            read = self._read_scalar(shape, tree, name)
        if shape.rest and len(self.diagnoses) == before:
            self._check_rest(shape, read, name)
        return read

    def wrong(self, shape: Shape, tree: Read, name: str, remedy: str | None = None) -> None:
        """Note that what stands at `tree` is not what `shape` wants."""
        observed = observed_text(tree)
        words = shape.words or tuple(it for it in shape.choices or () if isinstance(it, str))
        if remedy is None and words and observed is not None:
            remedy = did_you_mean(observed, words)
        if remedy is None and observed in _ENGLISH_FLAGS and "boolean" in shape.admitted:
            remedy = f"write `{'true' if observed in ('yes', 'on') else 'false'}`"
        expected = shape.expected
        summary = f"{name} may not be empty" if not observed else f"{name} is not {expected}"
        if (shape.choices is not None or shape.words) and observed:
            summary = f"{name} may not be `{observed[:80]}`"
        self.note(summary, tree.at, expected=expected, observed=observed or None, remedy=remedy)

    def note(
        self,
        summary: str,
        at: Location,
        *,
        expected: str | None = None,
        observed: str | None = None,
        remedy: str | None = None,
    ) -> None:
        shown = None if observed is None or len(observed) <= 120 else f"{observed[:117]}..."
        observed = shown or observed
        self.diagnoses.append(Diagnosis(summary=summary, at=at, expected=expected, observed=observed, remedy=remedy))

    def _read_alternative(self, shape: Shape, tree: Read, name: str) -> Read:
        if not isinstance(tree, (YamlMapping, YamlSequence)):
            return self._read_scalar(shape, tree, name)
        kind = "object" if isinstance(tree, YamlMapping) else "array"
        fitting = [it for it in shape.alternatives if kind in it.admitted]
        if not fitting:
            self.wrong(shape, tree, name)
            return tree
        if len(fitting) == 1:
            return self.read(fitting[0], tree, name)
        if isinstance(tree, YamlMapping):
            # The alternative that knows most of the keys is the one that was meant.
            fitting.sort(key=lambda it: -sum(key.text in it.properties for key, _ in tree.entries))
            given = {key.text for key, _ in tree.entries}
            if fitting[0].required and given.issuperset(fitting[0].required):
                return self.read(fitting[0], tree, name)
        first: list[Diagnosis] | None = None
        for alternative in fitting:
            attempt = Reading(self.compiler, self.templates, in_arguments=self.in_arguments)
            read = attempt.read(alternative, tree, name)
            if not attempt.diagnoses:
                return read
            first = first if first is not None else attempt.diagnoses
        self.diagnoses += first or []
        return tree

    def _read_mapping(self, shape: Shape, tree: YamlMapping, name: str) -> YamlMapping:
        if "object" not in shape.admitted:
            self.wrong(shape, tree, name)
            return tree
        owner = shape.named or name
        entries: list[tuple[YamlScalar, Read]] = []
        for key, value in tree.entries:
            inner = shape.properties.get(key.text) or shape.others
            if inner is not None:
                entries.append((key, self.read(inner, value, f"`{key.text}`")))
            else:
                entries.append((key, value))
                if shape.closed:
                    self._note_unknown(shape, key, owner)
            if shape.names is not None and not shape.names.search(key.text):
                summary = f"`{key.text}` cannot be a name in {owner}"
                remedy = f"write `/{key.text}`" if shape.names.search(f"/{key.text}") else None
                self.note(summary, key.at, expected=_characters(shape.names), remedy=remedy)
        self._check_present(shape, tree, owner)
        return YamlMapping(tuple(entries), tree.at)

    def _note_unknown(self, shape: Shape, key: YamlScalar, owner: str) -> None:
        known = sorted(shape.properties)
        remedy = did_you_mean(key.text, known)
        expected = None
        if remedy is None or len(known) <= _MOST_NAMED:
            expected = alternatives(known) if known else "no keys at all"
        self.note(f"{owner} has no key `{key.text}`", key.at, expected=expected, remedy=remedy)

    def _check_present(self, shape: Shape, tree: YamlMapping, owner: str) -> None:
        if not (shape.required or shape.required_sets or shape.fewest_entries or shape.refused_set):
            return
        given = {key.text for key, _ in tree.entries}
        if not given <= shape.properties.keys():
            # A slip in a key's name has been noted already: that what it stands for is missing would be the same again.
            given |= {it for name in given - set(shape.properties) for it in nearest(name, shape.properties, most=1)}
        for missing in shape.required:
            if missing not in given:
                inner = shape.properties.get(missing)
                self.note(f"{owner} lacks `{missing}`", tree.at, expected=inner.expected if inner else None)
        if shape.refused_set and given.issuperset(shape.refused_set):
            together = alternatives(shape.refused_set, "and")
            self.note(f"{owner} may not have {together} together", _key_at(tree, shape.refused_set[-1]))
        if len(given) < shape.fewest_entries and not shape.required:
            self.note(f"{owner} is empty", tree.at, expected=alternatives(sorted(shape.properties)) or "an entry")
        if not shape.required_sets:
            return
        met = [names for names in shape.required_sets if given.issuperset(names)]
        if met and not (shape.only_one_set and len(met) > 1):
            return
        wanted = alternatives(names[0] if len(names) == 1 else " with ".join(names) for names in shape.required_sets)
        if not met:
            self.note(f"{owner} lacks {wanted}", tree.at, expected=wanted)
        else:
            spare = met[1][0]
            self.note(f"{owner} may have only one of {wanted}", _key_at(tree, spare), remedy=f"take `{spare}` away")

    def _read_sequence(self, shape: Shape, tree: YamlSequence, name: str) -> YamlSequence:
        if "array" not in shape.admitted:
            self.wrong(shape, tree, name)
            return tree
        if len(tree.items) < shape.fewest_items:
            self.note(f"{name} is empty" if not tree.items else f"{name} is too short", tree.at, expected="an item")
        if shape.most_items is not None and len(tree.items) > shape.most_items:
            self.note(f"{name} is too long", tree.at, expected=f"at most {shape.most_items} items")
        if shape.items is None:
            return tree
        inner = shape.items.named or f"an item of {name}"
        return YamlSequence(tuple(self.read(shape.items, item, inner) for item in tree.items), tree.at)

    def _read_scalar(self, shape: Shape, tree: YamlScalar | YamlValue, name: str) -> YamlScalar | YamlValue:
        if isinstance(tree, YamlValue) and isinstance(tree.value, Secret):
            return self._read_secret(shape, tree, name)
        if isinstance(tree, YamlValue) and not isinstance(tree.value, str):
            value: Plain = _fitted(tree.value, shape)
        else:
            text = tree.text if isinstance(tree, YamlScalar) else str(tree.value)
            if self.templates and holds_template(text) and (self.in_arguments or shape.admitted & SCALARS):
                return YamlValue(text, tree.at)
            value = _converted(text, is_null=isinstance(tree, YamlScalar) and tree.is_null, shape=shape)
        if isinstance(tree, YamlScalar) and _is_english_flag(tree, shape):
            self.wrong(shape, tree, name)
            return YamlValue(value, tree.at)
        if not self._accepts(shape, value):
            remedy = None
            if isinstance(value, str) and holds_template(value) and self.templates:
                remedy = "write it out: a template may stand for a value, not for a part of the playbook"
            if _is_empty(tree):
                remedy = "write a value, or take the key away"
                remedy = "write `{}`" if shape.admitted == {"object"} and not shape.required else remedy
            self.wrong(self._closest(shape, value), tree, name, remedy)
        return YamlValue(value, tree.at)

    def _read_secret(self, shape: Shape, tree: YamlValue, name: str) -> YamlValue:
        if not {"string"} & shape.admitted:
            self.note(f"{name} may not hold a secret", tree.at, expected=shape.expected)
        return tree

    def _accepts(self, shape: Shape, value: Plain) -> bool:
        if shape.alternatives:
            return any(self._accepts(it, value) for it in shape.alternatives)
        return _type_fits(value, shape.admitted) and _constraints_hold(value, shape)

    def _closest(self, shape: Shape, value: Plain) -> Shape:
        """Return the one alternative that was meant, where only one takes scalars of this type."""
        fitting = [it for it in shape.alternatives if _type_fits(value, it.admitted)]
        # Beside a single word, what else may stand there is what was meant.
        return fitting[0] if len(fitting) == 1 and fitting[0].word is None else shape

    def _check_rest(self, shape: Shape, tree: Read, name: str) -> None:
        """Let the `jsonschema` library judge what this module has no words of its own for."""
        if _holds_unread(tree):
            return
        value = plain(tree)
        if any(holds_template(text) for text in _texts(value)):
            return
        from jsonschema import Draft202012Validator  # noqa: PLC0415 - costs 90 ms, and hardly ever needed

        schema = {"$ref": shape.pointer, "$defs": self.compiler.document.get("$defs", {})}
        for error in Draft202012Validator(schema).iter_errors(value):
            at = _place(tree, list(error.absolute_path))
            if error.validator in ("anyOf", "oneOf", "not", "if", "then", "else"):
                self.note(f"{name} does not fit together", at, expected=shape.expected)
            else:
                self.note(f"{name}: {masked(error.message)[:200]}", at)


def _is_english_flag(tree: YamlScalar, shape: Shape) -> bool:
    """Return whether `yes` and its like stand where a flag may, and would be read as the name of something."""
    flagged = any("boolean" in it.admitted and not it.is_textual and not it.is_open for it in shape.alternatives)
    return flagged and not tree.quoted and tree.text in _ENGLISH_FLAGS


def _is_well_formed(text: str, shape: Shape) -> bool:
    """Return whether a text is as long as it may be, and of the pattern that is asked for."""
    if len(text) < shape.shortest or (shape.longest is not None and len(text) > shape.longest):
        return False
    return shape.pattern is None or shape.pattern.search(text) is not None


def observed_text(tree: Read) -> str | None:
    """Return what stands at a tree, as a message shows it, without the passwords of addresses."""
    if isinstance(tree, YamlScalar):
        return masked(tree.text)
    if isinstance(tree, YamlValue):
        return masked(_shown(tree.value))
    return "a list" if isinstance(tree, YamlSequence) else "a mapping"


def _holds_unread(tree: Read) -> bool:
    """Return whether something stands in for a secret anywhere in a tree, so that its form cannot be judged."""
    if isinstance(tree, YamlMapping):
        return any(_holds_unread(value) for _, value in tree.entries)
    if isinstance(tree, YamlSequence):
        return any(map(_holds_unread, tree.items))
    return isinstance(tree, YamlValue) and isinstance(tree.value, Unread)


def plain(tree: Read) -> Any:
    """Return a tree as JSON data, secrets revealed."""
    if isinstance(tree, YamlMapping):
        return {key.text: plain(value) for key, value in tree.entries}
    if isinstance(tree, YamlSequence):
        return [plain(item) for item in tree.items]
    if isinstance(tree, YamlScalar):
        return tree.text
    return reveal(tree.value) if isinstance(tree.value, Secret) else tree.value


def value_of(tree: Read) -> Value:
    """Return a tree as a value of arguments: lists as tuples, mappings as dicts."""
    if isinstance(tree, YamlMapping):
        return {key.text: value_of(value) for key, value in tree.entries}
    if isinstance(tree, YamlSequence):
        return tuple(value_of(item) for item in tree.items)
    return tree.text if isinstance(tree, YamlScalar) else tree.value


def arguments(tree: YamlMapping) -> Arguments:
    """Return a mapping that was read as arguments, every part with its place."""
    places: dict[Path, Location] = {}
    return Arguments(_placed(tree, (), places), tree.at, places)


def _placed(tree: YamlMapping, path: Path, places: dict[Path, Location]) -> dict[str, Value]:
    """Return a mapping as `value_of` does, and note the place of each of its parts."""
    found = {}
    for key, value in tree.entries:
        inner = (*path, key.text)
        places[inner] = value.at
        found[key.text] = _placed_value(value, inner, places)
    return found


def _placed_value(tree: Read, path: Path, places: dict[Path, Location]) -> Value:
    if isinstance(tree, YamlMapping):
        return _placed(tree, path, places)
    if isinstance(tree, YamlSequence):
        items = []
        for index, item in enumerate(tree.items):
            inner = (*path, index)
            places[inner] = item.at
            items.append(_placed_value(item, inner, places))
        return tuple(items)
    return tree.text if isinstance(tree, YamlScalar) else tree.value


def tree_of(value: Value, at: Location, places: Mapping[Path, Location], path: Path = ()) -> Read:
    """Return arguments' values as a tree again, each part at its place, or at that of what encloses it."""
    at = places.get(path, at)
    if isinstance(value, Mapping):
        entries = [
            (YamlScalar(key, places.get((*path, key), at), quoted=True), tree_of(item, at, places, (*path, key)))
            for key, item in value.items()
        ]
        return YamlMapping(tuple(entries), at)
    if isinstance(value, tuple):
        return YamlSequence(tuple(tree_of(item, at, places, (*path, index)) for index, item in enumerate(value)), at)
    return YamlValue(value, at)


def _converted(text: str, *, is_null: bool, shape: Shape) -> Plain:
    """Return a text as what its field wants; a text that nothing can be made of stays one.

    Of several alternatives the first that takes the text decides: `upgrade: true` is a flag there, not a package.
    """
    admitted = shape.admitted
    if is_null and "null" in admitted:
        return None
    for alternative in shape.alternatives:
        value = _converted(text, is_null=is_null, shape=alternative)
        if _type_fits(value, alternative.admitted) and _constraints_hold(value, alternative):
            return value
    if shape.alternatives or (shape.is_textual and not shape.is_open):
        return text
    if shape.choices is not None:
        return next((it for it in shape.choices if it is not None and _shown(it) == text), text)
    return _number_or_flag(text, shape)


def _number_or_flag(text: str, shape: Shape) -> Plain:
    admitted = shape.admitted
    if "boolean" in admitted and text in ("true", "false"):
        return text == "true"
    if shape.is_open:
        return text
    if "integer" in admitted and _INTEGER.fullmatch(text) and len(text) <= _MOST_DIGITS:
        return int(text)
    if "number" in admitted and "string" not in admitted and _NUMBER.fullmatch(text):
        return float(text)
    return text


def _fitted(value: Plain | Secret, shape: Shape) -> Plain:
    """Return a value that a template gave as what its field wants: a text field takes `13` and `true` as texts."""
    assert not isinstance(value, Secret)
    if value is None or isinstance(value, str) or shape.is_open:
        return value
    for alternative in shape.alternatives:
        fitted = _fitted(value, alternative)
        if _type_fits(fitted, alternative.admitted) and _constraints_hold(fitted, alternative):
            return fitted
    wanted = "boolean" if isinstance(value, bool) else "integer" if isinstance(value, int) else "number"
    if "string" in shape.admitted and (shape.is_textual or wanted not in shape.admitted):
        return _shown(value)
    return value


def _type_fits(value: Plain, admitted: frozenset[str]) -> bool:
    return type_of(value) in admitted


def _constraints_hold(value: Plain, shape: Shape) -> bool:
    if shape.choices is not None and not any(value == it and type(value) is type(it) for it in shape.choices):
        return False
    if isinstance(value, str):
        if "integer" in shape.admitted and not shape.is_textual and _ENDLESS.fullmatch(value):
            return False
        return _is_well_formed(value, shape)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (shape.least is None or value >= shape.least) and (shape.most is None or value <= shape.most)
    return True


def _shown(value: Plain | Secret) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _is_empty(tree: YamlScalar | YamlValue) -> bool:
    return isinstance(tree, YamlScalar) and not tree.quoted and not tree.text


def _characters(names: re.Pattern[str]) -> str:
    """Return which characters a name may have; the pattern says it in its last brackets, or begins with a `/`."""
    if names.pattern.startswith("^(/"):
        return "a name that begins with `/`"
    bare = re.sub("[A-Za-z0-9]-[A-Za-z0-9]", "", names.pattern.rpartition("[")[2])
    signs = [f"`{sign}`" for sign in "_-.:@" if sign in bare]
    *before, last = ["letters", "digits", *signs]
    return f"{', '.join(before)} and {last}"


def _key_at(tree: YamlMapping, key: str) -> Location:
    return next((name.at for name, _ in tree.entries if name.text == key), tree.at)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _place(tree: Read, path: list[str | int]) -> Location:
    """Return where the part at `path` stands, or the nearest part around it."""
    for step in path:
        inner: Any = None
        if isinstance(tree, YamlMapping):
            inner = tree.get(str(step))
        elif isinstance(tree, YamlSequence) and isinstance(step, int) and step < len(tree.items):
            inner = tree.items[step]
        if inner is None:
            break
        tree = inner
    return tree.at
