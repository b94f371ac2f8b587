"""Reading answers: plain data of a known one, and the verdict on one that was not given."""

from collections.abc import Mapping

from stackplan.model.facts import Answer, Failed, Known, Plain, Unknown
from stackplan.model.matcher import Matcher
from stackplan.model.verdict import Verdict, unknown


def mapping(answer: Answer) -> Mapping[str, Plain] | None:
    """Return the mapping that a Known answer is, None for one that was not given."""
    if not isinstance(answer, Known):
        return None
    assert isinstance(answer.value, dict)
    return answer.value


def rows(value: Plain) -> tuple[Mapping[str, Plain], ...]:
    """Return a list of mappings."""
    assert isinstance(value, list)
    return tuple(item for item in value if isinstance(item, dict))


def unanswered(text: str, answer: Answer, *, expected: str | None = None) -> Verdict:
    """Return the verdict on a statement whose question was not answered, with the reason and the tool's last word."""
    assert isinstance(answer, (Unknown, Failed))
    why = answer.why
    if isinstance(answer, Failed) and answer.stderr.strip():
        last = answer.stderr.strip().splitlines()[-1].strip()
        why = why if last in why else f"{why}: {last[:300]}"
    return unknown(text, why=why, expected=expected)


def one_line(text: str, longest: int = 200) -> str:
    """Return `text` as it fits on a line: line breaks shown as `\\n`, cut with an ellipsis."""
    line = text.strip().replace("\r", "").replace("\n", "\\n")
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def matching(subject: str, matcher: Matcher) -> str:
    """Return in words that `subject` matches: `stdout is active`, `stdout contains 'active'`."""
    verb = matcher.equals is None and (matcher.contains is not None or matcher.matches is not None)
    return f"{subject} {matcher.text}" if verb else f"{subject} is {matcher.text or 'empty'}"


def listed(texts: list[str] | tuple[str, ...], shown: int = 5) -> str:
    """Return the first few of `texts` on one line, and how many more there are."""
    more = len(texts) - shown
    return "; ".join(texts[:shown]) + (f"; and {more} more" if more > 0 else "")
