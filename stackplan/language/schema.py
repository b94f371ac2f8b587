"""The JSON schemas: where they are, the playbook's composed from one fragment a kind, and all of them in one document.

A built-in kind's fragment is a file; that of a kind which another package brings along is an attribute of its class.
`python -m stackplan.language.schema` writes `schemas/playbook.v1.json` anew; adding a kind needs no other edit.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from stackplan.language.nearest import did_you_mean
from stackplan.language.shape import Compiler, Json
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.room import ACTIONS, CONDITIONS

ROOMS = {"conditions": CONDITIONS, "actions": ACTIONS}
_PACKAGE = Path(__file__).parent.parent
_VERSION = ".v1.json"


@cache
def folder() -> Path:
    """Return the folder of the schemas: inside the installed package, or beside it in a checkout."""
    installed = _PACKAGE / "schemas"
    return installed if installed.is_dir() else _PACKAGE.parent / "schemas"


def names() -> tuple[str, ...]:
    """Return the documents that there are: `inventory`, `playbook`, …"""
    return tuple(sorted(path.name.removesuffix(_VERSION) for path in folder().glob(f"*{_VERSION}")))


@cache
def kinds(room: str) -> tuple[str, ...]:
    """Return the words of the kinds of `conditions` or `actions`: the built-in ones and those of other packages."""
    return tuple(sorted({*builtin(room), *ROOMS[room].installed()}))


@cache
def builtin(room: str) -> tuple[str, ...]:
    """Return the words of the built-in kinds: there is one file for each."""
    return tuple(sorted(path.stem for path in (folder() / room).glob("*.json")))


def playbook_text() -> str:
    """Return what `schemas/playbook.v1.json` has to be, whatever other packages are installed."""
    document = composed(load(f"playbook{_VERSION}"), {room: builtin(room) for room in ROOMS})
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def composed(document: Json, words: Mapping[str, tuple[str, ...]]) -> Json:
    """Return the playbook's schema with one closed property for each of these kinds, by room, and none for others."""
    definitions = {**document["$defs"]}
    for name, room in (("condition", "conditions"), ("step", "actions")):
        fields = {
            key: value
            for key, value in definitions[name]["properties"].items()
            if not str(value.get("$ref", "")).startswith(f"{room}/")
        }
        references = {word: {"$ref": f"{room}/{word}.json"} for word in words[room]}
        definitions[name] = {**definitions[name], "properties": {**fields, **references}}
    return {**document, "$defs": definitions}


@cache
def load(name: str) -> Json:
    """Return one file of the schemas' folder, or the fragment of another package's kind. Raise Invalid without one."""
    room, _, file = name.partition("/")
    word = file.removesuffix(".json")
    if room in ROOMS and word not in builtin(room):
        return _installed(room, word)
    document: Json = json.loads((folder() / name).read_text("utf-8"))
    return document


def _installed(room: str, word: str) -> Json:
    try:
        kind = ROOMS[room].find(word)
    except Exception as error:
        summary = f"the kind `{word}`, which another package brings along, cannot be loaded"
        raise Invalid([Diagnosis(summary=summary, causes=(f"{type(error).__name__}: {error}",))]) from error
    fragment = getattr(kind, "schema", None)
    if not isinstance(fragment, Mapping):
        summary = f"the kind `{word}`, which another package brings along, does not describe its arguments"
        raise Invalid([Diagnosis(summary=summary, expected="a JSON schema in the attribute `schema` of its class")])
    return dict(fragment)


def bundled(name: str) -> Json:
    """Return one self-contained document: what it refers to in other files stands in its `$defs`.

    Raise Invalid when there is no schema of that name.
    """
    if name not in names():
        remedy = did_you_mean(name, names())
        raise Invalid([Diagnosis(summary=f"there is no schema `{name}`", expected=", ".join(names()), remedy=remedy)])
    document = load(f"{name}{_VERSION}")
    if name == "playbook":
        document = composed(document, {room: kinds(room) for room in ROOMS})
    return _bundled(document)


def _bundled(document: Json) -> Json:
    added: Json = {}

    def within(file: str) -> Callable[[str], str]:
        def moved(reference: str) -> str:
            target, _, pointer = reference.partition("#")
            path = _joined(file, target) if target else file
            if not path:
                return reference
            key = path.removesuffix(".json").replace("/", "_")
            if key not in added:
                added[key] = {}
                part = {word: value for word, value in load(path).items() if word != "$schema"}
                added[key] = _referred(part, within(path))
            return f"#/$defs/{key}{pointer}"

        return moved

    rewritten: Json = _referred(document, within(""))
    return {**rewritten, "$defs": {**rewritten.get("$defs", {}), **added}}


def _joined(file: str, target: str) -> str:
    parts: list[str] = list(PurePosixPath(file).parent.parts)
    for part in PurePosixPath(target).parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def _referred(value: Any, moved: Callable[[str], str]) -> Any:
    """Return a schema with every reference in it put through `moved`."""
    if isinstance(value, dict):
        return {
            key: moved(item) if key == "$ref" and isinstance(item, str) else _referred(item, moved)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_referred(item, moved) for item in value]
    return value


@cache
def compiler(name: str) -> Compiler:
    """Return the compiled document of a name, made once.

    What reading says in better words of its own is taken out of a step: which fields it lacks.
    """
    document = bundled(name)
    if name == "playbook":
        step = {key: value for key, value in document["$defs"]["step"].items() if key != "required"}
        properties = {**step["properties"]}
        properties["postconditions"] = {**properties["postconditions"], "minItems": 0}
        document = {**document, "$defs": {**document["$defs"], "step": {**step, "properties": properties}}}
    return Compiler(document)


if __name__ == "__main__":
    (folder() / f"playbook{_VERSION}").write_text(playbook_text(), "utf-8")
