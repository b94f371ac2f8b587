"""schemas/events.v1.json and the events of the model are one: neither has a field or an event that the other lacks."""

import dataclasses
import enum
import typing

import jsonschema
import pytest

from stackplan.engine.encoding import encode
from stackplan.engine.journal import FORMAT
from stackplan.language import schema
from stackplan.model import event as events
from stackplan.model.change import Change
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.location import Location
from stackplan.model.outcome import NodeOutcome, Reason, StepOutcome
from stackplan.model.report import (
    ActionReport,
    Broken,
    ConditionReport,
    NodeReport,
    PlaybookIdentity,
    StepReport,
)
from stackplan.model.written import Written

DOCUMENT = schema.bundled("events")
DEFINITIONS = DOCUMENT["$defs"]
VALIDATOR = jsonschema.Draft202012Validator(DOCUMENT)
EVENTS = typing.get_args(events.Event)
PARTS = {
    "action": ActionReport,
    "broken": Broken,
    "change": Change,
    "condition": ConditionReport,
    "diagnosis": Diagnosis,
    "node": NodeReport,
    "playbook": PlaybookIdentity,
    "step": StepReport,
    "written": Written,
}
ENUMERATIONS = {"node_outcome": NodeOutcome, "step_outcome": StepOutcome, "reason": Reason}
LOCATION = Location("p.yaml", 3, 5)


def fields(kind):
    return {it.name for it in dataclasses.fields(kind)}


def required(kind):
    return {
        it.name
        for it in dataclasses.fields(kind)
        if it.default is dataclasses.MISSING and it.default_factory is dataclasses.MISSING
    }


def sample(kind):
    """A value of a type with every field filled in, containers with one item."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return kind(**{it.name: sample(hints[it.name]) for it in dataclasses.fields(kind) if it.init})
    if origin is tuple:
        return (sample(arguments[0]),)
    if origin is not None and issubclass(origin, typing.Mapping) if isinstance(origin, type) else False:
        return {"name": sample(arguments[1])}
    if arguments:
        return sample(next(it for it in arguments if it is not type(None)))
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return next(iter(kind))
    return {str: "SP201", int: 1, float: 1.5, bool: True}[kind]


@pytest.mark.parametrize("kind", EVENTS, ids=lambda it: it.__name__)
def test_an_event_and_its_definition_have_the_same_fields(kind):
    definition = DEFINITIONS[kind.__name__]
    assert set(definition["properties"]) == fields(kind) | {"event"}
    assert set(definition["required"]) == required(kind) | {"event"}
    assert definition["description"]


@pytest.mark.parametrize("name", PARTS)
def test_a_part_and_its_definition_have_the_same_fields(name):
    assert set(DEFINITIONS[name]["properties"]) == fields(PARTS[name])
    assert set(DEFINITIONS[name]["required"]) <= fields(PARTS[name])


@pytest.mark.parametrize("name", ENUMERATIONS)
def test_an_enumeration_and_its_definition_have_the_same_words(name):
    assert set(DEFINITIONS[name]["enum"]) - {None} == {it.value for it in ENUMERATIONS[name]}


def test_no_event_is_forgotten():
    named = {it["$ref"].rpartition("/")[2] for it in DOCUMENT["anyOf"] if "$ref" in it}
    assert named == {kind.__name__ for kind in EVENTS}


@pytest.mark.parametrize("kind", EVENTS, ids=lambda it: it.__name__)
def test_a_full_event_is_valid_and_a_misspelt_one_is_not(kind):
    line = encode(sample(kind))
    VALIDATOR.validate(line)
    with pytest.raises(jsonschema.ValidationError, match="is not valid under any"):
        VALIDATOR.validate({**line, "no_such_field": 1})
    del line["time"]
    with pytest.raises(jsonschema.ValidationError, match="is not valid under any"):
        VALIDATOR.validate(line)


def test_the_first_line_is_valid():
    VALIDATOR.validate({"format": FORMAT})
