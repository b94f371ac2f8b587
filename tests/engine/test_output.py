"""What an action prints: whole lines, no secret in halves, bounded."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from stackplan.engine.output import Output
from stackplan.model.secret import Redactor

SECRET = "hunter2secret"
REDACTOR = Redactor(frozenset({SECRET}))


def told(chunks, redactor=REDACTOR):
    """Return what is told of the chunks, and the output."""
    found = []
    output = Output(redactor, found.append)
    for chunk in chunks:
        output.feed(chunk)
    output.end()
    return "".join(found), output


@given(
    before=st.text(alphabet="ab\n", max_size=30_000),
    after=st.text(alphabet="ab\n", max_size=200),
    cuts=st.lists(st.integers(0, 400), max_size=6),
)
def test_a_secret_is_not_told_however_the_output_is_cut(before, after, cuts):
    data = f"{before}{SECRET}{after}".encode()
    middle = len(before)
    places = sorted({0, *(max(0, min(len(data), middle - 200 + cut)) for cut in cuts), len(data)})
    text, _ = told([data[low:high] for low, high in itertools.pairwise(places)])
    assert text == f"{before}***{after}"


def test_a_secret_in_a_line_that_does_not_end_is_not_told_wherever_it_stands():
    for place in range(8180, 8210):
        chunks = [b"x" * place, SECRET[:5].encode(), SECRET[5:].encode(), b"y" * 9000]
        text, _ = told(chunks)
        assert text == "x" * place + "***" + "y" * 9000


def test_a_line_that_does_not_end_is_told_before_it_does():
    found = []
    output = Output(Redactor(), found.append)
    output.feed(b"x" * 10_000)
    assert len("".join(found)) == 10_000


def test_lines_are_told_when_they_end():
    found = []
    output = Output(REDACTOR, found.append)
    output.feed(b"one\ntw")
    assert found == ["one\n"]
    output.feed(b"o\n")
    assert found == ["one\n", "two\n"]


def test_bytes_that_are_no_text_are_shown_replaced_and_cut_characters_are_not():
    assert told([b"\xff\n", "ä".encode()[:1], "ä".encode()[1:]])[0] == "\ufffd\nä"
    assert told(["ä".encode()[:1]])[0] == "\ufffd"


def test_the_tail_is_the_last_lines_and_bounded():
    _, output = told([f"{number}\n".encode() for number in range(1000)])
    assert output.tail.splitlines() == [str(number) for number in range(960, 1000)]
    _, output = told([b"x" * 1_000_000])
    assert len(output.tail) <= 8 * 1024
    assert told([])[1].tail is None


def test_what_was_told_already_is_not_told_again_and_stays_in_the_tail():
    found = []
    output = Output(Redactor(), found.append, told=6)
    output.feed(b"one\ntwo\nthree\n")
    output.feed(b"four\n")
    assert found == ["o\nthree\n", "four\n"]
    assert output.tail == "one\ntwo\nthree\nfour"
