"""Patterns that are compiled late answer as those that are compiled at once."""

import importlib
import pkgutil
import re

import pytest

import stackplan
from stackplan.model.regular import Late, regular


def late(thing):
    if isinstance(thing, Late):
        yield thing
    elif isinstance(thing, dict):
        yield from (found for it in thing.items() for found in late(it))
    elif isinstance(thing, (tuple, list, set, frozenset)):
        yield from (found for it in thing for found in late(it))


def modules():
    for it in pkgutil.walk_packages(stackplan.__path__, "stackplan."):
        if not it.name.endswith("__main__"):
            yield importlib.import_module(it.name)


def test_every_pattern_of_the_program_can_be_compiled():
    found = [it for module in modules() for it in late(vars(module))]
    assert len(found) > 200
    for it in found:
        assert it.match.__self__.pattern == it.pattern


@pytest.mark.parametrize("name", ["search", "match", "fullmatch"])
def test_a_late_pattern_finds_what_a_compiled_one_finds(name):
    late = getattr(regular(r"(?P<letter>A)\d", re.IGNORECASE), name)
    compiled = getattr(re.compile(r"(?P<letter>A)\d", re.IGNORECASE), name)
    for text in ("a1", "xa1", "b"):
        found, expected = late(text), compiled(text)
        assert (found and found.span("letter")) == (expected and expected.span("letter"))


def test_its_other_methods_are_there_as_well():
    pattern = regular(r"\s*,\s*")
    assert pattern.split("a , b") == ["a", "b"]
    assert pattern.sub(";", "a , b") == "a;b"
    assert pattern.groups == 0
    assert pattern.pattern == r"\s*,\s*"
    assert [it.start() for it in regular(rb"b").finditer(b"abab")] == [1, 3]


def test_it_is_compiled_once_and_no_sooner_than_it_is_asked():
    pattern = regular("a")
    assert not hasattr(pattern, "__wrapped__")
    assert pattern.search.__self__ is pattern.match.__self__
    wrong = regular("[")
    with pytest.raises(re.error, match="unterminated"):
        wrong.search("")
