"""Conventions are tests: a kind has every sibling that it needs, and the rooms have no room for odds and ends."""

import importlib
import json
from pathlib import Path

import jsonschema
import pytest
import referencing
import referencing.jsonschema

from stackplan.model.kind import ActionKind, ConditionKind
from stackplan.model.room import ACTIONS, CONDITIONS

ROOT = Path(__file__).parents[2]
CONDITION_WORDS = CONDITIONS.builtin()
ACTION_WORDS = ACTIONS.builtin()
FRAGMENTS = [
    *(("conditions", word) for word in CONDITION_WORDS),
    *(("actions", word) for word in ACTION_WORDS),
]
VAGUE = {"util", "utils", "helper", "helpers", "common", "manager", "misc", "base"}


def fragment(folder: str, word: str) -> dict[str, object]:
    return json.loads((ROOT / "schemas" / folder / f"{word}.json").read_text("utf-8"))


def validator(folder: str, word: str) -> jsonschema.Draft202012Validator:
    def retrieve(uri: str) -> referencing.Resource:
        return referencing.jsonschema.DRAFT202012.create_resource(
            json.loads(Path(uri.removeprefix("file://")).read_text())
        )

    registry = referencing.Registry(retrieve=retrieve)
    where = (ROOT / "schemas" / folder / f"{word}.json").as_uri()
    return jsonschema.Draft202012Validator({"$ref": where}, registry=registry)


def test_every_kind_of_the_issue_is_there():
    assert {"package", "torch", "gpu", "nvcc", "command", "file", "disk", "os"} <= set(CONDITION_WORDS)
    assert {"python_packages", "cuda_toolkit", "run", "file", "symlink", "download", "checkpoint"} <= set(ACTION_WORDS)


@pytest.mark.parametrize("word", CONDITION_WORDS)
def test_condition_kind_is_whole(word):
    kind = CONDITIONS.find(word)
    assert issubclass(kind, ConditionKind)
    assert kind.__doc__
    assert kind.__module__ == f"stackplan.conditions.{word}"
    assert list((ROOT / "tests" / "facts" / word).glob("*.json")), "no recorded cases"
    assert (ROOT / "tests" / "conditions" / f"test_{word}.py").exists() or (ROOT / "tests" / "facts" / word).is_dir()


@pytest.mark.parametrize("word", ACTION_WORDS)
def test_action_kind_is_whole(word):
    kind = ACTIONS.find(word)
    assert issubclass(kind, ActionKind)
    assert kind.__doc__
    assert kind.__module__ == f"stackplan.actions.{word}"
    assert (ROOT / "tests" / "actions" / f"test_{word}.py").exists()


@pytest.mark.parametrize(("folder", "word"), FRAGMENTS)
def test_fragment_is_described_closed_and_its_examples_are_valid(folder, word):
    schema = fragment(folder, word)
    assert schema["description"]
    assert schema["additionalProperties"] is False
    assert schema["examples"]
    for name, about in schema.get("properties", {}).items():
        assert about.get("description"), f"{word}.{name} is not described"
    check = validator(folder, word)
    for example in schema["examples"]:
        check.validate(example)


@pytest.mark.parametrize(("folder", "word"), FRAGMENTS)
def test_fragment_refuses_an_unknown_argument(folder, word):
    example = dict(fragment(folder, word)["examples"][0])
    with pytest.raises(jsonschema.ValidationError, match="no_such_argument"):
        validator(folder, word).validate({**example, "no_such_argument": "x"})


@pytest.mark.parametrize("folder", ["conditions", "actions"])
def test_no_fragment_is_orphaned(folder):
    words = CONDITION_WORDS if folder == "conditions" else ACTION_WORDS
    assert {path.stem for path in (ROOT / "schemas" / folder).glob("*.json")} == set(words)


def test_no_module_is_named_for_odds_and_ends():
    named = {path.stem.strip("_") for path in (ROOT / "stackplan").rglob("*.py")}
    assert not named & VAGUE


def test_every_room_says_what_it_is():
    for path in (ROOT / "stackplan").rglob("*.py"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if module == "stackplan.__main__":
            continue
        assert importlib.import_module(module).__doc__, f"{module} has no docstring"
