"""What the YAML parser complains about, in words that say what to mend."""

import re
from typing import Any

import yaml

from stackplan.language import source
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location


@dataclass(frozen=True, slots=True)
class _Wording:
    """For the parser's complaints that match: what to say instead; `opened` points at where the broken part begins."""

    pattern: str
    summary: str
    remedy: str | None = None
    opened: bool = False


_WORDINGS = (
    _Wording(
        "mapping values are not allowed",
        "a colon followed by a space cannot stand inside a text without quotes",
        "put the text in quotes, or mend the indentation",
    ),
    _Wording("could not find expected ':'", "this is a key without a colon", "write `key: value`"),
    _Wording("unexpected end of stream", "a quote that is opened here is never closed", "close it", opened=True),
    _Wording(
        r"did not find expected ',' or",
        "a bracket that is opened here is not closed, or a comma is missing",
        opened=True,
    ),
    _Wording(
        "did not find expected key|block end",
        "this does not fit the mapping that it stands in",
        "give it its neighbours' indentation; a text that begins with a quote or bracket goes into quotes as a whole",
    ),
    _Wording(
        "did not find expected '-' indicator",
        "this does not fit the list that it stands in",
        "give it the indentation of the other items",
    ),
    _Wording("did not find expected node content", "a value is missing here"),
    _Wording("nesting depth", "lists and mappings are nested too deeply here"),
)


def worded(error: yaml.MarkedYAMLError, text: str, path: str) -> Diagnosis:
    """Return the parser's complaint in words that say what to mend."""
    at = marked(error.problem_mark or error.context_mark, path)
    problem = str(error.problem or error.context or "no reason given")
    character = _character(text, at)
    if character == "\t":
        return Diagnosis(summary="a tab stands here", expected="spaces", at=at, remedy="indent with spaces")
    if character == ":" and "did not find expected key" in problem:
        return Diagnosis(summary="a key is missing before this colon", at=at)
    if "cannot start any token" in problem and character:
        summary = f"a text cannot begin with `{character}`"
        return Diagnosis(summary=summary, at=at, remedy="put the text in quotes")
    wording = next((it for it in _WORDINGS if re.search(it.pattern, problem)), None)
    if wording is None:
        return Diagnosis(summary=f"this is not YAML: {problem}", at=at, causes=_context(error))
    if wording.opened and error.context_mark is not None:
        return Diagnosis(summary=wording.summary, at=marked(error.context_mark, path), remedy=wording.remedy)
    return Diagnosis(summary=wording.summary, at=at, causes=_context(error), remedy=wording.remedy)


def marked(mark: Any, path: str) -> Location:
    """Return the location of one of the parser's marks, which count from 0."""
    return Location(path, mark.line + 1, mark.column + 1) if mark is not None else Location(path, 1, 1)


def _context(error: yaml.MarkedYAMLError) -> tuple[str, ...]:
    if error.context is None or error.context_mark is None:
        return ()
    return (f"{error.context}, which began at {error.context_mark.line + 1}:{error.context_mark.column + 1}",)


def _character(text: str, at: Location) -> str:
    found = source.lines(text)
    line = found[at.line - 1] if at.line <= len(found) else ""
    return line[at.column - 1 : at.column]
