"""Indexes that answer strangely, or not at all: what is said of it once real uv or real pip did its dry run."""

import base64
import contextlib
import http.server
import shutil
import threading
import time
import venv
from dataclasses import replace
from pathlib import Path

import pip
import pytest

from stackplan.actions.python_packages import KIND
from stackplan.connection.wire import _answer, plain
from stackplan.model.change import Change
from stackplan.model.facts import Unknown
from stackplan.model.secret import Secret
from stackplan.node.asker import answer
from stackplan.node.context import Context
from tests.actions.test_real_installers import UV, needs_uv, wheel

TORN = b"PK\x03\x04 and no more"
LOGIN = "Basic " + base64.b64encode(b"ops:hunter2-hunter2").decode()


class Strange(http.server.BaseHTTPRequestHandler):
    """Answers as the first part of the path says; a proxy for http://index.example/, if with the right password."""

    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        self.server.seen.append(self.path)
        if self.path.startswith("http://"):
            return self._proxied()
        word = self.path.split("/")[1]
        if word.isdigit():
            return self._reply(int(word), b"no", "text/plain")
        if word == "loop":
            return self._reply(302, b"", "text/plain", Location=f"{self.path}x/")
        if word == "form":
            return self._reply(200, b"<html><form>Log in</form></html>", "text/html")
        if word == "torn":
            page = b'<!DOCTYPE html><html><body><a href="/torn/torch-2.0-py3-none-any.whl">torch</a></body></html>'
            return self._reply(200, TORN if self.path.endswith(".whl") else page, "text/html")
        assert word == "silent"
        self.server.over.wait(60)
        return None

    def _proxied(self):
        if self.headers.get("Proxy-Authorization") != LOGIN:
            return self._reply(407, b"", "text/plain")
        path = self.server.folder / self.path.removeprefix("http://index.example/").strip("/").replace("%2B", "+")
        if path.is_dir():
            links = "".join(f'<a href="{it.name.replace("+", "%2B")}">{it.name}</a>' for it in path.iterdir())
            return self._reply(200, f"<!DOCTYPE html><html><body>{links}</body></html>".encode(), "text/html")
        if path.is_file():
            return self._reply(200, path.read_bytes(), "application/octet-stream")
        return self._reply(404, b"", "text/plain")

    def _reply(self, status, content, kind, **headers):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), "Content-Type": kind, **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            with contextlib.suppress(OSError):
                self.wfile.write(content)

    def log_message(self, *about):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *about):
        """Say nothing: an installer that has seen enough closes the connection."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("proxied")
    wheel(folder / "cu130" / "torch", "torch", "2.11.0+cu130")
    with Server(("127.0.0.1", 0), Strange) as made:
        made.seen, made.over, made.folder = [], threading.Event(), folder
        made.host = f"127.0.0.1:{made.server_address[1]}"
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield made
        finally:
            made.over.set()
            made.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def environments(tmp_path_factory):
    """Yield the folders of two environments: a bare one, and one that holds pip."""
    folder = tmp_path_factory.mktemp("environments")
    for name in ("uv", "pip"):
        venv.create(folder / name, with_pip=False, symlinks=True)
    (packages,) = (folder / "pip").glob("lib/python*/site-packages")
    source = Path(pip.__file__).parent
    (packages / "pip").symlink_to(source)
    (info,) = source.parent.glob("pip-*.dist-info")
    shutil.copytree(info, packages / info.name)
    return folder


@pytest.fixture
def dry_run(tmp_path, arguments, facts, environments, monkeypatch):
    """Return what an action foretells whose step has this `env`; `asked` holds the questions of its dry runs."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    programs = tmp_path / "bin"
    programs.mkdir()
    if UV is not None:
        (programs / "uv").symlink_to(UV)
    context = Context(environment={"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(tmp_path), "NETRC": "/dev/null/x"})

    def told(queries):
        asked = {it: {"kind": it.kind, "arguments": plain(it.arguments)} for it in queries}
        return {it: _answer(answer(row, context)) for it, row in asked.items()}

    def predict(installer, env=None, **values):
        given = {"venv": str(environments / installer), "installer": installer, "packages": ["torch"], **values}
        step = {"UV_HTTP_RETRIES": "0", "PIP_RETRIES": "0", **(env or {})}
        kind = KIND.read(replace(arguments(**given), step_environment=step))
        known = facts(told(kind.queries()))
        predict.asked = kind.forecast(known)
        return kind.predict(replace(known, answers={**known.answers, **told(predict.asked)}))

    return predict


INSTALLERS = [pytest.param("uv", marks=needs_uv), "pip"]
FAULTS = [
    ("404", "", "SP208", "answered 404 Not Found", "is it right, and does it hold torch"),
    ("401", "", "SP207", "wants a login (401 Unauthorized)", "from a secret variable"),
    ("401", "ops:wrong-wrong@", "SP207", "refused the login (401 Unauthorized)", "Check the user and the password"),
    ("403", "", "SP207", "refused access (403 Forbidden)", "from a secret variable"),
    ("500", "", "SP207", "answered 500 Internal Server Error", "Try again"),
    ("503", "", "SP207", "answered 503 Service Unavailable", "Try again"),
    ("429", "", "SP207", "answered 429 Too Many Requests", "Try again later"),
    ("loop", "", "SP207", "redirects without end", "that the node reaches it"),
    ("form", "", "SP208", "answered with a page that names no file (text/html)", "is it right"),
]


# pip is slow to start; to it the node's own look at the index matters most, for it says nothing by itself.
ROWS = [pytest.param("uv", *row, marks=needs_uv) for row in FAULTS] + [("pip", *FAULTS[at]) for at in (1, 5)]


@pytest.mark.parametrize(("installer", "word", "user", "code", "said", "remedy"), ROWS)
def test_what_an_index_does_is_said_as_it_is(dry_run, server, installer, word, user, code, said, remedy):  # noqa: PLR0917 - a row
    address = f"http://{user}{server.host}/{word}"
    first, *_ = dry_run(installer, index_url=Secret(address) if user else address).failures
    shown = "***" if user else address
    assert first.summary == f"The index {shown}, asked for torch, {said}."
    assert first.code == code
    assert remedy in first.remedy
    assert "`index_url` at 40:7" in first.remedy


@pytest.mark.parametrize("installer", INSTALLERS)
def test_an_index_that_is_silent_is_not_waited_for(dry_run, server, installer):
    began = time.monotonic()
    name = {"uv": "UV_HTTP_TIMEOUT", "pip": "PIP_DEFAULT_TIMEOUT"}[installer]
    first, *_ = dry_run(installer, {name: "1"}, index_url=f"http://{server.host}/silent").failures
    assert first.summary == f"The index http://{server.host}/silent, asked for torch, did not answer within 1 s."
    assert f'`env: {{{name}: "60"}}`' in first.remedy
    # Two limits of one second each, on a machine that may be busy; without the step's `env` it would be twenty.
    assert time.monotonic() - began < 15


@pytest.mark.parametrize("installer", INSTALLERS)
def test_a_torn_wheel_is_told(dry_run, server, installer):
    found = dry_run(installer, index_url=f"http://{server.host}/torn")
    if isinstance(found, Unknown):
        assert "torch" in found.why
    else:
        said = " ".join((*found.details, *(str(it) for it in found.failures)))
        assert found.failures or "what torch 2.0 requires is not known" in said


@needs_uv
def test_the_steps_proxy_is_the_dry_runs_and_its_password_stays_unseen(dry_run, server):
    server.seen.clear()
    proxy, token = Secret(f"http://ops:hunter2-hunter2@{server.host}"), Secret("hf-token-hf-token")
    env = {"HTTP_PROXY": proxy, "HF_TOKEN": token, "UV_HTTP_TIMEOUT": "30"}
    foretold = dry_run("uv", env, index_url="http://index.example/cu130")
    assert [it for it in foretold.changes if it.kind == "package"] == [Change("package", "torch", None, "2.11.0+cu130")]
    assert foretold.details == ()
    assert {it.split("/")[2] for it in server.seen} == {"index.example"}
    (query,) = dry_run.asked
    assert query.holds_secret
    assert set(query.arguments["step_environment"]) == {
        "HTTP_PROXY",
        "UV_HTTP_TIMEOUT",
        "UV_HTTP_RETRIES",
        "PIP_RETRIES",
    }
    assert "hunter2" not in repr(foretold) + repr(query) + query.key
    first, *_ = dry_run("uv", {"HTTP_PROXY": f"http://{server.host}"}, index_url="http://index.example/cu130").failures
    assert "407" in f"{first.summary} {first.causes}", "without the password the proxy lets nobody through"


@needs_uv
def test_a_secret_that_no_installer_reads_leaves_the_dry_run_recordable(dry_run, server):
    dry_run("uv", {"HF_TOKEN": Secret("hf-token-hf-token")}, index_url=f"http://{server.host}/404")
    (query,) = dry_run.asked
    assert not query.holds_secret


@needs_uv
def test_a_plan_leaves_the_users_cache_alone(dry_run, server, tmp_path):
    env = {"HTTP_PROXY": f"http://ops:hunter2-hunter2@{server.host}"}
    assert dry_run("uv", env, index_url="http://index.example/cu130").changes
    assert not (tmp_path / ".cache").exists()
    assert [it.name for it in tmp_path.glob("state/stackplan/*/cache/*")], "it has a cache of its own"
