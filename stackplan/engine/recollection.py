"""What was known before a step's action started, kept for a controller that comes later. Pure; nothing secret in it.

Answers are kept under the digests of their questions: whoever recalls them has the questions.
"""

import base64
import hashlib
import json
import zlib
from collections.abc import Collection
from dataclasses import replace

from stackplan.model.facts import Answer, Facts, Failed, Known, Origin, Query, Unknown, to_keep
from stackplan.model.secret import Redactor

_NOT_KEPT = Unknown("the journal does not tell how it was before the action")


def remember(facts: Facts, queries: Collection[Query], redactor: Redactor) -> str:
    """Return what `facts` answer to `queries`, as one text."""
    told = {
        _digest(query): redactor.plain(_plain(to_keep(facts.answers[query])))
        for query in queries
        # Of a question with a secret in it even the digest could be tried out.
        if query in facts.answers and not query.holds_secret
    }
    data = json.dumps(told, separators=(",", ":")).encode("ascii")
    return base64.b64encode(zlib.compress(data)).decode("ascii")


def recall(text: str | None, queries: Collection[Query], node: str) -> Facts:
    """Return the facts that a text keeps, as far as `queries` ask for them; what it does not tell is unknown."""
    told = _told(text or "")
    answers = {query: told.get(_digest(query), _NOT_KEPT) for query in queries}
    return Facts(node, Origin.RECORDED, "", answers)


def _told(text: str) -> dict[str, Answer]:
    try:
        found = json.loads(zlib.decompress(base64.b64decode(text, validate=True)))
        return {str(key): _answer(answer) for key, answer in found.items()}
    except (ValueError, TypeError, KeyError, AttributeError, zlib.error):
        return {}


def as_recalled(facts: Facts, redactor: Redactor) -> Facts:
    """Return facts of now with what is secret in them replaced as in those that were kept, to be compared with them."""
    return replace(facts, answers={query: _redacted(answer, redactor) for query, answer in facts.answers.items()})


def _redacted(answer: Answer, redactor: Redactor) -> Answer:
    return _answer(redactor.plain(_plain(to_keep(answer))))


def _digest(query: Query) -> str:
    return hashlib.sha256(query.key.encode("ascii")).hexdigest()[:20]


def _plain(answer: Answer) -> dict[str, object]:
    match answer:
        case Known(value):
            return {"known": value}
        case Unknown(why):
            return {"unknown": why}
        case Failed(why, stderr):
            return {"failed": why, "stderr": stderr}


def _answer(told: object) -> Answer:
    """Return the answer that was kept. Raise TypeError or KeyError for what is none."""
    if not isinstance(told, dict):
        raise TypeError("no answer")
    if "known" in told:
        return Known(told["known"])
    if "unknown" in told:
        return Unknown(str(told["unknown"]))
    return Failed(str(told["failed"]), str(told.get("stderr") or ""))
