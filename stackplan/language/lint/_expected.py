r"""Passwords that a script for expect types where it is asked for one: `expect "assword:"; send "X\r"`."""

import re
from collections.abc import Iterator
from itertools import pairwise

from stackplan.language.lint._tree import Command
from stackplan.language.secret_name import in_clear
from stackplan.model.regular import regular

_SEND = regular(
    r"\bsend\s+(?:-h\s+)?(?:--\s+)?(?:\"(?P<quoted>(?:[^\"\\]|\\.)*)\"|\{(?P<braced>[^{}]*)\}|(?P<bare>[^\s;\"{}]+))"
)
_WAIT = regular(r"\bexpect\b")
_ASKED = regular(r"assw|assphr|asscode|ecret|\bPIN\b|[Tt]oken")
_SHORTEST = 4
"""What is typed may also be a `yes`."""


def typed(command: Command) -> Iterator[str]:
    """Yield the secrets that a command's own script types in clear."""
    if command.program == "expect":
        for text in _scripts(command):
            if "send" in text:
                yield from _answers(text)


def _scripts(command: Command) -> Iterator[str]:
    yield from (text for option, text in pairwise(command.words) if option == "-c")
    if command.stdin is not None:
        yield command.stdin[0]


def _answers(text: str) -> Iterator[str]:
    before = 0
    for match in _SEND.finditer(text):
        asked = _WAIT.split(text[before : match.start()])[-1]
        told = next(it for it in match.group("quoted", "braced", "bare") if it is not None)
        secret = re.split(r"\\[rn]", told)[0]
        if _ASKED.search(asked) and in_clear(secret, shortest=_SHORTEST):
            yield secret
        before = match.end()
