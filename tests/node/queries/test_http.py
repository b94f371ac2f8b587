"""`http` and `port` against real servers on loopback: answers, silence, refusals, wrong certificates, large bodies."""

import base64
import http.server
import os
import socket
import ssl
import subprocess
import threading

import pytest

from stackplan.node.context import CannotTell, ProbeFailed
from stackplan.node.queries import http as query
from stackplan.node.queries import port
from stackplan.node.queries._http_connection import NotInTime

PAGES = {
    "/health": (200, b"ready\n", {}),
    "/loading": (503, b"", {}),
    "/moved": (302, b"", {"Location": "https://login.a.example/"}),
    "/models": (200, b'{"data": [{"id": "llama", "cost": 0.10, "on": true, "a/b": null, "~": []}]}', {}),
    "/bytes": (200, b"\xff\xfe", {}),
    "/deep": (200, b"[" * 10_000 + b"]" * 10_000, {}),
    "/large": (200, b"x" * 3000, {}),
}

BROKEN = {
    "/short": b"Content-Length: 100\r\n\r\nok",
    "/chunk": b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel",
}


BEGUN = b"HTTP/1.0 200 OK\r\nContent-Length: 10\r\n\r\nx"
SLOW = (
    f"it answered 200, and its body was not done within 2 s ({len(BEGUN)} bytes had come): "
    "`timeout` says how long to wait"
)


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves PAGES; /private wants a password, /slow sends a byte and /silent nothing, until the test's end."""

    def do_GET(self):
        self.server.seen.append((self.path, self.headers.get("Authorization")))
        if self.path in ("/slow", "/silent"):
            if self.path == "/slow":
                self.wfile.write(BEGUN)
            self.server.over.wait(30)
            return
        if self.path in BROKEN:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n" + BROKEN[self.path])
            self.close_connection = True
            return
        status, body, headers = PAGES.get(self.path.partition("?")[0], (404, b"", {}))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *about):
        pass


def serve(certificate=None):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.seen, server.over = [], threading.Event()
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    return server


@pytest.fixture
def running(request, tmp_path):
    """A server; with the parameter `tls`, one whose certificate nobody has signed."""
    certificate = None
    if getattr(request, "param", None) == "tls":
        certificate = tmp_path / "both.pem"
        argv = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
        made = subprocess.run([*argv, "-keyout", certificate, "-out", tmp_path / "c"], check=False, capture_output=True)
        assert made.returncode == 0, made.stderr
        certificate.write_bytes(certificate.read_bytes() + (tmp_path / "c").read_bytes())
    with serve(certificate) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            server.shutdown()
            thread.join()


@pytest.fixture
def ask(running, context):
    def get(path, scheme="http", user="", **more):
        url = f"{scheme}://{user}127.0.0.1:{running.server_address[1]}{path}"
        return query.answer({"url": url, "timeout_s": 20, **more}, context())

    return get


def test_status_and_body(ask):
    told = ask("/health", body=True)
    assert (told["status"], told["reason"], told["body"], told["failure"]) == (200, "OK", "ready\n", None)
    assert ask("/loading")["status"] == 503
    assert ask("/health")["body"] is None
    assert ask("/bytes", body=True)["body"] == "\ufffd\ufffd"


def test_a_redirect_is_not_followed(ask, running):
    told = ask("/moved")
    assert (told["status"], told["leads_to"]) == (302, "https://login.a.example/")
    assert len(running.seen) == 1


def test_values_are_as_the_document_writes_them(ask):
    wanted = ["/data/0/id", "/data/0/cost", "/data/0/on", "/data/0/a~1b", "/data/0/~0", "/data/1", "/data/00", "/x"]
    values = ask("/models", pointers=wanted)["values"]
    assert values == {
        "/data/0/id": "llama",
        "/data/0/cost": "0.10",
        "/data/0/on": "true",
        "/data/0/a~1b": "null",
        "/data/0/~0": "[]",
    }
    assert ask("/models", pointers=[""])["values"][""].startswith('{"data":[{"id":"llama","cost":0.10,')


def test_a_list_or_mapping_is_compact_json_with_its_numbers_as_numbers(ask, monkeypatch):
    monkeypatch.setitem(PAGES, "/gpus", (200, b'{"gpus": [0, 1.50, "2"], "of": {"\\u00e9": [null, true]}}', {}))
    values = ask("/gpus", pointers=["/gpus", "/of"])["values"]
    assert values == {"/gpus": '[0,1.50,"2"]', "/of": '{"é":[null,true]}'}


def test_numbers_are_told_from_texts_that_look_like_some(ask, monkeypatch):
    body = b'{"n": 1e2, "f": -1.0, "text": "100", "on": true, "nil": null, "l": [1], "none": NaN}'
    monkeypatch.setitem(PAGES, "/numbers", (200, body, {}))
    wanted = ["/n", "/f", "/text", "/on", "/nil", "/l", "/none", "/l/0", "/x"]
    told = ask("/numbers", pointers=wanted)
    assert told["numbers"] == ["/n", "/f", "/l/0"]
    assert (told["values"]["/n"], told["values"]["/f"]) == ("1e2", "-1.0")


def test_a_body_that_is_no_json_is_told_with_its_beginning(ask, monkeypatch):
    monkeypatch.setitem(PAGES, "/starting", (200, b"<html>starting</html>" + b"x" * 100_000, {}))
    monkeypatch.setitem(PAGES, "/empty", (200, b" \n", {}))
    told = ask("/starting", pointers=["/a"])
    assert told["json_fault"].startswith("the body is no JSON: Expecting value: line 1 column 1")
    assert told["json_fault"].endswith(f"; it begins: <html>starting</html>{'x' * 39}")
    assert told["values"] == {}
    assert ask("/empty", pointers=["/a"])["json_fault"] == "the body is empty"


def test_json_that_is_nested_too_deeply_is_not_said_to_be_none(ask):
    told = ask("/deep", pointers=["/a", ""])
    assert told["body_fault"] == "the body's JSON is nested too deeply to be read"
    assert (told["values"], told["json_fault"]) == ({}, None)


def test_no_more_is_read_than_the_limit(ask, monkeypatch):
    monkeypatch.setattr(query, "BODY_LIMIT", 2999)
    told = ask("/large", body=True, pointers=["/a"])
    assert told["body"] is None
    assert told["body_fault"].startswith("the body is larger than")


def test_a_server_that_never_ends_its_answer_is_cut_off(ask):
    told = ask("/slow", body=True, timeout_s=2)
    assert told["failure"] == SLOW
    assert told["status"] is None


def test_a_server_that_says_nothing_is_told_from_one_that_is_slow(ask):
    told = ask("/silent", timeout_s=0.4)
    assert (told["failure"], told["status"]) == ("it took the connection and sent nothing within 0.4 s", None)


def test_a_server_that_takes_no_connection_in_time_is_told_as_that():
    assert query.why(socket.timeout(), 3.0) == "it took no connection within 3 s"  # noqa: UP041 - another class on 3.8
    assert query.why(NotInTime(1), 3.0) == "it answered 1 byte and was not done within 3 s"


@pytest.mark.parametrize("body", [False, True])
@pytest.mark.parametrize("path", list(BROKEN))
def test_an_answer_that_breaks_off_is_none(ask, path, body):
    told = ask(path, body=body)
    assert (told["status"], told["failure"]) == (None, "the answer breaks off before its end")


def test_a_body_that_nobody_asks_for_has_to_end_too(ask):
    assert ask("/slow", timeout_s=2)["failure"] == SLOW


def test_a_password_travels_in_a_header_and_the_query_in_the_path(ask, running):
    ask("/health?a=b c&d=%20", user="me:hunter%202@")
    expected = "Basic " + base64.b64encode(b"me:hunter 2").decode()
    assert running.seen == [("/health?a=b%20c&d=%20", expected)]


def test_the_proxies_of_the_node_are_not_used(ask, monkeypatch, closed):
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{closed}")
    assert ask("/health")["status"] == 200


@pytest.mark.parametrize("running", ["tls"], indirect=True)
def test_a_certificate_that_is_not_trusted(ask):
    assert ask("/health", scheme="https")["failure"].startswith("its certificate is not trusted: self-signed")
    # What is said there is TLS, and no HTTP.
    assert ask("/health")["status"] is None


def test_what_speaks_no_tls(ask):
    failure = ask("/health", scheme="https")["failure"]
    assert failure.startswith("no TLS: ")
    assert failure.endswith(", so something else is spoken there: is it an http:// address?")


def test_nothing_listens(context, closed):
    told = query.answer({"url": f"http://127.0.0.1:{closed}/"}, context())
    assert told["failure"] == "connection refused"
    assert port.answer({"host": "127.0.0.1", "port": closed}, context()) == {
        "open": False,
        "address": None,
        "failure": "connection refused",
    }


def test_what_answers_speaks_another_language(context):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def speak():
            peer, _ = listener.accept()
            with peer:
                peer.recv(4096)
                peer.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")

        thread = threading.Thread(target=speak)
        thread.start()
        told = query.answer({"url": f"http://127.0.0.1:{listener.getsockname()[1]}/"}, context())
        thread.join()
    assert told["failure"].startswith("what answers does not speak HTTP")


def test_an_open_port(running, context):
    told = port.answer({"host": "127.0.0.1", "port": running.server_address[1]}, context())
    assert told == {"open": True, "address": "127.0.0.1", "failure": None}


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "the node knows no such name"),
        (OSError(113, "No route to host"), "no route to host"),
        (ConnectionResetError(104, "Connection reset by peer"), "connection reset by peer"),
    ],
)
def test_failures_that_are_facts(error, failure):
    assert query.why(error, 5.0) == failure


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"), "could not be looked up"),
        (OSError(24, os.strerror(24)), "the node cannot connect: Too many open files"),
    ],
)
def test_failures_that_say_nothing_of_the_server(error, why):
    with pytest.raises(ProbeFailed, match=why):
        query.why(error, 5.0)


def test_what_is_no_address_of_http(context):
    with pytest.raises(CannotTell, match="neither http nor https"):
        query.answer({"url": "ftp://a.example/"}, context())
