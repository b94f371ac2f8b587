"""Texts measured in cells: as the library that draws tables measures them, for what terminals show alike."""

import pytest
from rich.cells import cell_len as drawn

from stackplan.reports.cells import cell_len


@pytest.mark.parametrize(
    ("text", "cells"),
    [("", 0), ("plain", 5), ("Größe …", 7), ("版本", 4), ("e\u0301", 1), ("\u200b", 0), ("🚀 x", 4), ("\uff58", 2)],
)
def test_a_text_takes_so_many_cells(text, cells):
    assert cell_len(text) == cells == drawn(text)
