"""The caret: how much of a line a diagnosis is about, and where in a text a name stands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackplan.language import source
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.location import Location


@pytest.mark.parametrize(
    ("line", "column", "underlined"),
    [
        ("  - torch: {venv: x}", 5, "torch"),
        ("  - torch: {venv: x, cuda: y}", 19, "x"),
        ("key: a text of words  # why", 6, "a text of words"),
        ('key: "a # b"  # why', 6, '"a # b"'),
        ("key: 'it''s'", 6, "'it''s'"),
        ("key: [a, b]", 6, "[a, b]"),
        ("url: https://host:80/x", 6, "https://host:80/x"),
        ("key:", 5, ""),
        ("key: x", 99, ""),
    ],
)
def test_span_covers_the_key_or_value(line, column, underlined):
    assert source.span(line, column) == max(1, len(underlined))


@given(st.text(max_size=60), st.integers(1, 80))
def test_span_is_never_empty_nor_longer_than_the_line(line, column):
    assert 1 <= source.span(line, column) <= max(1, len(line))


def test_annotation_brings_the_line():
    (found,) = source.annotate([Diagnosis(summary="x", at=Location("p", 2, 4))], {"p": ("a: b", "c: defg")})
    assert (found.source, found.span) == ("c: defg", 4)


@pytest.mark.parametrize("at", [None, Location("other", 1, 1), Location("p", 9, 1), Location("p", 0, 1)])
def test_annotation_leaves_what_it_has_no_line_for(at):
    before = Diagnosis(summary="x", at=at)
    assert source.annotate([before], {"p": ("a",)}) == [before]


def test_very_long_line_is_not_shown():
    (found,) = source.annotate([Diagnosis(summary="x", at=Location("p", 1, 1))], {"p": ("a" * 1000,)})
    assert found.source is None


def test_name_is_found_inside_of_the_text_that_begins_there():
    lines = ("steps:", "  - run:", "      script: |", "        echo venv", "        {{ venv }}", "  - next: {{ venv }}")
    assert source.find("venv", Location("p", 3, 15), {"p": lines}) == Location("p", 5, 12)
    assert source.find("echo", Location("p", 3, 15), {"p": lines}) == Location("p", 4, 9)
    assert source.find("absent", Location("p", 3, 15), {"p": lines}) == Location("p", 3, 15)
    assert source.find("next", Location("p", 3, 15), {"p": lines}) == Location("p", 3, 15)
