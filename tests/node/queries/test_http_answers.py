"""`http` against servers that answer as no server should: what counts is said, and nothing hangs, raises or grows."""

import contextlib
import gzip
import socket
import threading
import zlib

import pytest

from stackplan.node.queries import http as query

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
READY = HEAD + b"Content-Length: 5\r\n\r\nready"


class Server:
    """Answers every connection with `answer`, and then with `forever` for as long as somebody reads it."""

    def __init__(self):
        self.answer, self.forever = (), b""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self._listener.accept()
                with peer, contextlib.suppress(OSError):
                    # One that was cut off may leave its window closed, and then nothing says that it is gone.
                    peer.settimeout(0.5)
                    peer.recv(65536)
                    peer.sendall(b"".join(self.answer))
                    while self.forever:
                        peer.sendall(self.forever)

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()


@pytest.fixture(scope="module")
def server():
    running = Server()
    yield running
    running.close()


@pytest.fixture
def ask(server, context):
    def get(*parts, forever=b"", **more):
        server.answer, server.forever = parts, forever
        return query.answer({"url": server.url, "timeout_s": 20, "body": True, **more}, context())

    return get


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
    (CHUNKED + b"\xff\x1b[2J\r\n", r"its body comes in pieces, and the size of one is no number: '\\xff\x1b[2J'"),
    (CHUNKED + b"3\r\nready\r\n0\r\n\r\n", "its body comes in pieces, and one is longer than its size says"),
    (CHUNKED + b"5\r\nready\r\n0\r\n" + b"X: 1\r\n" * 101, "more than 100 lines follow its body"),
    (
        HEAD + b"X: 1\r\n" * 200 + b"\r\n",
        "the head of the answer is too long: got more than 100 headers",
    ),
    (
        HEAD + b"X: " + b"x" * 70000,
        "the head of the answer is too long: got more than 65536 bytes when reading header line",
    ),
    (b"HTTP/1.1 103 Early Hints\r\n\r\n" * 51, "more than 50 interim answers (103) and no final one"),
    (b"", "the connection is closed without an answer"),
    (b"\0\xff\r\n\r\n", "what answers does not speak HTTP: BadStatusLine"),
    (b"HTTP/1.1 abc\r\n\r\n", "what answers does not speak HTTP: BadStatusLine HTTP/1.1 abc"),
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
def test_an_answer_without_end_costs_its_time_and_no_more(ask, part):
    head = b"" if part.startswith(b"HTTP") else CHUNKED + b"5\r\nready\r\n0\r\nX: "
    told = ask(head, forever=part, timeout_s=0.5)
    assert told["failure"] in ("no whole answer within 0.5 s", "more than 100 lines follow its body")


@pytest.mark.parametrize(
    ("encoding", "sent"),
    [
        (b"gzip", gzip.compress(b'{"a": 1}')),
        (b"x-gzip", gzip.compress(b'{"a"') + gzip.compress(b": 1}")),
        (b"Deflate", zlib.compress(b'{"a": 1}')),
        (b"identity", b'{"a": 1}'),
        (b"gzip", b""),
    ],
    ids=["gzip", "two", "deflate", "identity", "empty"],
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
        (b"gzip", gzip.compress(b"x" * 9_000_000), "the body is larger than 5 MB"),
    ],
    ids=["br", "two", "none", "cut", "bomb"],
)
def test_a_body_that_cannot_be_read_is_never_compared(ask, encoding, sent, fault):
    told = ask(HEAD + b"Content-Encoding: " + encoding + b"\r\n\r\n" + sent, pointers=["/a"])
    assert (told["status"], told["body_fault"], told["body"], told["values"]) == (200, fault, None, {})
    assert told["json_fault"] is None


@pytest.mark.parametrize("key", ["²", "٣", "-1", "9" * 5000, "00", ""])
def test_what_is_no_index_of_a_list_leads_nowhere(ask, key):
    assert ask(HEAD + b"\r\n[1]", pointers=[f"/{key}"])["values"] == {}
