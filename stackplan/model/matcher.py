"""Matchers: what a value that was read has to look like."""

import re
from decimal import Decimal

from stackplan.model.arguments import Arguments
from stackplan.model.frozen import dataclass
from stackplan.model.pep440 import InvalidSpecifier, InvalidVersion, SpecifierSet, Version
from stackplan.model.runaway import may_run_away
from stackplan.model.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Matcher:
    """All fields that are given have to match; a scalar in the playbook is `equals`."""

    equals: str | None = None
    contains: str | None = None
    matches: str | None = None
    version: str | None = None
    at_least: str | None = None
    at_most: str | None = None
    one_of: tuple[str, ...] = ()

    def accepts(self, text: str) -> bool:
        """Return whether `text`, a value as read from a node, matches.

        `equals`, `one_of`, `at_least` and `at_most` disregard white space around the value (a command's last newline).
        """
        bare = text.strip()
        tests = (
            self.equals is None or bare == self.equals.strip(),
            self.contains is None or self.contains in text,
            self.matches is None or re.search(self.matches, text, re.MULTILINE) is not None,
            self.version is None or _in_version(bare, self.version),
            self.at_least is None or _ordered(self.at_least, bare),
            self.at_most is None or _ordered(bare, self.at_most),
            not self.one_of or bare in self.one_of,
        )
        return all(tests)

    @property
    def text(self) -> str:
        """What is expected, for people."""
        parts = (
            (self.equals, self.equals),
            (self.contains, f"contains {self.contains!r}"),
            (self.matches, f"matches /{self.matches}/"),
            (self.version, f"version {self.version}"),
            (self.at_least, f"at least {self.at_least}"),
            (self.at_most, f"at most {self.at_most}"),
            (self.one_of or None, f"one of {', '.join(self.one_of)}"),
        )
        return " and ".join(text for given, text in parts if given is not None and text is not None)


def read_matcher(arguments: Arguments, key: str) -> Matcher | None:
    """Return the matcher at `key`, or None when there is none. Raise Invalid for a bad pattern or version."""
    value = arguments.values.get(key)
    if value is None:
        return None
    if isinstance(value, (str, bool, int, float, Secret)):
        return Matcher(equals=arguments.text(key))
    section = arguments.section(key)
    assert section is not None
    matcher = Matcher(
        equals=section.optional_text("equals"),
        contains=section.optional_text("contains"),
        matches=section.optional_text("matches"),
        version=section.optional_text("version"),
        at_least=section.optional_text("at_least"),
        at_most=section.optional_text("at_most"),
        one_of=section.texts("one_of"),
    )
    if matcher == Matcher():
        raise arguments.invalid(
            key, f"`{key}` states nothing", expected="a value or a matcher such as `contains: text`"
        )
    if matcher.matches is not None:
        _check_pattern(section, matcher.matches)
    if matcher.version is not None:
        try:
            SpecifierSet(matcher.version)
        except InvalidSpecifier as error:
            expected = "a version specifier such as >=2.11"
            raise section.invalid("version", "`version` is not a version specifier", expected=expected) from error
    return matcher


def _check_pattern(section: Arguments, pattern: str) -> None:
    """Raise Invalid for what is no regular expression, and for one whose search may not end."""
    try:
        re.compile(pattern)
        endless = may_run_away(pattern)
    except re.error as error:
        raise section.invalid("matches", f"`matches` is not a regular expression: {error}") from error
    except (RecursionError, OverflowError) as error:
        summary = "`matches` is nested too deeply for a regular expression, or repeats too often"
        raise section.invalid("matches", summary, remedy="state less of the text, or use `contains`") from error
    if endless:
        raise section.invalid(
            "matches",
            "`matches` repeats what can match one text in two ways: its search may take longer than anyone waits",
            expected="inside a repetition, parts that begin with different characters",
            remedy="give each round a mark of its own, as in `(\\d+,)*` for `(\\d+,?)*`; or use `contains`",
        )


def _in_version(text: str, specifier: str) -> bool:
    try:
        return SpecifierSet(specifier).contains(Version(text), prereleases=True)
    except InvalidVersion:
        return False


def _ordered(low: str, high: str) -> bool:
    """Return low <= high, as numbers where both are numbers, else as versions; what is neither is not ordered."""
    try:
        # Not floats: to those, numbers of more than sixteen digits are equal to their neighbours.
        return Decimal(low) <= Decimal(high)
    except ArithmeticError:
        pass
    try:
        return Version(low) <= Version(high)
    except InvalidVersion:
        return False
