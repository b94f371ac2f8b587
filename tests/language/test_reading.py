"""Reading by a shape: what a scalar becomes, and agreement with the `jsonschema` library on what is valid."""

import json
from functools import cache

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackplan.language import schema, tree
from stackplan.language.reading import Reading, arguments, plain, tree_of, value_of
from stackplan.language.shape import Compiler
from stackplan.language.tree import YamlMapping, YamlValue
from stackplan.model.location import Location
from stackplan.model.secret import Secret

AT = Location("p.yaml", 1, 1)
VALUES = {"$defs": schema.load("values.json")["$defs"]}
KINDS = [(room, word) for room in schema.ROOMS for word in schema.kinds(room)]


def read(part, text, *, templates=True):
    """Return what YAML text becomes under a schema, and the summaries of what is wrong with it."""
    document = {"$defs": {"part": part, "values": schema.load("values.json")}}
    document = json.loads(json.dumps(document).replace('"#/$defs/', '"#/$defs/values/$defs/'))
    compiler = Compiler(document)
    reading = Reading(compiler, templates=templates)
    found = reading.read(compiler.shape("#/$defs/part"), tree.read_text(text, "p.yaml"), "it")
    return value_of(found), [it.summary for it in reading.diagnoses]


def definition(name):
    return {"$ref": f"#/$defs/{name}"}


@pytest.mark.parametrize(
    ("part", "text", "value"),
    [
        (definition("text"), "13.0", "13.0"),
        (definition("text"), "true", "true"),
        (definition("text"), "no", "no"),
        (definition("text"), "0644", "0644"),
        (definition("text"), "null", "null"),
        (definition("version"), "1e3", "1e3"),
        (definition("integer"), "8", 8),
        (definition("integer"), '"8"', 8),
        (definition("flag"), "true", True),
        (definition("flag"), "false", False),
        (definition("texts"), "3.10", "3.10"),
        (definition("texts"), "[3.10, on]", ("3.10", "on")),
        (definition("matcher"), "2026-02-27", "2026-02-27"),
        (definition("matcher"), "{at_least: 13.0}", {"at_least": "13.0"}),
        ({"anyOf": [definition("flag"), definition("texts")]}, "true", True),
        ({"anyOf": [definition("flag"), definition("texts")]}, "torch", "torch"),
        ({"anyOf": [{"const": "all"}, {"type": "array", "items": {"type": "integer"}}]}, "[0, 1]", (0, 1)),
        ({"type": "number"}, "1e3", 1000.0),
        ({"type": ["null", "string"]}, "~", None),
        ({"enum": ["a", 5, True]}, "5", 5),
        ({"enum": ["a", 5, True]}, "true", True),
        ({"type": "boolean"}, "{{ flag }}", "{{ flag }}"),
    ],
)  # fmt: skip
def test_scalar_becomes_what_its_field_wants(part, text, value):
    quoted = json.dumps(text) if text.startswith("{{") else text
    assert read(part, quoted) == (value, [])


@pytest.mark.parametrize(
    ("part", "text", "summary"),
    [
        (definition("flag"), "yes", "it is not true or false"),
        (definition("flag"), "on", "it is not true or false"),
        ({"anyOf": [definition("flag"), definition("texts")]}, "yes", "it is not true or false or a list of texts"),
        (definition("integer"), "many", "it is not a whole number"),
        (definition("integer"), "9" * 5000, "it is not a whole number"),
        (definition("duration"), "soon", "it is not a duration such as 30s, 5m, 1h or 1h30m"),
        (definition("path"), "''", "it may not be empty"),
        (definition("texts"), "{a: b}", "it is not a list of texts"),
        (definition("secret"), "{secret: true}", "a secret lacks `env`, `file` or `command`"),
        ({"enum": ["always", "never"]}, "allways", "it may not be `allways`"),
        ({"type": "string", "pattern": "^(drain|resume)$|\\{\\{"}, "down", "it may not be `down`"),
        ({"type": "array", "minItems": 1}, "[]", "it is empty"),
        ({"type": "array", "maxItems": 1}, "[a, b]", "it is too long"),
        ({"type": "object", "not": {"required": ["a", "b"]}}, "{a: 1, b: 2}", "it may not have `a` and `b` together"),
        ({"type": "object", "required": ["a"]}, "{}", "it lacks `a`"),
        ({"type": "object", "propertyNames": {"pattern": "^[a-z]$"}}, "{A: 1}", "`A` cannot be a name in it"),
        ({"anyOf": [{"type": "string", "pattern": "^all$"}, {"type": "array"}]}, "none", "it is not all or a list"),
        ({"type": "integer", "minimum": 1}, "0", "it is not a whole number from 1"),
    ],
)
def test_what_may_not_stand_there_is_worded(part, text, summary):
    assert read(part, text)[1] == [summary]


def test_a_name_that_lacks_its_slash_is_given_it():
    part = {"type": "object", "propertyNames": {"pattern": "^(/.*)?$"}}
    compiler = Compiler({"$defs": {"part": part}})
    reading = Reading(compiler)
    reading.read(compiler.shape("#/$defs/part"), tree.read_text("{foo: 1}", "p.yaml"), "it")
    (diagnosis,) = reading.diagnoses
    assert (diagnosis.expected, diagnosis.remedy) == ("a name that begins with `/`", "write `/foo`")


def test_keyword_without_words_of_its_own_is_left_to_jsonschema():
    part = {"type": "object", "dependentRequired": {"a": ["b"]}}
    assert read(part, "{a: 1, b: 2}")[1] == []
    assert read(part, "{a: 1}")[1] == ["it: 'b' is a dependency of 'a'"]


@pytest.mark.parametrize(
    ("pointer", "tolerated"), [("#/$defs/conditions_gpu/properties/gpus", True), ("#/$defs/step", False)]
)
def test_template_may_stand_for_a_list_in_arguments_alone(pointer, tolerated):
    definitions = {
        "conditions_gpu": {"type": "object", "properties": {"gpus": {"type": "array"}}},
        "step": {"type": "object", "properties": {"gpus": {"type": "array"}}},
    }
    compiler = Compiler({"$defs": definitions})
    reading = Reading(compiler)
    reading.read(compiler.shape(pointer.split("/properties")[0]), tree.read_text('gpus: "{{ all }}"', "p.yaml"), "it")
    assert (reading.diagnoses == []) is tolerated


def test_template_is_no_longer_tolerated_once_filled_in():
    assert read({"type": "boolean"}, '"{{ flag }}"', templates=False)[1] == ["it is not true or false"]


@pytest.mark.parametrize(
    ("part", "given_value", "value"),
    [
        (definition("text"), 13, "13"),
        (definition("text"), True, "true"),
        (definition("flag"), True, True),
        (definition("integer"), 8, 8),
        ({"anyOf": [definition("flag"), definition("texts")]}, False, False),
        ({"type": "string"}, 8, "8"),
    ],
)
def test_native_value_becomes_what_its_field_wants(part, given_value, value):
    document = json.loads(
        json.dumps({"$defs": {"part": part, "values": VALUES}}).replace('"#/$defs/', '"#/$defs/values/$defs/')
    )
    compiler = Compiler(document)
    reading = Reading(compiler, templates=False)
    found = reading.read(compiler.shape("#/$defs/part"), YamlValue(given_value, AT), "it")
    assert (value_of(found), reading.diagnoses) == (value, [])


def test_secret_stays_one_in_a_text_field_and_is_refused_in_others():
    compiler = Compiler({"$defs": {"text": {"type": ["string", "number"]}, "list": {"type": "array"}}})
    reading = Reading(compiler, templates=False)
    assert value_of(reading.read(compiler.shape("#/$defs/text"), YamlValue(Secret("s"), AT), "it")) == Secret("s")
    assert reading.diagnoses == []
    reading.read(compiler.shape("#/$defs/list"), YamlValue(Secret("s"), AT), "it")
    assert [it.summary for it in reading.diagnoses] == ["it may not hold a secret"]


def test_arguments_know_the_place_of_every_part():
    found = tree.read_text("packages:\n  - torch\nenv: {A: b}\n", "p.yaml")
    assert isinstance(found, YamlMapping)
    read_arguments = arguments(found)
    assert read_arguments.values == {"packages": ("torch",), "env": {"A": "b"}}
    assert read_arguments.place("packages", 0) == Location("p.yaml", 2, 5)
    assert read_arguments.place("env", "A") == Location("p.yaml", 3, 10)
    assert value_of(tree_of(read_arguments.values, read_arguments.at, read_arguments.places)) == read_arguments.values


SCALARS = st.one_of(
    st.sampled_from(["torch", "13.0", "true", "no", "", "8", "-1", "30s", "30GiB", ">=1", "a: b", "~"]),
    st.text(max_size=4),
)
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(SCALARS, inner, max_size=2), max_leaves=4
)


@cache
def validator(pointer):
    return jsonschema.Draft202012Validator({"$ref": pointer, "$defs": schema.compiler("playbook").document["$defs"]})


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_reading_agrees_with_jsonschema(data):
    """A kind's example with one thing changed: valid by the one exactly if it is by the other."""
    compiler = schema.compiler("playbook")
    room, word = data.draw(st.sampled_from(KINDS))
    pointer = f"#/$defs/{room}_{word}"
    example = dict(data.draw(st.sampled_from(schema.load(f"{room}/{word}.json")["examples"])))
    known = sorted(compiler.part(pointer).get("properties", {}))
    if known and data.draw(st.booleans()):
        example[data.draw(st.sampled_from(known))] = data.draw(TREES)
    elif example and data.draw(st.booleans()):
        del example[data.draw(st.sampled_from(sorted(example)))]
    else:
        example[data.draw(SCALARS)] = data.draw(TREES)
    reading = Reading(compiler, templates=False)
    found = reading.read(compiler.shape(pointer), tree_of(_tuples(example), AT, {}), word)
    assert (reading.diagnoses == []) == validator(pointer).is_valid(plain(found)), plain(found)


def _tuples(value):
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


@pytest.mark.parametrize(("room", "word"), KINDS)
def test_examples_of_every_kind_are_read_without_complaint(room, word):
    compiler = schema.compiler("playbook")
    for example in schema.load(f"{room}/{word}.json")["examples"]:
        reading = Reading(compiler)
        reading.read(compiler.shape(f"#/$defs/{room}_{word}"), tree.read_text(json.dumps(example), "p.yaml"), word)
        assert reading.diagnoses == []
