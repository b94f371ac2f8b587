"""The query `offered_file` against servers that give a file out, refuse it, or do not answer."""

import base64
import http.server
import socket
import threading

import pytest

from stackplan.node.context import CannotTell, Context
from stackplan.node.queries import offered_file

LOGIN = "Basic " + base64.b64encode(b"ops:hunter2-hunter2").decode()
OFFERED = {"offered": True, "why": None}


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with the status that the path names; a proxy for http://files.example/."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Range"), self.headers.get("Authorization")))
        word = self.path.rpartition("/")[2]
        if word == "silent":
            self.server.over.wait(60)
            return
        if word == "login":
            word = "200" if self.headers.get("Authorization") == LOGIN else "401"
        if word in ("there", "round", "away"):
            place = {"there": "/206", "round": "/round", "away": "ftp://files.example/x"}[word]
            self._reply(302, Location=place)
            return
        self._reply(int(word))

    def _reply(self, status, **headers):
        self.send_response(status)
        for name, value in {"Content-Length": "0", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *about):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as it:
        it.daemon_threads = True
        it.asked, it.over = [], threading.Event()
        thread = threading.Thread(target=it.serve_forever, args=(0.01,))
        thread.start()
        yield it
        it.over.set()
        it.shutdown()
        thread.join()


@pytest.fixture
def ask(server, tmp_path):
    def asked(path, *, user="", url=None, **step):
        address = url or f"http://{user}127.0.0.1:{server.server_port}/{path}"
        arguments = {"url": address, "step_environment": step} if step else {"url": address}
        return offered_file.answer(arguments, Context(environment={"HOME": str(tmp_path)}))

    return asked


def test_only_the_first_byte_is_asked_for(ask, server):
    assert ask("206") == OFFERED
    assert server.asked == [("/206", "bytes=0-0", None)]


@pytest.mark.parametrize("path", ["200", "206", "there", "416"])
def test_a_file_that_is_given_out(ask, path):
    assert ask(path) == OFFERED


@pytest.mark.parametrize(
    ("path", "user", "why"),
    [
        ("404", "", "answered 404 Not Found"),
        ("410", "", "answered 410 Gone"),
        ("403", "", "refused access (403 Forbidden)"),
        ("login", "", "wants a login (401 Unauthorized)"),
        ("login", "ops:other@", "refused the login (401 Unauthorized)"),
    ],
)
def test_a_file_that_is_not(ask, path, user, why):
    assert ask(path, user=user) == {"offered": False, "why": why}


def test_a_login_that_is_right(ask):
    assert ask("login", user="ops:hunter2-hunter2@") == OFFERED


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("500", "answered 500 Internal Server Error"),
        ("503", "answered 503 Service Unavailable"),
        ("429", "answered 429 Too Many Requests"),
        ("407", "the proxy wants a login"),
        ("round", "redirects without end"),
        ("away", "redirects to what is neither http nor https"),
    ],
)
def test_what_may_be_another_answer_later_tells_nothing(ask, path, why):
    with pytest.raises(CannotTell, match=why):
        ask(path)


def test_nobody_listens(ask):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        found = ask("", url=f"http://127.0.0.1:{taken.getsockname()[1]}/x")
    assert found == {"offered": False, "why": "cannot be reached: Connection refused"}


def test_a_server_that_says_nothing(ask, monkeypatch):
    monkeypatch.setattr(offered_file, "PATIENCE_S", 0.3)
    assert ask("silent") == {"offered": False, "why": "did not answer within 0.3 s"}


def test_what_speaks_no_http_tells_nothing(ask):
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def speak():
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"SSH-2.0-x\r\n")

        thread = threading.Thread(target=speak)
        thread.start()
        with pytest.raises(CannotTell, match="cannot be understood"):
            ask("", url=f"http://127.0.0.1:{listening.getsockname()[1]}/x")
        thread.join()


def test_the_steps_own_proxy_is_used(ask, server):
    proxy = f"http://127.0.0.1:{server.server_port}"
    assert ask("", url="http://files.example/206", http_proxy=proxy) == OFFERED
    assert server.asked[0][0] == "http://files.example/206"
