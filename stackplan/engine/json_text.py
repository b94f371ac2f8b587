"""JSON texts that others may have written: a key that stands twice in an object is refused."""

import json
from collections import deque
from dataclasses import field

from stackplan.engine.encoding import Malformed
from stackplan.model.frozen import dataclass
from stackplan.model.regular import regular

BYTE_ORDER_MARK = "\ufeff"
_FORMAT = regular(r"stackplan\.[a-z]+/\d+")


def parse(text: str | bytes) -> object:
    """Return the data of a text. Raise ValueError or RecursionError for what is no JSON, or not one thing only."""
    return json.loads(text, object_pairs_hook=_object)


def fault(error: Exception) -> str:
    """Return in words of ours why a text could not be read: what Python says of it is advice to who programs in it."""
    match error:
        case json.JSONDecodeError():
            return f"it ends early or is damaged at line {error.lineno}, column {error.colno}"
        case Malformed():
            return str(error)
        case RecursionError():
            return "it is nested too deeply"
        case UnicodeDecodeError():
            return f"it is not UTF-8 from byte {error.start} on"
    return "a number in it has thousands of digits" if "digits" in str(error) else "it cannot be read"


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    # Which of the two is meant cannot be told, and every reader takes another one.
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise Malformed(f"the key {json.dumps(twice[:60])} stands twice in one object")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_object)
_SPACE = regular(r"[ \t\n\r]*")
_KEPT = 4


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads texts that resemble one another, of which most is read once.

    An object in a list of the outermost object is the very same one as that which stood there, word for word, in one of
    the last texts. Nobody may change what is returned.
    """

    _lists: dict[str, list[deque[tuple[str, object]]]] = field(default_factory=dict)
    """By key, for each place in the list, the last texts that stood there and their data."""

    def parse(self, text: bytes) -> object:
        """Return the data of a text. Raise ValueError or RecursionError as `parse` does."""
        try:
            return self._outermost(text.decode("utf-8"))
        except (ValueError, StopIteration, RecursionError):
            # Whatever else it is, and the words for what is wrong with it.
            return parse(text)

    def _outermost(self, text: str) -> object:
        """Return the object that a text is. Raise ValueError or StopIteration for anything else."""
        pairs: list[tuple[str, object]] = []
        at = _after("{", text, 0)
        while True:
            # What does not begin like a text is no key.
            key, at = _scanned(text, _after('"', text, at) - 1)
            at = _beyond(text, _after(":", text, at))
            value, at = self._list(str(key), text, at) if text.startswith("[", at) else _scanned(text, at)
            pairs.append((str(key), value))
            at = _beyond(text, at)
            if not text.startswith(",", at):
                break
            at += 1
        if _beyond(text, _after("}", text, at)) != len(text):
            raise ValueError("more than one thing")
        return _object(pairs)

    def _list(self, key: str, text: str, at: int) -> tuple[list[object], int]:
        """Return the list at `at` and where it ends."""
        places = self._lists.setdefault(key, [])
        found: list[object] = []
        at = _beyond(text, at + 1)
        if text.startswith("]", at):
            return found, at + 1
        while True:
            if len(found) == len(places):
                places.append(deque(maxlen=_KEPT))
            item, at = _item(places[len(found)], text, _beyond(text, at))
            found.append(item)
            at = _beyond(text, at)
            if not text.startswith(",", at):
                return found, _after("]", text, at)
            at += 1


def _item(known: deque[tuple[str, object]], text: str, at: int) -> tuple[object, int]:
    """Return the value at `at` and where it ends; keep it among those that are known."""
    # An object ends with its brace, whatever follows it; a number that is known may go on here.
    if text.startswith("{", at):
        for said, item in known:
            if text.startswith(said, at):
                return item, at + len(said)
    item, end = _DECODER.raw_decode(text, at)
    known.appendleft((text[at:end], item))
    return item, end


def _beyond(text: str, at: int) -> int:
    """Return where the white space ends that begins at `at`."""
    space = _SPACE.match(text, at)
    assert space is not None
    return space.end()


def _after(mark: str, text: str, at: int) -> int:
    """Return the place behind a mark that may stand behind white space. Raise ValueError."""
    at = _beyond(text, at)
    if not text.startswith(mark, at):
        raise ValueError(f"no {mark}")
    return at + 1


def _scanned(text: str, at: int) -> tuple[object, int]:
    """Return the value that begins at `at`, or behind the white space there, and where it ends."""
    value, end = _DECODER.raw_decode(text, _beyond(text, at))
    return value, end


def format_of(text: str) -> str | None:
    """Return the format that a document of stackplan names, such as `stackplan.facts/1`; None for any other text."""
    if not text.removeprefix(BYTE_ORDER_MARK).lstrip().startswith("{"):
        return None
    try:
        document = json.loads(text.removeprefix(BYTE_ORDER_MARK))
    except (ValueError, RecursionError):
        return None
    found = document.get("format") if isinstance(document, dict) else None
    return found if isinstance(found, str) and _FORMAT.fullmatch(found) else None
