"""Numbers in words, and how many of many are told."""

import pytest

from stackplan.model.count import counted, first_of


def test_one_is_no_plural():
    assert [counted(it, "node") for it in (0, 1, 2)] == ["0 nodes", "1 node", "2 nodes"]


@pytest.mark.parametrize(("count", "shown", "left"), [(0, 0, 0), (2, 2, 0), (3, 3, 0), (4, 4, 0), (5, 3, 2), (9, 3, 6)])
def test_a_line_that_would_count_one_alone_is_given_to_that_one(count, shown, left):
    things = list(range(count))
    assert first_of(things, 3) == (things[:shown], left)
