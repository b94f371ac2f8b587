"""What needs no compiling is filled in as Jinja would fill it in."""

import pytest

from stackplan.language import expression
from stackplan.language.interpolation import interpolation
from stackplan.language.yielded import BadTemplate

GIVEN = {"a": "x", "n": 3, "f": 1.5, "t": True, "z": None, "l": ["p", 1], "m": {"k": [True]}, "b": "{{ a }}", "e": ""}


@pytest.mark.parametrize(
    "around", [("", ""), (" ", "\n"), ("is ", ""), ("", " }} no"), ("$", " {x}\n\n"), ("{{a}}", "{{ n }}")]
)
@pytest.mark.parametrize("name", sorted(GIVEN))
def test_it_yields_what_jinja_yields(around, name):
    text = f"{around[0]}{{{{ {name} }}}}{around[1]}"
    assert interpolation(text) is not None
    assert expression.template(text).value(GIVEN) == expression._template(text).value(GIVEN)
    assert expression.template(text).native == expression._template(text).native
    assert expression.names(text) == expression._template(text).names


@pytest.mark.parametrize(
    "text",
    [
        "{{ a.b }}", "{{- a }}", "{{ true }}", "{{ range }}", "{{{ a }}}", "{{ a }}}", "{ {{ a }} {",
        "{% if a %}{{ a }}{% endif %}", "{## {{ a }} ##}", "{{ a }}\r\n", "{{ a", "none", "{{ if }}", "{{ budget__ }}",
    ],
)  # fmt: skip
def test_what_is_more_than_names_is_left_to_jinja(text):
    assert interpolation(text) is None


def test_a_name_that_is_not_there_and_a_value_that_is_too_large_are_told_as_ever():
    with pytest.raises(BadTemplate, match="`gone` is not defined"):
        expression.template("{{ a }} {{ gone }}").value(GIVEN)
    with pytest.raises(BadTemplate, match="too costly"):
        expression.template("{{ a }} {{ a }}").value({"a": "x" * 600_000})
