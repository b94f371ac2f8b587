"""Matchers: each word of theirs with values that match and values that do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackplan.model.arguments import Arguments
from stackplan.model.diagnosis import Invalid
from stackplan.model.location import Location
from stackplan.model.matcher import Matcher, read_matcher

AT = Location("p.yaml", 4, 9)


def matcher(value):
    return read_matcher(Arguments({"stdout": value}, AT), "stdout")


@pytest.mark.parametrize(
    ("value", "accepted", "refused"),
    [
        ("13.0", ["13.0", "13.0\n"], ["13.00", "13", ""]),
        ({"equals": "1e3"}, ["1e3"], ["1000", "1000.0"]),
        ({"contains": "cu130"}, ["torch+cu130"], ["torch+cu128"]),
        ({"matches": "^ok$"}, ["no\nok\n"], ["okay"]),
        ({"version": ">=2.11.0.dev0"}, ["2.11.0.dev20260226+cu130"], ["2.10.0", "unknown", ""]),
        ({"at_least": "9"}, ["10", "9", "9.5"], ["8", "text"]),
        ({"at_least": "2.10.0"}, ["2.11.0", "2.10.0"], ["2.9.1"]),
        ({"at_least": "12345678901234567891"}, ["12345678901234567891", "1e30"], ["12345678901234567890"]),
        ({"at_most": "580.95.05"}, ["580.95.05", "570.1.1"], ["580.126.09", "n/a"]),
        ({"one_of": ("a", "b")}, ["a", "b\n"], ["c", ""]),
        ({"contains": "a", "matches": "b"}, ["a b"], ["a", "b"]),
    ],
)
def test_what_matches(value, accepted, refused):
    found = matcher(value)
    assert [found.accepts(text) for text in accepted] == [True] * len(accepted)
    assert [found.accepts(text) for text in refused] == [False] * len(refused)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({}, "`stdout` states nothing"),
        ({"matches": "("}, "`matches` is not a regular expression"),
        ({"matches": "(" * 5000 + ")" * 5000}, "`matches` is nested too deeply"),
        (
            {"matches": "a{99999999999}"},
            "`matches` is nested too deeply for a regular expression, or repeats too often",
        ),
        ({"matches": "(a|a)*(.*)*!$"}, "its search may take longer than anyone waits"),
        ({"version": ">>1"}, "`version` is not a version specifier"),
        (("a",), "`stdout` is not a mapping"),
    ],
)
def test_what_is_refused(value, said):
    with pytest.raises(Invalid, match=said):
        matcher(value)


def test_none_where_none_is_given():
    assert read_matcher(Arguments({}, AT), "stdout") is None


@given(st.text())
def test_a_value_equals_itself(text):
    assert Matcher(equals=text).accepts(text)


@given(st.text(), st.text())
def test_numbers_and_versions_are_ordered_one_way(low, high):
    assert not (Matcher(at_least=low).accepts(high) and not Matcher(at_most=high).accepts(low))


def test_what_is_expected_is_told():
    assert Matcher(at_least="2", one_of=("2", "3")).text == "at least 2 and one of 2, 3"
