"""Tables whose columns leave their last one little room."""

from stackplan.reports.paint import Paint
from stackplan.reports.table import table

PLAIN = Paint(colour=False)
RUN = "20261202-213045-cuda13-blackwell-7f3a"


def test_a_name_in_the_last_column_stays_whole():
    told = table(("node", "outcome"), [("n" * 70, f"done, then rolled back by {RUN}")], 80, PLAIN)
    assert sum(RUN in line.split() for line in told) == 1


def test_only_a_word_that_is_no_name_is_broken():
    told = table(("node", "outcome"), [("n" * 50, "x" * 100)], 80, PLAIN)
    assert max(map(len, told)) == 80
    assert "".join(line.split()[-1] for line in told[1:]) == "x" * 100


def test_a_line_is_as_wide_as_it_may_be_where_there_is_room():
    told = table(("node", "outcome"), [("a", f"done, then rolled back by {RUN} " + "and so on " * 20)], 80, PLAIN)
    assert max(map(len, told)) <= 80
