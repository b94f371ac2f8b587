"""The marks of a shell text: blanks, comments, operators, reserved words, and where a bracket closes."""

import re
from dataclasses import field

from stackplan.model.frozen import dataclass
from stackplan.model.regular import regular

_BLANKS = regular(r"(?:[ \t\r]|\\\n)*")
_OPERATOR = regular(r";;&|&&|\|\||;;|;&|\|&|[|;&\n()]")
_REDIRECTIONS = regular(r"(?:\d*|&|\{\w+\})(?:>>|>\||>&|<&|<>|>|<<<|<<-|<<|<)|&>>|&>")
_RESERVED = regular(
    r"(?:if|then|elif|else|fi|while|until|for|select|do|done|case|esac|function|time|\{|\}|!|\[\[)(?=[\s;&|()<>]|$)"
)

_OF_BLANKS = " \t\r\\#"
_OF_OPERATORS = ";&|\n()"
_OF_RESERVED = "itefwusdc{}!["
"""With what each of these begins: nearly everything else is told by its first character."""


@dataclass
class Scanner:
    """A place in a text; `before` is the operator that was taken last."""

    text: str
    at: int = field(default=0, init=False)
    before: str = field(default="", init=False)
    behind_heredocs: int | None = field(default=None, init=False)

    def blanks(self) -> None:
        """Pass over blanks, comments, and line ends behind a backslash."""
        if self.text[self.at : self.at + 1] not in _OF_BLANKS:
            return
        while match := _BLANKS.match(self.text, self.at):
            self.at = match.end()
            if not self.text.startswith("#", self.at) or (self.at and self.text[self.at - 1] not in " \t\n;&|()"):
                return
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end

    def skip(self, *, newlines_only: bool = False) -> None:
        """Pass over line ends, and over `;` and `&` that stand behind a chain."""
        while True:
            self.blanks()
            operator = self.operator_ahead()
            if operator != "\n" and (newlines_only or operator not in (";", "&")):
                return
            before = self.before
            self.take(operator)
            if newlines_only:
                self.before = before

    def take(self, operator: str) -> None:
        self.at += len(operator)
        self.before = operator
        if operator == "\n" and self.behind_heredocs is not None:
            self.at, self.behind_heredocs = max(self.at, self.behind_heredocs), None

    def operator_ahead(self) -> str:
        if self.text[self.at : self.at + 1] not in _OF_OPERATORS:
            return ""
        match = _OPERATOR.match(self.text, self.at)
        return match[0] if match else ""

    def word_ahead(self) -> str:
        if self.text[self.at : self.at + 1] not in _OF_RESERVED:
            return ""
        match = _RESERVED.match(self.text, self.at)
        return match[0] if match else ""

    def redirection(self) -> re.Match[str] | None:
        if self.at >= len(self.text) or self.text[self.at] not in "<>&0123456789{":
            return None
        return None if self.text.startswith(("<(", ">("), self.at) else _REDIRECTIONS.match(self.text, self.at)

    def closing(self, start: int, opening: str) -> int:
        """Return the offset behind the end of a substitution; the text's end where it has none."""
        if opening == "`":
            end = self.text.find("`", start + 1)
            return len(self.text) if end < 0 else end + 1
        pair = "{}" if opening == "${" else "()"
        depth, at, quote = 0, start, ""
        while at < len(self.text):
            char = self.text[at]
            if char == "\\":
                at += 1
            elif quote:
                quote = "" if char == quote else quote
            elif char in "'\"":
                quote = char
            elif char in pair:
                depth += 1 if char == pair[0] else -1
                if depth == 0:
                    return at + 1
            at += 1
        return len(self.text)
