"""`# stackplan: ignore[SP101, SP104] reason`: which findings a comment answers, and which comments are none of this."""

from bisect import bisect_right
from collections.abc import Iterator

from stackplan.language import tree
from stackplan.language.lint._rule import Finding, Rule
from stackplan.language.lint._script import Script
from stackplan.language.lint._subject import Looked, Subject
from stackplan.language.tree import Comment
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location
from stackplan.model.playbook import Playbook
from stackplan.model.regular import regular

_MARK = regular(r"stackplan:\s*ignore\b")
_FORM = regular(r"stackplan:\s*ignore\[(?P<codes>[^\]]*)\]\s*(?P<reason>.*)")
_BEHIND = regular(r"[\s#;,|](?=stackplan:\s{0,8}ignore\[[^\]]{0,200}\])")
"""Where a mark may begin behind another comment: `# noqa; stackplan: ignore[…]`. One in quotes is talked about."""
_HASH = regular(r"(?:^|(?<=[\s;&|()]))#")
_GOES_ON = ("\\", "|", "&&")
_WORD = regular(r"\w\w")


@dataclass(frozen=True, slots=True)
class Ignore:
    """A comment that answers findings: those of `step`, or without one those that stand on its `lines`.

    `codes` are as written, in capitals; empty when the comment has not the form that is read. One in a script is
    `narrow`: it answers those of its lines alone.
    """

    codes: tuple[str, ...]
    reason: str
    at: Location
    step: str | None
    lines: range
    narrow: bool = False

    @property
    def reasoned(self) -> bool:
        return _WORD.search(self.reason) is not None

    def answers(self, finding: Finding, code: str) -> bool:
        if code not in self.codes or not self.reasoned:
            return False
        if not self.narrow and self.step is not None and finding.step == self.step:
            return True
        return finding.at.path == self.at.path and finding.at.line in self.lines


class Ignores:
    """All comments of a playbook that want to answer a finding, to be asked which one does."""

    def __init__(self, subject: Subject) -> None:
        self.all = read(subject)
        self._by_step: dict[str, list[Ignore]] = {}
        self._by_line: dict[tuple[str, int], list[Ignore]] = {}
        for it in self.all:
            if it.step is not None and not it.narrow:
                self._by_step.setdefault(it.step, []).append(it)
            for line in it.lines:
                self._by_line.setdefault((it.at.path, line), []).append(it)

    def answer(self, finding: Finding, rule: Rule) -> Ignore | None:
        """Return the comment that answers a finding of a rule; one in a script before one at the step."""
        on_line = self._by_line.get((finding.at.path, finding.at.line), ())
        at_step = self._by_step.get(finding.step, ()) if finding.step is not None else ()
        return next((it for it in (*on_line, *at_step) if it.answers(finding, rule.code)), None)


def read(subject: Subject) -> tuple[Ignore, ...]:
    """Return the comments of a playbook's files and scripts that want to answer a finding, the narrow ones first."""
    return (*(it for step in subject.steps for it in _of_script(step, subject)), *_of_files(subject.written))


def _of_files(playbook: Playbook) -> Iterator[Ignore]:
    for path, lines in playbook.sources.items():
        if any("stackplan:" in line and _MARK.search(line) for line in lines):
            comments = tree.comments(lines, path)
            starts = sorted((it.at.line, str(it.id)) for it in playbook.steps if it.at.path == path)
            alone = {it.at.line for it in comments if it.alone}
            for it in comments:
                if (mark := _mark(it.text)) is not None:
                    yield _ignore(it, mark, starts, alone)


def _mark(comment: str) -> str | None:
    """Return a comment from its mark on; None of one that has none."""
    if _MARK.match(comment):
        return comment
    behind = _BEHIND.search(comment)
    return None if behind is None else comment[behind.end() :]


def _ignore(comment: Comment, mark: str, starts: list[tuple[int, str]], alone: set[int]) -> Ignore:
    below = comment.at.line
    while comment.alone and below in alone:
        below += 1
    # A comment right above a step belongs to that step, and not to the one before.
    step = next((id_ for line, id_ in starts if line == below), None) if comment.alone else None
    step = step or next((id_ for line, id_ in reversed(starts) if line <= comment.at.line), None)
    return Ignore(*_read(mark), comment.at, step, range(comment.at.line, below + 1))


def _read(mark: str) -> tuple[tuple[str, ...], str]:
    """Return the codes that a mark names, and its reason."""
    match = _FORM.match(mark)
    codes = tuple(it.strip().upper() for it in match["codes"].split(",") if it.strip()) if match else ()
    return codes, match["reason"].strip() if match else ""


def _of_script(step: Looked, subject: Subject) -> Iterator[Ignore]:
    """Yield what comments of the shell in a script want to answer; what a here-document brings elsewhere is none."""
    if step.script is None or "script" not in step.arguments or "stackplan:" not in step.script.text:
        return
    elsewhere = _heredocs(step.script)
    for offset, mark in _marks(step.script.text):
        at = step.script.place_at(offset)
        lines = subject.sources.get(at.path, ())
        if at.line <= len(lines) and not _within(elsewhere, offset):
            yield Ignore(*_read(mark), at, step.id, _around(lines, at), narrow=True)


def _marks(script: str) -> Iterator[tuple[int, str]]:
    """Yield the comments of a script that have a mark, from it on, each with the offset of its `#`."""
    start = 0
    for line in script.splitlines(keepends=True):
        if "stackplan:" in line and (found := _HASH.search(line)) and (mark := _mark(line[found.end() :].strip())):
            yield start + found.start(), mark
        start += len(line)


def _heredocs(script: Script) -> list[tuple[int, int]]:
    texts = [it.stdin for it in script.commands if it.stdin is not None and not it.handed]
    return sorted((start, start + len(text)) for text, start in texts if start is not None)


def _within(spans: list[tuple[int, int]], offset: int) -> bool:
    at = bisect_right(spans, offset, key=lambda span: span[0]) - 1
    return at >= 0 and offset < spans[at][1]


def _around(lines: tuple[str, ...], at: Location) -> range:
    """Return the lines of the command that a comment in a script stands behind, or above."""
    first = last = at.line
    if lines[at.line - 1].lstrip().startswith("#"):
        while last < len(lines) and lines[last - 1].lstrip().startswith("#"):
            last += 1
        while last < len(lines) and lines[last - 1].rstrip().endswith(_GOES_ON):
            last += 1
    else:
        while first > 1 and lines[first - 2].rstrip().endswith(_GOES_ON):
            first -= 1
    return range(first, last + 1)
