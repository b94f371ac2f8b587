"""Numbers in a JSON body are compared as numbers, and texts that look like numbers as texts."""

import pytest

from stackplan.conditions.http import Http
from stackplan.model.arguments import Arguments
from stackplan.model.facts import Facts, Known, Origin
from stackplan.model.location import Location


def verdict(wanted, value, *, number):
    arguments = {"url": "http://localhost:30000/", "json": {"/n": wanted}}
    condition = Http.read(Arguments(arguments, Location("site.yaml", 1, 1)))
    told = {"status": 200, "reason": "OK", "leads_to": None, "failure": None, "body": None, "body_fault": None}
    told |= {"values": {"/n": value}, "json_fault": None}
    told |= {} if number is None else {"numbers": ["/n"] if number else []}
    (query,) = condition.queries()
    return condition.evaluate(Facts("gpu-01", Origin.LIVE, "2026-12-01T03:10:22Z", {query: Known(told)}))


@pytest.mark.parametrize(
    ("wanted", "value"),
    [
        ("1", "1.0"),
        ("1.0", "1"),
        ("100", "1e2"),
        ("1e2", "100"),
        ("0", "-0.0"),
        ("0.10", "0.1"),
        ({"one_of": ("8", "100")}, "1E+2"),
        ({"equals": "4.0", "at_least": "3"}, "4"),
        ("12345678901234567890123", "12345678901234567890123.0"),
    ],
)
def test_a_number_is_met_by_every_spelling_of_it(wanted, value):
    assert verdict(wanted, value, number=True).held
    assert not verdict(wanted, value, number=False).held
    assert not verdict(wanted, value, number=None).held


@pytest.mark.parametrize(
    ("wanted", "value"),
    [
        ("12345678901234567890124", "12345678901234567890123"),
        ("0.1", "0.10000000000000001"),
        ("1_0", "10"),
        ("0x10", "16"),
        ("true", "1"),
        ("1e99999999999999999999", "1e99999999999999999998"),
        ("2", "1e999999999"),
    ],
)
def test_another_number_is_not(wanted, value):
    told = verdict(wanted, value, number=True)
    assert told.status.value == "not-held"
    assert (told.expected, told.observed) == (wanted, value)


def test_the_same_text_is_met_whatever_it_is():
    for text in ("1.0", "1e99999999999999999999", "null"):
        assert verdict(text, text, number=True).held
        assert verdict(text, text, number=False).held
