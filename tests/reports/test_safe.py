"""Foreign text made visible."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackplan.reports.safe import safe, safe_lines


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("torch 2.10.0+cu128 → 2.11", "torch 2.10.0+cu128 → 2.11"),
        ("日本語 é", "日本語 é"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u200bb", "a\\u200bb"),
        ("\x9b2J", "\\x9b2J"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("a\u00a0b", "a b"),
        ("\U000e0041", "\\U000e0041"),
        ("\udc80", "\\udc80"),
    ],
)
def test_what_a_terminal_would_obey_becomes_visible(text, shown):
    assert safe(text) == shown


def test_a_megabyte_is_cut_and_counted():
    assert safe("x" * 1_000_000, 10) == "xxxxxxxxxx… (1,000,000 characters)"


@given(st.text())
def test_everything_is_printable(text):
    assert safe(text).isprintable()


def test_of_output_the_last_lines_stay_and_progress_bars_are_what_stood_last():
    assert safe_lines("one\n\n  0%\r 50%\r100%\r\nlast\n", 2) == ("100%", "last")


def test_no_output_gives_no_lines():
    assert safe_lines(" \n\n", 3) == ()


def test_a_hundred_megabyte_of_output_costs_no_more_than_its_end():
    lines = safe_lines("y" * 100_000_000 + "\nthe end", 2)
    assert lines[-1] == "the end"
    assert len(lines[0]) < 300
