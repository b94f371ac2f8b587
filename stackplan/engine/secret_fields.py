"""Reading arguments so that every field is told that may not hold a secret: a kind stops at the first. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol, TypeVar

from stackplan.model.arguments import Arguments, Path, Value
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.location import Location
from stackplan.model.secret import MASK, Secret

Kind_co = TypeVar("Kind_co", covariant=True)
_SENTENCE = "may not hold a secret"


class Readable(Protocol[Kind_co]):
    """A class of kinds: it reads arguments."""

    def read(self, arguments: Arguments) -> Kind_co: ...


def read(kind: Readable[Kind_co], arguments: Arguments) -> Kind_co:
    """Return the kind that read the arguments. Raise Invalid with what is wrong, all misplaced secrets at once."""
    try:
        return kind.read(arguments)
    except Invalid as error:
        raise Invalid([*error.diagnoses, *_others(kind, arguments, error)]) from error


def _others(kind: Readable[object], arguments: Arguments, error: Invalid) -> list[Diagnosis]:
    """Return what is found when each secret that was complained of stands there as plain text."""
    found: list[Diagnosis] = []
    complaints = _complaints(error)
    while complaints:
        found += complaints
        plainer = replace(arguments, values=_without(arguments, {it.at for it in complaints if it.at is not None}))
        if plainer.values == arguments.values:
            break
        arguments, complaints = plainer, []
        try:
            kind.read(arguments)
        except Invalid as another:
            complaints = _complaints(another)
    return found


def _complaints(error: Invalid) -> list[Diagnosis]:
    return [it for it in error.diagnoses if _SENTENCE in it.summary]


def _without(arguments: Arguments, places: set[Location]) -> Mapping[str, Value]:
    return {key: _plain(value, (key,), arguments, places) for key, value in arguments.values.items()}


def _plain(value: Value, path: Path, arguments: Arguments, places: set[Location]) -> Value:
    if isinstance(value, Secret):
        return MASK if arguments.place(*path) in places else value
    if isinstance(value, Mapping):
        return {key: _plain(item, (*path, key), arguments, places) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(_plain(item, (*path, index), arguments, places) for index, item in enumerate(value))
    return value
