"""JSON texts that others may have written: a key that stands twice in an object is refused."""

import json
import re

from stackplan.engine.encoding import Malformed

BYTE_ORDER_MARK = "\ufeff"
_FORMAT = re.compile(r"stackplan\.[a-z]+/\d+")


def parse(text: str | bytes) -> object:
    """Return the data of a text. Raise ValueError or RecursionError for what is no JSON, or not one thing only."""
    return json.loads(text, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    # Which of the two is meant cannot be told, and every reader takes another one.
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise Malformed(f"the key {json.dumps(twice[:60])} stands twice in one object")
    return found


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
