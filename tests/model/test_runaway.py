"""Regular expressions that are refused because their search may not end, and those that only look like it."""

import pytest

from stackplan.model.runaway import may_run_away

RUNAWAY = [
    "(a|a)*(.*)*!$",
    "^(a+)+$",
    "(a|aa)*$",
    "(.*)*",
    r"(\d+,?)+$",
    "(?:.*,)+x",
    "((a|b)+)+$",
    "(?:(?:x+x+)+y)+",
    "(a?){30}b",
    "(.*?,){11}P",
    "(?=(a+)+$)b",
    "(?:a|b|ab)*c",
    r"(b)(\1|a)*$",
    "(?i)(?:a+A)*$",
    r"(?s)(?:.*\n)*x",
]
HARMLESS = [
    "",
    "^ok$",
    "580[.]95",
    ".*a.*b",
    r"[\s\S]*x",
    "(a+)?b",
    r"(?:\d+\.)+\d+",
    r"\b580\.\d+(\.\d+)*\b",
    r"(?:\d{1,3}\.){3}\d{1,3}",
    "(?:[0-9a-f]{2}:){5}",
    "(a|ab)*c",
    "(?:foo|bar)+",
    "(?:active|inactive|activating)+",
    r"(\s*\w+,)*",
    r"(?:GPU \d+: .*\n)+",
    r"(?:\S+\s+)*foo",
    r"(?:[^,\n]*,){3,20}x",
    "(?:a++)*b",
    "(?>a+)*",
    "(a)?(?(1)b|c)",
    r"(?:.*\n)*x",
    "(?:a+A)*$",
]


@pytest.mark.parametrize("pattern", RUNAWAY)
def test_one_text_can_be_taken_in_two_ways(pattern):
    assert may_run_away(pattern)


@pytest.mark.parametrize("pattern", HARMLESS)
def test_each_character_decides(pattern):
    assert not may_run_away(pattern)


def test_what_nests_deeply_is_told_at_once():
    assert may_run_away("(?:" * 60 + "a" + "b)*" * 60)
