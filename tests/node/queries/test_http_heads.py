"""`http` against heads and pieces that are cut or are none: no status of such an answer ever counts."""

import gzip
import io

import pytest

from stackplan.node.queries import http as query
from stackplan.node.queries._http_answer import encodings, read_body
from stackplan.node.queries._http_encoding import decoded
from stackplan.node.queries._http_head import MOST_HEADERS, BrokenOff, Malformed, read_final_head

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
READY = b"5\r\nready\r\n"
IN_HEAD = "the answer breaks off in its head"
IN_BODY = "the answer breaks off before its end"


@pytest.fixture
def ask(ask_http):
    return ask_http


def read(sent, limit=5_000_000):
    """Return status and body of an answer, read from memory."""
    stream = io.BufferedReader(io.BytesIO(sent))
    head = read_final_head(stream)
    return head.status, decoded(read_body(stream, head, limit), encodings(head), limit)


WHOLE = [
    HEAD + b"Content-Length: 5\r\nX: \xc3\xa4\xff\r\n\r\nready",
    CHUNKED + READY + b"0\r\nX-Checksum: 1\r\n\r\n",
    HEAD + b"Content-Encoding: gzip\r\nContent-Length: 25\r\n\r\n" + gzip.compress(b"ready", mtime=0),
    b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + HEAD + b"Content-Length: 5\r\n\r\nready",
]


@pytest.mark.parametrize("sent", WHOLE, ids=["length", "pieces", "gzip", "interim"])
def test_an_answer_that_is_cut_anywhere_is_none(sent):
    assert read(sent) == (200, b"ready")
    for length in range(len(sent)):
        with pytest.raises(BrokenOff, match=r"breaks off|closed without an answer"):
            read(sent[:length])


@pytest.mark.parametrize("sent", [HEAD[:12], HEAD, HEAD + b"X: y\r\n", HEAD + b"Content-Len", HEAD + b"X: y\r\n\r"])
@pytest.mark.parametrize("body", [False, True])
def test_a_status_in_a_head_that_breaks_off_does_not_count(ask, sent, body):
    told = ask(sent, body=body)
    assert (told["status"], told["reason"], told["body"], told["failure"]) == (None, None, None, IN_HEAD)


@pytest.mark.parametrize(
    "sent", [b"0", b"00", b"0\r", b"0\r\n", b"0\r\nX: 1\r\n", b"0\r\nX: 1", b"", b"5;a", b"5\r\nre"]
)
def test_pieces_without_their_last_empty_line_break_off(ask, sent):
    told = ask(CHUNKED + READY + sent, body=False)
    assert (told["status"], told["failure"]) == (None, IN_BODY)


LINES = [
    (b"foo\r\n", r"answers 200, and line 2 of its head is no header, without a colon: 'foo'"),
    (b"A: 1\r\nfoo bar\r\n", r"answers 200, and line 3 of its head is no header, without a colon: 'foo bar'"),
    (b"A: 1\r\nB : 2\r\n", r"answers 200, and line 3 of its head is no header, with a blank before its colon: 'B : 2'"),
    (b"B\t: 2\r\n", r"answers 200, and line 2 of its head is no header, with a blank before its colon: 'B\x09: 2'"),
    (b" A: 1\r\n", r"answers 200, and line 2 of its head is no header, by its name: ' A: 1'"),
    (b": 1\r\n", r"answers 200, and line 2 of its head is no header, by its name: ': 1'"),
    (b"A B: 1\r\n", r"answers 200, and line 2 of its head is no header, by its name: 'A B: 1'"),
    (b"\xc3\xa4: 1\r\n", r"answers 200, and line 2 of its head is no header, by its name: '\xc3\xa4: 1'"),
    (b"A: \x00\r\n", r"answers 200, and line 2 of its head has a control character: 'A: \x00'"),
    (b"A: 1\rB: 2\r\n", r"answers 200, and line 2 of its head has a control character: 'A: 1\x0dB: 2'"),
    (b"A: 1\r\n\x0b2\r\n", r"answers 200, and line 3 of its head has a control character: '\x0b2'"),
    (b"A: 1\r\n \x1b[2J\r\n", r"answers 200, and line 3 of its head has a control character: ' \x1b[2J'"),
]


@pytest.mark.parametrize(("lines", "failure"), LINES, ids=[str(index) for index in range(len(LINES))])
def test_a_line_that_is_no_header_is_named(ask, lines, failure):
    told = ask(HEAD + lines + b"Content-Encoding: br\r\nContent-Length: 50\r\n\r\nready", body=False)
    assert (told["status"], told["failure"]) == (None, failure)


@pytest.mark.parametrize(
    ("sent", "failure"),
    [
        (b"+5\r\nready\r\n0\r\n\r\n", "the size of one is no number: '+5'"),
        (b" 5\r\nready\r\n0\r\n\r\n", "the size of one is no number: ' 5'"),
        (b"5 \r\nready\r\n0\r\n\r\n", "the size of one is no number: '5 '"),
        (b"0 5\r\nready\r\n0\r\n\r\n", "the size of one is no number: '0 5'"),
        (b"0_5\r\nready\r\n0\r\n\r\n", "the size of one is no number: '0_5'"),
        (b"0x5\r\nready\r\n0\r\n\r\n", "the size of one is no number: '0x5'"),
        (b"\r\nready\r\n0\r\n\r\n", "the size of one is no number: ''"),
        (b"0" * 17 + b"\r\n\r\n", f"the size of one is no number: '{'0' * 17}'"),
        (b"5;" + b"x" * 5000 + b"\r\nready\r\n0\r\n\r\n", f"the line of a size is too long: '5;{'x' * 38}…'"),
        (b"5;\x00\r\nready\r\n0\r\n\r\n", r"the size of one is no number: '5;\x00'"),
        (b"5\r\nready \r\n0\r\n\r\n", "one is longer than its size says"),
    ],
    ids=str,
)
def test_pieces_of_no_clear_size_are_none(ask, sent, failure):
    told = ask(CHUNKED + sent, body=False)
    assert (told["status"], told["failure"]) == (None, f"its body comes in pieces, and {failure}")


def test_a_trailer_is_read_as_strictly_as_a_head(ask):
    failure = "line 2 of the trailer of its body is no header, without a colon: 'foo'"
    assert ask(CHUNKED + READY + b"0\r\nA: 1\r\nfoo\r\n\r\n")["failure"] == failure


LENGTHS = [
    (b"Content-Length: 5 6\r\n", "answers 200, its length is no number: Content-Length: 5 6"),
    (b"Content-Length: 5,\r\n", "answers 200, its length is no number: Content-Length: 5, "),
    (b"Content-Length: \xc2\xb2\r\n", r"answers 200, its length is no number: Content-Length: \xc2\xb2"),
    (b"Content-Length: 5\xa0\r\n", r"answers 200, its length is no number: Content-Length: 5\xa0"),
    (b"Content-Length: 5\r\ncontent-length: 4\r\n", "answers 200 with two lengths: Content-Length: 5, 4"),
    (
        b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "answers 200, the end of its body told in two ways: Content-Length: 5 beside Transfer-Encoding: chunked",
    ),
    (b"Transfer-Encoding: br\r\n", "answers 200, its body in an unknown form: Transfer-Encoding: br"),
    (b"Transfer-Encoding:\r\n", "answers 200, its body in an unknown form: Transfer-Encoding: "),
    (
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "answers 200, its body in an unknown form: Transfer-Encoding: chunked, chunked",
    ),
]


@pytest.mark.parametrize(("lines", "failure"), LENGTHS, ids=[str(index) for index in range(len(LENGTHS))])
def test_what_leaves_the_end_of_a_body_open(ask, lines, failure):
    told = ask(HEAD + lines + b"\r\n5\r\nready\r\n0\r\n\r\n", body=False)
    assert (told["status"], told["failure"]) == (None, failure)


@pytest.mark.parametrize(
    "sent",
    [
        b"HTTP/1.1 200\nContent-Length: 5\n\nready",
        b"HTTP/1.0 200 \r\n\r\nready",
        HEAD + b"Content-Length:\r\n\t5\r\n\r\nreadyEXTRA",
        HEAD + b"Transfer-Encoding: identity\r\n\r\nready",
        HEAD + b"Transfer-Encoding: Chunked\r\n\r\n5 ;a=b\nready\n0\n\n",
        HEAD + b"X: 1\r\n" * (MOST_HEADERS - 1) + b"Content-Length: 5\r\n\r\nready",
        b"HTTP/1.1 999 \xff\xc3\xa4\r\nContent-Length: 5\r\n\r\nready",
    ],
    ids=["line-feeds", "no-reason", "folded", "identity", "extension", "hundred", "foreign"],
)
def test_what_is_odd_and_leaves_nothing_open_is_read(sent):
    status, body = read(sent)
    assert (status, body) == (999 if b"999" in sent else 200, b"ready")


@pytest.mark.parametrize("status", [101, 204, 304])
def test_an_answer_without_a_body_by_its_status_has_none(ask, status):
    told = ask(b"HTTP/1.1 %d X\r\nContent-Length: 5\r\n\r\nready" % status)
    assert (told["status"], told["body"], told["failure"]) == (status, "", None)


@pytest.mark.parametrize(
    ("sent", "failure"),
    [
        (b"hello", "what answers does not speak HTTP: 'hello'"),
        (b"\r\n" + HEAD + b"\r\n", r"what answers does not speak HTTP: '\x0d\x0aHTTP/1.1 200 OK\x0d\x0a\x0d\x0a'"),
        (b"HTTP/2 200\r\n\r\n", "what answers does not speak HTTP/1: 'HTTP/2 200'"),
        (b"\0\0\x06\x04\0\0\0\0\0\0\x05\0\0@\0", "what answers does not speak HTTP/1 but HTTP/2 alone (as gRPC does)"),
        (b"\x15\x03\x01\0\x02\x02\x46", "what answers does not speak HTTP but TLS (https)"),
        (b"HTTP/1.1 000 X\r\n\r\n", "what answers does not speak HTTP: its status line is 'HTTP/1.1 000 X'"),
        (b"HTTP/1.1 20 X\r\n\r\n", "what answers does not speak HTTP: its status line is 'HTTP/1.1 20 X'"),
        (b"HTTP/1.1 200 \x1b\r\n\r\n", r"what answers does not speak HTTP: its status line is 'HTTP/1.1 200 \x1b'"),
        (HEAD[:-2] + b"x" * 1_000_000, "its status line is too long: it does not end within 8 KiB"),
    ],
    ids=["text", "empty-line", "http2", "settings", "alert", "000", "20", "control", "long"],
)
def test_what_begins_with_no_status_line(sent, failure):
    with pytest.raises(Malformed) as caught:
        read(sent)
    assert str(caught.value) == failure


def test_what_speaks_another_protocol_and_waits_is_told_at_once(ask):
    # It neither ends its line nor closes; nobody waits for that until the time is over.
    assert ask(b"\0\0\0\x04\0\0\0\0\0", hold=True)["failure"].endswith("HTTP/2 alone (as gRPC does)")


def test_a_redirect_is_not_followed_wherever_it_leads(ask, server):
    for place in (b"file:///etc/passwd", server.url.encode(), b"gopher://a.example/"):
        told = ask(b"HTTP/1.1 302 Found\r\nLocation: " + place + b"\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n")
        assert (told["status"], told["leads_to"]) == (302, place.decode())


def test_many_small_archives_cost_no_more_than_their_bytes():
    # What stands behind the end of one is copied; of all of it, that would be 200 GB.
    empty = gzip.compress(b"", mtime=0)
    assert decoded(empty * 100_000, ["gzip"], query.BODY_LIMIT) == b""
