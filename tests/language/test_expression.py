"""Jinja with bounds: what a template yields, and that none can hang, fill the memory or reach out."""

import pytest

from stackplan.language import expression
from stackplan.language.yielded import BadTemplate


@pytest.mark.parametrize(
    ("text", "given", "value"),
    [
        ("{{ a }}", {"a": "13.0"}, "13.0"),
        (" {{ a }}\n", {"a": ("x", "y")}, ("x", "y")),
        (" {{ a }}\n", {"a": "x"}, " x\n"),
        ("{{ a }}", {"a": None}, None),
        ("{{ a }}", {"a": {"b": True}}, {"b": True}),
        ("is {{ a }} {{ none }}", {"a": True}, "is true "),
        ("{{ a | int + 1 }}", {"a": "3"}, 4),
        ("{{ a | default('x') }}", {}, "x"),
        ("{{ a.get('k', 'none') }}", {"a": {}}, "none"),
        ("{{ ('a b', 1) | join('-') }}", {}, "a b-1"),
        ("{{ a | map('upper') | list }}", {"a": ["x"]}, ("X",)),
        ("{{ a | quote }}", {"a": "it's"}, "'it'\"'\"'s'"),
        ("${#list[@]} {{ a }}", {"a": "1"}, "${#list[@]} 1"),
        ("{% raw %}{{.State}}{% endraw %}", {}, "{{.State}}"),
        ("{% for i in a %}{{ loop.index }}{{ i }} {% endfor %}", {"a": ["x", "y"]}, "1x 2y "),
        ("{% set b = a ~ a %}{{ b }}{{ b }}", {"a": "x"}, "xxxx"),
        ("{{ 'yes' if a is defined else 'no' }}", {}, "no"),
        ("line\n{{ a }}\n", {"a": "x"}, "line\nx\n"),
    ],
)
def test_template_yields(text, given, value):
    assert expression.template(text).value(given) == value


@pytest.mark.parametrize(
    "text",
    [
        "{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}",
        "{% for i in range(10 ** 9) %}{% endfor %}",
        "{{ 'a' * 10 ** 9 }}",
        "{{ 10 ** 9 * 'a' }}",
        "{{ [1] * 10 ** 9 }}",
        "{{ 2 ** 99999999 }}",
        "{{ ((((10 ** 60) ** 60) ** 60) ** 60) ** 60 }}",
        "{% set a = 'aaaaaaaaaaaaaaaaaaaaa' %}" + "{% set a = a ~ a %}" * 40 + "{{ a }}",
        "{% set a = 'aaaaaaaaaaaaaaaaaaaaa' %}" + "{% set a = a + a %}" * 40 + "{{ a }}",
        "{% set a = 'aaaaaaaaaaaaaaaaaaaaa' %}" + "{% set a = [a, a] | join(a) %}" * 40 + "{{ a }}",
        "{% set a = 'aaaaaaaaaaaaaaaaaaaaa' %}" + "{% set a = a | replace('a', a) %}" * 40 + "{{ a }}",
        "{% set a = [1, 1] %}" + "{% set a = [a, a] %}" * 40 + "{{ a }}",
        "{% set n = 9 ** 60 %}" + "{% set n = n * n %}" * 40 + "{{ n }}",
    ],
)
def test_costly_template_ends_in_an_error(text):
    with pytest.raises(BadTemplate, match="too costly"):
        expression.template(text).value({})


@pytest.mark.parametrize(
    "text", ["{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "{{ " + "-" * 5000 + "1 }}", "{% if a %}" * 300]
)
def test_nested_template_ends_in_an_error(text):
    with pytest.raises(BadTemplate, match=r"nested too deeply|never closed|not a template"):
        expression.template(text).value({"a": 1})


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__ }}",
        "{{ a.__init__.__globals__ }}",
        "{{ '{:>1000000000}'.format(1) }}",
        "{{ '{0.__class__}'.format(1) }}",
        "{{ 'a'.ljust(1000000000) }}",
        "{{ a.pop() }}",
        "{{ budget__.turns }}",
        "{{ '%1000000000d' % 1 }}",
        "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
        "{% include '/etc/passwd' %}",
        "{% import 'x' as y %}",
        "{% set x %}a{% endset %}",
        "{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}",
    ],
)
def test_template_reaches_nothing_but_its_variables(text):
    with pytest.raises(BadTemplate, match=r"may not|cannot be formatted"):
        expression.template(text).value({"a": [1]})


@pytest.mark.parametrize(
    "text", ["{{ cycler }}", "{{ lipsum() }}", "{{ joiner }}", "{{ namespace() }}", "{{ dict() }}"]
)
def test_jinja_globals_are_not_there(text):
    with pytest.raises(BadTemplate, match="is not defined"):
        expression.template(text).value({})


@pytest.mark.parametrize(
    ("text", "name"), [("{{ venv }}", "venv"), ("a {{ b }} {{ venv }}", "venv"), ("{% if venv %}{% endif %}", "venv")]
)
def test_undefined_name_is_named(text, name):
    with pytest.raises(BadTemplate, match="`venv` is not defined") as caught:
        expression.template(text).value({"b": 1})
    assert caught.value.name == name


@pytest.mark.parametrize("text", ["{{ a.b }}", "{{ a['b'] }}"])
def test_missing_part_is_named(text):
    with pytest.raises(BadTemplate, match="there is no `b`"):
        expression.template(text).value({"a": {}})


def test_number_made_of_a_text_is_suggested():
    with pytest.raises(BadTemplate, match="fails") as caught:
        expression.template("{{ a + 1 }}").value({"a": "3"})
    assert caught.value.remedy is not None
    assert "| int" in caught.value.remedy


@pytest.mark.parametrize(
    ("text", "given", "holds"),
    [
        ("a == 'x'", {"a": "x"}, True),
        ("{{ a == 'x' }}", {"a": "y"}, False),
        ("a", {"a": True}, True),
        ("a", {"a": "false"}, False),
        ("a", {"a": "true"}, True),
        ("a | int > 4", {"a": "5"}, True),
        ("'x' in a", {"a": ["x"]}, True),
        ("not a", {"a": None}, True),
        ("true", {}, True),
        ("a is defined and a", {}, False),
    ],
)
def test_condition_holds(text, given, holds):
    assert expression.condition(text).holds(given) is holds


@pytest.mark.parametrize("text", ["a ==", "a }} {{ b", "", "{% if a %}x{% endif %}", "a; b"])
def test_what_is_no_expression_is_refused(text):
    with pytest.raises(BadTemplate, match=r"not a template|not one Jinja expression|is not defined"):
        expression.condition(text).holds({"a": 1})


def test_text_is_neither_true_nor_false():
    with pytest.raises(BadTemplate, match="neither true nor false"):
        expression.condition("a").holds({"a": "no"})


def test_used_names_are_told():
    assert expression.names("{{ a }} {% for i in b %}{{ i }}{% endfor %} {{ range(c) }}") == {"a", "b", "c"}
