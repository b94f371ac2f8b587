"""No template takes longer than its budget, whatever one single operation of it would cost."""

import pytest

from stackplan.language import cost, expression
from stackplan.language.yielded import BadTemplate


@pytest.mark.parametrize(
    "text",
    [
        "{{ ([[1]*99]*99999)|sum(start=[])|length }}",
        "{{ ([[1]*9999]*9999) == ([[1]*9999]*9999) }}",
        "{{ 1 in [[2]*99]*99999 }}",
        "{{ ([[2]*99]*99999) is eq 1 }}",
        "{{ (['x'*99999]*99)|tojson|length }}",
        "x{{ [[1]*9999]*9999 }}",
        "{{ ([1]*99999 + [[1]*99999])[1:] }}",
        "{{ ('a'*9999).strip('b'*9999~'a') }}",
        "{{ ('a'*9999)|trim('b'*9999~'a') }}",
        "{{ ('f'*99999)|int(0,16) }}",
    ],
)
def test_an_operation_on_too_much_is_refused(text):
    with pytest.raises(BadTemplate, match="too costly"):
        expression.template(text).value({})


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("{{ [[1], [2]] | sum(start=[]) }}", "adds up numbers only"),
        ("{{ 5 | round(-99999999) }}", "whole number of digits"),
        ("{{ [1] | tojson(indent=10**9) }}", "indents by 0 to 16"),
        ("{{ 1e308 * 10 }}", "no finite number"),
        ("{{ " + "+".join("1" for _ in range(20_000)) + " }}", "too large"),
        ("{{ {[]: 1} }}", "unhashable"),
        ("a {{ {[]: 1} }}", "unhashable"),
        ("{{ '\\ud800' }}", "no file or argument can take"),
        ("a{{ '\\0' }}", "no file or argument can take"),
        ("{{ {'\\ud800': 1} }}", "no file or argument can take"),
    ],
)
def test_what_no_value_can_be_is_refused(text, match):
    with pytest.raises(BadTemplate, match=match):
        expression.template(text).value({})


def test_reading_a_template_computes_nothing():
    assert expression.template("{{ 1 // 0 }}").native


def test_time_is_asked_for_ahead_of_every_operation(monkeypatch):
    monkeypatch.setattr(cost, "LONGEST_S", -1.0)
    with pytest.raises(BadTemplate, match="takes longer than"):
        expression.template("{{ [2, 1] | sort }}").value({})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ [1, 2.5] | sum }}", 3.5),
        ("{{ [{'a': 1}, {'a': 2}] | sum('a') }}", 3),
        ("{{ 2.567 | round(1) }}", 2.6),
        ("{{ 2.5 | round(0, 'floor') | int }}", 2),
        ("{{ 'xax' | trim('x') }}", "a"),
        ("{{ {'a': [1]} | tojson }}", '{"a": [1]}'),
        ("{{ [3, 1] | sort | first }}", 1),
        ("{{ 'abc' | reverse }}{{ [1, 2] | reverse | list }}", "cba[2, 1]"),
        ("{{ range(9999) | map('string') | unique | list | length }}", 9999),
        ("{{ l[1:] | select('gt', 2) | list }}", (3,)),
        ("{% for a in l[1:] %}{{ loop.cycle('x', 'y') }}{% endfor %}", "xy"),
        ("{{ 1 < 2 < 3 and 2 in l and x is not defined }}", True),
    ],
)
def test_what_is_cheap_works_as_before(text, value):
    assert expression.template(text).value({"l": [1, 2, 3]}) == value


def test_weight_counts_what_is_shared_wherever_it_stands():
    shared = ["x" * 32] * 10
    assert cost.weight([shared, {"a": shared}]) == 2 * cost.weight(shared) + 3
    with pytest.raises(cost.TooMuch, match="more than"):
        cost.weight([shared] * 10_000)
