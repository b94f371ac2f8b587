"""The one "did you mean", and how near a name has to be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackplan.language.nearest import alternatives, did_you_mean, nearest

NAMES = ("venv", "version", "cuda", "python_packages", "postconditions", "release")


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("vnev", "venv"),
        ("verzion", "version"),
        ("CUDA", "cuda"),
        ("python-packages", "python_packages"),
        ("post_conditions", "postconditions"),
        ("relase", "release"),
    ],
)
def test_slip_is_recognised(slip, meant):
    assert nearest(slip, NAMES)[0] == meant
    assert did_you_mean(slip, [meant]) == f"did you mean `{meant}`?"


@pytest.mark.parametrize("word", ["x", "", "banana", "packages_of_another_kind", "v" * 1000])
def test_what_is_far_off_is_not_guessed(word):
    assert nearest(word, NAMES) == ()
    assert did_you_mean(word, NAMES) is None


@given(st.text(max_size=20), st.lists(st.text(max_size=20), max_size=10))
def test_only_names_that_there_are_come_back(word, names):
    assert set(nearest(word, names)) <= set(names)


@pytest.mark.parametrize(
    ("names", "text"), [([], ""), (["a"], "`a`"), (["a", "b"], "`a` or `b`"), (["a", "b", "c"], "`a`, `b` or `c`")]
)
def test_alternatives_are_listed(names, text):
    assert alternatives(names) == text
