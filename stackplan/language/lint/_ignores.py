"""`# stackplan: ignore[SP101, SP104] reason`: which findings a comment answers, and which comments are none of this."""

import re
from dataclasses import dataclass

from stackplan.language import tree
from stackplan.language.tree import Comment
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.location import Location
from stackplan.model.playbook import Playbook

_MARK = re.compile(r"stackplan:\s*ignore\b")
_FORM = re.compile(r"stackplan:\s*ignore\[(?P<codes>[^\]]*)\]\s*(?P<reason>.*)")
_WORD = re.compile(r"\w\w")


@dataclass(frozen=True, slots=True)
class Ignore:
    """A comment that answers findings: those of `step`, or without one those that stand on its `lines`.

    `codes` are as written, in capitals; empty when the comment has not the form that is read.
    """

    codes: tuple[str, ...]
    reason: str
    at: Location
    step: str | None
    lines: range

    @property
    def reasoned(self) -> bool:
        return _WORD.search(self.reason) is not None

    def answers(self, diagnosis: Diagnosis) -> bool:
        if diagnosis.code not in self.codes or not self.reasoned:
            return False
        at = diagnosis.at
        if self.step is not None and diagnosis.step == self.step:
            return True
        return at is not None and at.path == self.at.path and at.line in self.lines


def read(playbook: Playbook) -> tuple[Ignore, ...]:
    """Return the comments of all files of a playbook that want to answer a finding."""
    found = []
    for path, lines in playbook.sources.items():
        if any(_MARK.search(line) for line in lines):
            comments = tree.comments(lines, path)
            starts = sorted((it.at.line, str(it.id)) for it in playbook.steps if it.at.path == path)
            alone = {it.at.line for it in comments if it.alone}
            found += [_ignore(it, starts, alone) for it in comments if _MARK.match(it.text)]
    return tuple(found)


def _ignore(comment: Comment, starts: list[tuple[int, str]], alone: set[int]) -> Ignore:
    below = comment.at.line
    while comment.alone and below in alone:
        below += 1
    # A comment right above a step belongs to that step, and not to the one before.
    step = next((id_ for line, id_ in starts if line == below), None) if comment.alone else None
    step = step or next((id_ for line, id_ in reversed(starts) if line <= comment.at.line), None)
    match = _FORM.match(comment.text)
    codes = tuple(it.strip().upper() for it in match["codes"].split(",") if it.strip()) if match else ()
    reason = match["reason"].strip() if match else ""
    return Ignore(codes, reason, comment.at, step, range(comment.at.line, below + 1))
