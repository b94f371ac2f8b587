"""`http` against servers that answer as no server should: what counts is said, and nothing hangs, raises or grows."""

import gzip
import zlib

import pytest

from stackplan.node.queries import http as query

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
READY = HEAD + b"Content-Length: 5\r\n\r\nready"


@pytest.fixture
def ask(ask_http):
    return ask_http


@pytest.mark.parametrize(
    "interim",
    [
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 102 Processing\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n" * 3,
    ],
)
@pytest.mark.parametrize("final", [READY, CHUNKED + b"5;a=b\r\nready\r\n0\r\nX: 1\r\n\r\n", HEAD + b"\r\nready"])
def test_only_the_final_answer_counts(ask, interim, final):
    told = ask(interim + final)
    assert (told["status"], told["body"], told["failure"]) == (200, "ready", None)


def test_a_change_of_protocol_is_final_and_an_interim_answer_alone_is_none(ask):
    assert ask(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")["status"] == 101
    alone = ask(b"HTTP/1.1 103 Early Hints\r\n\r\n")
    assert (alone["status"], alone["failure"]) == (None, "the connection is closed without an answer")


MALFORMED = [
    (HEAD + b"Content-Length: -5\r\n\r\nready", "answers 200, its length is no number: Content-Length: -5"),
    (HEAD + b"Content-Length: NaN\r\n\r\nready", "answers 200, its length is no number: Content-Length: nan"),
    (HEAD + b"Content-Length: +5\r\n\r\nready", "answers 200, its length is no number: Content-Length: +5"),
    (HEAD + b"Content-Length: 0x5\r\n\r\nready", "answers 200, its length is no number: Content-Length: 0x5"),
    (HEAD + b"Content-Length: \r\n\r\nready", "answers 200, its length is no number: Content-Length: "),
    (
        HEAD + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\nready",
        f"answers 200, its length is none that is possible: {'9' * 40}…",
    ),
    (
        HEAD + b"Content-Length: 5\r\nContent-Length: 500\r\n\r\nready",
        "answers 200 with two lengths: Content-Length: 5, 500",
    ),
    (
        HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "answers 200, its body in an unknown form: Transfer-Encoding: gzip, chunked",
    ),
    (CHUNKED + b"zz\r\nready", "its body comes in pieces, and the size of one is no number: 'zz'"),
    (CHUNKED + b"-5\r\nready\r\n0\r\n\r\n", "its body comes in pieces, and the size of one is no number: '-5'"),
    (CHUNKED + b"\xff\x1b[2J\r\n", r"its body comes in pieces, and the size of one is no number: '\xff\x1b[2J'"),
    (CHUNKED + b"3\r\nready\r\n0\r\n\r\n", "its body comes in pieces, and one is longer than its size says"),
    (CHUNKED + b"5\r\nready\r\n0\r\n" + b"X: 1\r\n" * 101, "the trailer of its body is too long: more than 100 lines"),
    (
        HEAD + b"X: 1\r\n" * 10_000 + b"\r\n",
        "its head is too long: more than 100 lines",
    ),
    (
        HEAD + b"X: " + b"x" * 1_000_000 + b"\r\n\r\n",
        "its head is too long: it does not end within 256 KiB",
    ),
    (b"HTTP/1.1 103 Early Hints\r\n\r\n" * 51, "more than 50 interim answers (103) and no final one"),
    (b"", "the connection is closed without an answer"),
    (b"\0\xff\r\n\r\n", "what answers does not speak HTTP: '\\x00\\xff\\x0d\\x0a"),
    (b"HTTP/1.1 abc\r\n\r\n", "what answers does not speak HTTP: its status line is 'HTTP/1.1 abc'"),
]


@pytest.mark.parametrize(("answer", "failure"), MALFORMED, ids=[str(index) for index in range(len(MALFORMED))])
def test_an_answer_that_leaves_open_what_it_is_is_none(ask, answer, failure):
    told = ask(answer, body=False)
    assert told["status"] is None
    assert told["failure"].startswith(failure)
    assert len(told["failure"]) < 250


@pytest.mark.parametrize(
    "answer",
    [
        HEAD + b"Content-Length: 5000000000000\r\n\r\nready",
        CHUNKED + b"5\r\nready\r\n",
        CHUNKED + b"ffffffffff\r\nready",
    ],
)
def test_an_answer_that_is_cut_off_is_none(ask, answer):
    assert ask(answer)["failure"] == "the answer breaks off before its end"


def test_a_length_that_is_told_twice_and_alike_is_one(ask):
    assert ask(HEAD + b"Content-Length: 5\r\nContent-Length: 5, 05\r\n\r\nready")["body"] == "ready"
    assert ask(b"HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n")["status"] == 204


@pytest.mark.parametrize(
    "begin",
    [HEAD + b"\r\n", CHUNKED, CHUNKED + b"ffffffffffff\r\n", HEAD + b"Content-Length: 99999999999\r\n\r\n"],
)
def test_an_endless_body_is_read_up_to_a_bound(ask, monkeypatch, begin):
    monkeypatch.setattr(query, "BODY_LIMIT", 2_000_000)
    piece = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
    told = ask(begin, forever=piece)
    assert (told["status"], told["body"], told["body_fault"]) == (200, None, "the body is larger than 2 MB")


@pytest.mark.parametrize("part", [b"HTTP/1.1 100 Continue\r\n\r\n" * 100, b"x" * 100])
def test_an_answer_without_end_is_read_up_to_a_bound(ask, part):
    head = b"" if part.startswith(b"HTTP") else CHUNKED + b"5\r\nready\r\n0\r\nX: "
    told = ask(head, forever=part)
    bounds = "more than 50 interim answers (100) and no final one", "it does not end within 256 KiB"
    assert told["failure"].endswith(bounds)


@pytest.mark.parametrize(
    ("encoding", "sent"),
    [
        (b"gzip", gzip.compress(b'{"a": 1}')),
        (b"x-gzip", gzip.compress(b'{"a"') + gzip.compress(b": 1}")),
        (b"Deflate", zlib.compress(b'{"a": 1}')),
        (b"deflate", zlib.compress(b'{"a": 1}')[2:-4]),
        (b"deflate, gzip", gzip.compress(zlib.compress(b'{"a": 1}'))),
        (b"gzip\r\nContent-Encoding: identity, gzip", gzip.compress(gzip.compress(b'{"a": 1}'))),
        (b"identity", b'{"a": 1}'),
        (b"gzip", b""),
    ],
    ids=["gzip", "members", "deflate", "bare", "two", "twice", "identity", "empty"],
)
def test_a_compressed_body_is_read_as_what_it_was(ask, encoding, sent):
    told = ask(HEAD + b"Content-Encoding: " + encoding + b"\r\n\r\n" + sent, pointers=["/a"])
    assert told["body"] == ('{"a": 1}' if sent else "")
    assert told["values"] == ({"/a": "1"} if sent else {})


@pytest.mark.parametrize(
    ("encoding", "sent", "fault"),
    [
        (b"br", b"\x0b\x03", "the body is encoded (br), although it was asked for as it is, and that is not read"),
        (b"gzip, br", b"", "the body is encoded (gzip, br), although it was asked for as it is, and that is not read"),
        (b"gzip", b"ready", "the body is said to be gzip and cannot be read as that"),
        (b"gzip", gzip.compress(b"ready")[:-9], "the body is said to be gzip and breaks off"),
        (b"gzip", gzip.compress(b"ready")[:-8] + bytes(8), "the body is said to be gzip and cannot be read as that"),
        (b"gzip", zlib.compress(b"ready"), "the body is said to be gzip and cannot be read as that"),
        (b"gzip", gzip.compress(b"ready") + b"junk", "the body is said to be gzip and cannot be read as that"),
        (b"deflate", b"ready", "the body is said to be deflate and cannot be read as that"),
        (b"deflate", zlib.compress(b"ready")[:-2], "the body is said to be deflate and breaks off"),
        (b"deflate", zlib.compress(b"ready") + b"!", "the body is said to be deflate and has something behind its end"),
        (b"gzip, deflate", zlib.compress(b"ready"), "the body is said to be gzip and cannot be read as that"),
        (
            b"gzip, gzip, gzip, gzip",
            b"ready",
            "the body is encoded (gzip, gzip, gzip, gzip), although it was asked for as it is, and that is not read",
        ),
        (
            b"z\xc3\xa4p",
            b"ready",
            "the body is encoded (z\\xc3\\xa4p), although it was asked for as it is, and that is not read",
        ),
        (b"gzip, gzip", gzip.compress(gzip.compress(b"x" * 9_000_000)), "the body is larger than 5 MB"),
        (b"gzip", gzip.compress(b"x" * 9_000_000), "the body is larger than 5 MB"),
    ],
    ids=[
        "br",
        "two",
        "none",
        "cut",
        "checksum",
        "zlib",
        "junk",
        "no-deflate",
        "deflate-cut",
        "deflate-junk",
        "inner",
        "four",
        "foreign",
        "bomb-in-bomb",
        "bomb",
    ],
)
def test_a_body_that_cannot_be_read_is_never_compared(ask, encoding, sent, fault):
    told = ask(HEAD + b"Content-Encoding: " + encoding + b"\r\n\r\n" + sent, pointers=["/a"])
    assert (told["status"], told["body_fault"], told["body"], told["values"]) == (200, fault, None, {})
    assert told["json_fault"] is None


@pytest.mark.parametrize("key", ["²", "٣", "-1", "9" * 5000, "00", ""])
def test_what_is_no_index_of_a_list_leads_nowhere(ask, key):
    assert ask(HEAD + b"\r\n[1]", pointers=[f"/{key}"])["values"] == {}
