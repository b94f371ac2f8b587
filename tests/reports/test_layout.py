"""Wrapping in the cells of a terminal."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from stackplan.reports.layout import beside, hanging, wrapped


def test_wide_characters_take_two_cells():
    assert wrapped("日本語 日本", 6) == ["日本語", "日本"]


def test_a_word_wider_than_a_line_is_broken():
    assert wrapped("ab cdefghij", 4) == ["ab", "cdef", "ghij"]


def test_further_lines_hang_under_the_first():
    assert hanging("  expected  ", "one two three four five", 32) == [
        "  expected  one two three four",
        "            five",
    ]


def test_what_does_not_fit_beside_stands_below():
    assert beside("  left", "right", 10, 40) == ["  left    right"]
    assert beside("  left", "r" * 36, 10, 40) == ["  left", "    " + "r" * 36]


@given(st.text(alphabet="ab 日本é", max_size=80), st.integers(2, 40))
def test_no_line_is_too_wide_and_no_character_is_lost(text, width):
    lines = wrapped(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_a_path_stays_whole_and_other_long_words_do_not():
    path = "/tmp/" + "a" * 60
    assert wrapped(f"see {path}", 40) == ["see", path]
    assert wrapped("b" * 50, 40) == ["b" * 40, "b" * 10]
    assert len(wrapped("/" * 5000, 40)) > 100
