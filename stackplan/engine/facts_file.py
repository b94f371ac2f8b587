"""Recorded facts: one JSON file a node (schemas/facts.v1.json), readable by its owner alone, without secrets."""

import json
import os
import tempfile
import urllib.parse
from collections.abc import Collection, Mapping
from dataclasses import field
from datetime import datetime
from pathlib import Path
from typing import Any

from stackplan.engine.encoding import Malformed
from stackplan.engine.state_folder import private_folder
from stackplan.model.arguments import Value, holds_secret
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.facts import Answer, Facts, Failed, Known, Origin, Plain, Query, Unknown, to_keep
from stackplan.model.frozen import dataclass
from stackplan.model.regular import regular
from stackplan.model.same import Same
from stackplan.model.secret import Redactor

FORMAT = "stackplan.facts/1"
_DIGEST = regular(r"[0-9a-f]{64}")
_NOT_RECORDED = Unknown("it is not among the recorded facts; record them again with `stackplan facts`")
_SECRET = Unknown("the question holds a secret, and such are not recorded")


def recorded_answers(facts: Facts, queries: Collection[Query]) -> dict[Query, Answer]:
    """Return an answer to each query; what was not recorded is unknown, and says so."""
    return {query: facts.answers.get(query) or _not_recorded(query) for query in queries}


def _not_recorded(query: Query) -> Unknown:
    return _SECRET if holds_secret(query.arguments) else _NOT_RECORDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What a file of facts says of how it came about, for notes: the version of stackplan and the playbook's digest.

    None where the file does not say it.
    """

    stackplan: str | None = None
    playbook: str | None = None


def encode(facts: Facts, redactor: Redactor, recording: Recording | None = None) -> dict[str, object]:
    """Return facts as JSON data. A question with a secret in it is left out: even its digest could be guessed."""
    answers = [
        {
            "query": {"kind": query.kind, "arguments": _plain(query.arguments), "user": query.user},
            "answer": redactor.plain(_encode_answer(to_keep(answer))),
        }
        for query, answer in facts.answers.items()
        if not holds_secret(query.arguments)
    ]
    about = {"stackplan": recording.stackplan, "playbook_sha256": recording.playbook} if recording is not None else {}
    return {"format": FORMAT, "node": facts.node, "taken": facts.taken, **about, "answers": answers}


def _plain(value: Value) -> object:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _encode_answer(answer: Answer) -> dict[str, Plain]:
    match answer:
        case Known(value):
            return {"known": value}
        case Unknown(why):
            return {"unknown": why}
        case Failed(why, stderr):
            return {"failed": why, "stderr": stderr}


@dataclass(frozen=True, slots=True)
class Reading:
    """Questions and answers of a folder: the same ones of several nodes are the same objects, read and kept once.

    Whatever is worked out from an answer then holds for every node that gave it. Where answers differ, in the path of a
    folder say, they share the lists and mappings in which they do not: what is installed there, above all.
    """

    queries: dict[str, Query] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    parts: dict[str, Plain] = field(default_factory=dict)
    rows: dict[Same[object], tuple[Query, Answer]] = field(default_factory=dict)

    def row(self, row: object) -> tuple[Query, Answer]:
        """Return the question and the answer of an entry of `answers`. Raise Malformed."""
        same = Same(row)
        if (found := self.rows.get(same)) is None:
            found = self.rows[same] = self._row(row)
        return found

    def _row(self, row: object) -> tuple[Query, Answer]:
        asked = row.get("query") if isinstance(row, dict) else None
        if not isinstance(row, dict) or not isinstance(asked, dict):
            raise Malformed("an entry of `answers` has no `query`")
        # The text tells apart what Python calls equal: 1, 1.0 and True.
        text = repr(asked)
        if (query := self.queries.get(text)) is None:
            query = self.queries[text] = _decode_query(asked)
        told, text = self._shared(row.get("answer"))
        if (answer := self.answers.get(text)) is None:
            answer = self.answers[text] = _decode_answer(told)
        return query, answer

    def _shared(self, told: object) -> tuple[object, str]:
        """Return an answer made of parts that are kept once, and a text that only such an answer has."""
        if not isinstance(told, dict) or not isinstance(known := told.get("known"), dict):
            return told, repr(told)
        parts = {key: self._part(it) if isinstance(it, (dict, list)) else it for key, it in known.items()}
        # A tuple stands nowhere in JSON data.
        marks = {key: (id(it),) if isinstance(it, (dict, list)) else it for key, it in parts.items()}
        return {**told, "known": parts}, repr({**told, "known": marks})

    def _part(self, value: Plain) -> Plain:
        return self.parts.setdefault(repr(value), value)


def decode(data: object, reading: Reading | None = None) -> Facts:
    """Return the facts of JSON data; nodes of one `reading` share what is the same.

    Raise Malformed, saying what is missing, for what is none.
    """
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise Malformed(f"the format is not {FORMAT}")
    node, taken, rows = data.get("node"), data.get("taken"), data.get("answers")
    if not isinstance(node, str) or not isinstance(taken, str) or not isinstance(rows, list):
        raise Malformed("`node`, `taken` or `answers` is missing")
    return Facts(node, Origin.RECORDED, taken, dict(map((reading or Reading()).row, rows)))


def _decode_query(query: dict[str, Any]) -> Query:
    kind, arguments, user = query.get("kind"), query.get("arguments"), query.get("user")
    if not isinstance(kind, str) or not isinstance(arguments, dict) or not (user is None or isinstance(user, str)):
        raise Malformed("a `query` needs `kind`, `arguments` and `user`")
    return Query(kind, arguments, user)


def _decode_answer(data: object) -> Answer:
    if isinstance(data, dict) and "known" in data:
        return Known(data["known"])
    if isinstance(data, dict) and isinstance(data.get("unknown"), str):
        return Unknown(data["unknown"])
    if isinstance(data, dict) and isinstance(data.get("failed"), str):
        return Failed(data["failed"], str(data.get("stderr", "")))
    raise Malformed("an `answer` is neither known, unknown nor failed")


def recording_of(data: object) -> Recording:
    """Return what JSON data of facts say of how they came about. Raise Malformed for what says something else."""
    found = data if isinstance(data, dict) else {}
    version, playbook, taken = (found.get(key) for key in ("stackplan", "playbook_sha256", "taken"))
    if not (version is None or (isinstance(version, str) and version.strip())):
        raise Malformed("`stackplan` is no version")
    if not (playbook is None or (isinstance(playbook, str) and _DIGEST.fullmatch(playbook))):
        raise Malformed("`playbook_sha256` is no digest: 64 hexadecimal digits")
    if not (isinstance(taken, str) and _is_time(taken)):
        raise Malformed("`taken` is no time, such as 2026-12-01T08:30:00Z")
    return Recording(stackplan=version, playbook=playbook)


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def file_name(node: str) -> str:
    """Return what the file of a node's facts is called."""
    # Quoted, because a node may be called `ops@10.0.4.2:22` or worse.
    return f"{urllib.parse.quote(node, safe='@:')}.json"


def write(folder: Path, facts: Facts, redactor: Redactor, recording: Recording | None = None) -> Path:
    """Write the facts of a node into `folder`, in place of what was there, whole or not at all. Raise Invalid."""
    private_folder(folder)
    path = folder / file_name(facts.node)
    text = json.dumps(encode(facts, redactor, recording), indent=2, sort_keys=True) + "\n"
    try:
        descriptor, beside = tempfile.mkstemp(dir=folder, prefix=".facts-")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(beside, path)  # noqa: PTH105 - `beside` is a text
        except BaseException:
            os.unlink(beside)  # noqa: PTH108 - as above
            raise
    except OSError as error:
        summary = f"cannot write {path}"
        raise Invalid([Diagnosis(summary=summary, observed=error.strerror or str(error))]) from error
    return path


def _bytes(path: Path) -> bytes:
    # A pipe would be waited for, a device has no end.
    if path.exists() and not path.is_file():
        raise ValueError("this is no regular file")
    return path.read_bytes()
