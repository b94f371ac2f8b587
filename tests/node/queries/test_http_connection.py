"""The connection that `http` asks over: addresses, time, and how TLS has to end what does not tell its own end."""

import contextlib
import socket
import ssl
import subprocess
import threading

import pytest

from stackplan.node.queries import _http_connection as connection
from stackplan.node.queries import http as query

UNTOLD = b"HTTP/1.1 200 OK\r\n\r\nready"
TOLD = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nready"
PIECES = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nready\r\n0\r\n\r\n"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate of 127.0.0.1 and its key, in one file."""
    folder = tmp_path_factory.mktemp("tls")
    argv = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    argv += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key", "-out", folder / "certificate"]
    made = subprocess.run(argv, check=False, capture_output=True)
    assert made.returncode == 0, made.stderr
    both = folder / "both.pem"
    both.write_bytes((folder / "key").read_bytes() + (folder / "certificate").read_bytes())
    return both


@pytest.fixture
def ask_tls(certificate, context, monkeypatch):
    """Ask a server whose certificate is trusted; it sends some bytes and ends TLS, or just the connection."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    side.load_cert_chain(certificate)

    def ask(sent, ends_tls):
        with socket.create_server(("127.0.0.1", 0)) as listener:

            def serve():
                plain, _ = listener.accept()
                with side.wrap_socket(plain, server_side=True) as peer, contextlib.suppress(OSError):
                    peer.recv(65536)
                    peer.sendall(sent)
                    if ends_tls:
                        peer.unwrap()

            thread = threading.Thread(target=serve)
            thread.start()
            url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
            told = query.answer({"url": url, "timeout_s": 20, "body": True}, context())
            thread.join()
        return told

    return ask


@pytest.mark.parametrize("ends_tls", [False, True])
@pytest.mark.parametrize("sent", [TOLD, PIECES])
def test_an_answer_that_tells_its_end_needs_no_end_of_tls(ask_tls, sent, ends_tls):
    told = ask_tls(sent, ends_tls)
    assert (told["status"], told["body"], told["failure"]) == (200, "ready", None)


def test_an_answer_that_ends_with_the_connection_needs_one(ask_tls):
    assert ask_tls(UNTOLD, ends_tls=True)["body"] == "ready"
    told = ask_tls(UNTOLD, ends_tls=False)
    assert (told["status"], told["body"]) == (None, None)
    assert told["failure"] == "the connection breaks off: TLS did not end it, and the answer does not tell its end"


@pytest.fixture
def looked_up(monkeypatch):
    """What names were looked up; none of them is known."""
    seen = []

    def unknown(host, port, **more):
        seen.append((host, port))
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(connection.socket, "getaddrinfo", unknown)
    return seen


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("http://[::1]/", ("::1", 80)),
        ("https://[::1]/", ("::1", 443)),
        ("http://[::1]:8000/", ("::1", 8000)),
        ("https://a.example", ("a.example", 443)),
    ],
)
def test_an_address_without_a_port_has_that_of_its_scheme(looked_up, context, url, place):
    assert query.answer({"url": url}, context())["failure"] == "the node knows no such name"
    assert looked_up == [place]


def test_a_name_that_cannot_be_one_is_not_known(context):
    assert query.answer({"url": f"http://{'a' * 70}.example/"}, context())["failure"] == "the node knows no such name"


def test_the_next_address_is_tried_where_one_refuses(server, context, closed, monkeypatch):
    port = int(server.url.rpartition(":")[2].rstrip("/"))
    places = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", closed)),
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)),
    ]
    monkeypatch.setattr(connection.socket, "getaddrinfo", lambda *about, **more: places)
    server.answer = (TOLD,)
    assert query.answer({"url": "http://a.example/", "timeout_s": 20}, context())["status"] == 200
    monkeypatch.setattr(connection.socket, "getaddrinfo", lambda *about, **more: places[:1])
    assert query.answer({"url": "http://a.example/", "timeout_s": 20}, context())["failure"] == "connection refused"


def test_no_time_is_left_behind_the_deadline():
    with pytest.raises(socket.timeout):
        connection._left_s(0.0)


@pytest.mark.parametrize("drips", [False, True])
def test_a_server_that_does_not_go_on_with_tls_takes_no_longer_than_it_may(context, drips):
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            peer, _ = listener.accept()
            with peer, contextlib.suppress(OSError):
                # The head of a long record of TLS, and then a byte of it now and then.
                peer.sendall(b"\x16\x03\x03\x40\x00" if drips else b"")
                while not ended.wait(0.1):
                    peer.sendall(b"\x02" if drips else b"")

        thread = threading.Thread(target=serve)
        thread.start()
        told = query.answer({"url": f"https://127.0.0.1:{listener.getsockname()[1]}/", "timeout_s": 0.5}, context())
        ended.set()
        thread.join()
    begun = "it took the connection, and the TLS handshake was not done within 0.5 s"
    assert told["failure"] == f"{begun}: is the server overloaded, or is it an http:// address?"
