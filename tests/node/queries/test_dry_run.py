"""The parts of a dry run: the shadow, what uv says in each of its forms, where wheels lie and what they say."""

import base64
import contextlib
import http.server
import json
import os
import threading
import zipfile
from pathlib import Path

import pytest

from stackplan.node.context import CannotTell, ProbeFailed
from stackplan.node.queries import (
    _cache,
    _index,
    _installer_run,
    _lockfile,
    _metadata_fetch,
    _metadata_store,
    _shadow,
    _web,
    dry_run,
)

METADATA = (
    "Metadata-Version: 2.4\nName: torch\nVersion: 2.11.0\nRequires-Dist: numpy>=2\nProvides-Extra: all\n\nLong.\n"
)
DIGEST = "0a" * 32
PAGE = b'<a href="/torch-2.11.0-py3-none-any.whl">torch</a>'
LOCK = """lock-version = "1.0"

[[packages]]
name = "torch"
version = "2.11.0+cu130"
wheels = [
    { url = "https://x/torch-2.11.0%2Bcu130-cp311-cp311-win_amd64.whl", hashes = { sha256 = "00" } },
    { name = "b", url = "https://x/torch-2.11.0%2Bcu130-cp311-cp311-manylinux_2_28_MACHINE.whl", hashes = {} },
]

[[packages]]
name = "demo"
version = "1.0"
sdist = { url = "https://x/demo-1.0.tar.gz", size = 3, hashes = { sha256 = "DIGEST" } }

[[packages]]
name = "local"
version = "1.0"
archive = { path = "/w/local-1.0-py3-none-any.whl" }
"""
LINES = """Resolved 3 packages in 40ms
Would install 2 packages
 - torch==2.10.0+cu128
 + torch==2.11.0+cu130
 ~ demo==1.0
"""
WEB = _web.Web({"NETRC": "/dev/null/none"}, {})
UV_JSON = {"changes": [{"name": "torch", "version": "2.11.0+cu130", "action": "installed"}], "dry_run": True}


class Files(http.server.BaseHTTPRequestHandler):
    """Serves `files` by path, by ranges where `ranges` says so; `locked` paths want ops and a password."""

    def do_GET(self):
        server = self.server
        server.asked.append((self.path, self.headers.get("Range")))
        if self.path.startswith("/silent/"):
            server.over.wait(60)
            return None
        if self.path.startswith("/trickle/"):
            return self._trickle()
        content = server.files.get(self.path)
        expected = "Basic " + base64.b64encode(b"ops:pass word").decode()
        if self.path.startswith("/locked/") and self.headers.get("Authorization") != expected:
            return self._reply(401, b"")
        if content is None:
            return self._reply(404, b"")
        span = self.headers.get("Range") if server.ranges else None
        if span is None:
            return self._reply(200, content)
        begin, _, end = span.removeprefix("bytes=").partition("-")
        first = int(begin) if begin else max(0, len(content) - int(end))
        last = int(end) if begin else len(content) - 1
        part = content[first : last + 1]
        return self._reply(206, part, f"bytes {first}-{last}/{len(content)}")

    def _trickle(self):
        """Send a byte now and then, as long as anybody listens."""
        self.send_response(200)
        self.end_headers()
        with contextlib.suppress(OSError):
            while not self.server.over.wait(0.05):
                self.wfile.write(b" ")
                self.wfile.flush()

    def _reply(self, status, content, span=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        if span:
            self.send_header("Content-Range", span)
        self.end_headers()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(content)

    def log_message(self, *about):
        pass


@pytest.fixture(autouse=True)
def state(monkeypatch, tmp_path):
    """The folder in which stackplan keeps what it has on a node."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files) as made:
        made.files, made.asked, made.ranges, made.over = {}, [], True, threading.Event()
        made.address = f"http://127.0.0.1:{made.server_address[1]}"
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield made
        finally:
            made.over.set()
            made.shutdown()
            thread.join()


@pytest.fixture
def wheel(tmp_path):
    """The path of a wheel of half a megabyte, most of it ahead of METADATA."""
    path = tmp_path / "torch-2.11.0+cu130-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("torch/lib.so", os.urandom(300_000))
        archive.writestr("torch-2.11.0+cu130.dist-info/METADATA", METADATA)
        archive.writestr("torch-2.11.0+cu130.dist-info/RECORD", os.urandom(200_000))
    return path


def test_metadata_beside_the_wheel_is_taken(server):
    server.files["/torch-2.11.0+cu130-py3-none-any.whl.metadata"] = METADATA.encode()
    place = f"{server.address}/torch-2.11.0+cu130-py3-none-any.whl#sha256=00"
    assert _metadata_fetch.described({"torch": (place, "")}, WEB)["torch"] == {
        "name": "torch",
        "version": "2.11.0",
        "requires": ["numpy>=2"],
        "requires_python": None,
        "provides_extra": ["all"],
        "folder": "torch-2.11.0+cu130.dist-info",
        "why": None,
    }
    assert len(server.asked) == 1


def test_metadata_is_read_from_inside_by_parts(server, wheel):
    server.files[f"/{wheel.name}"] = wheel.read_bytes()
    told = _metadata_fetch.described({"torch": (f"{server.address}/{wheel.name}", "")}, WEB)
    assert told["torch"]["requires"] == ["numpy>=2"]
    assert all(span for path, span in server.asked if path.endswith(".whl")), "never the whole wheel"


def test_a_server_without_ranges_gives_the_whole_of_a_small_wheel_and_a_file_is_read_in_place(server, wheel):
    server.ranges = False
    server.files[f"/{wheel.name}"] = wheel.read_bytes()
    places = {"far": (f"{server.address}/{wheel.name}", ""), "near": (str(wheel), ""), "url": (f"file://{wheel}", "")}
    told = _metadata_fetch.described(places, WEB)
    assert [told[it]["requires"] for it in places] == [["numpy>=2"]] * 3


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("https://x/demo-1.0.tar.gz", "built from source"),
        ("/no/such/demo-1.0-py3-none-any.whl", "could not be read"),
        ("ftp://x/demo-1.0-py3-none-any.whl", "no address of http or https"),
    ],
)
def test_what_tells_nothing_says_why(place, why):
    assert why in _metadata_fetch.described({"demo": (place, "")}, WEB)["demo"]["why"]


def test_what_a_wheel_of_known_digest_said_is_not_asked_again(server, wheel, state):
    server.files[f"/{wheel.name}"] = wheel.read_bytes()
    places = {"torch": (f"{server.address}/{wheel.name}", DIGEST)}
    first = _metadata_fetch.described(places, WEB)
    count = len(server.asked)
    assert _metadata_fetch.described(places, WEB) == first
    assert (len(server.asked), count > 0) == (count, True)
    (kept,) = state.rglob(DIGEST)
    kept.write_text("{")
    assert _metadata_fetch.described(places, WEB) == first


def test_a_torn_wheel_says_why(server):
    server.files["/demo-1.0-py3-none-any.whl"] = b"PK\x03\x04 and no more"
    told = _metadata_fetch.described({"demo": (f"{server.address}/demo-1.0-py3-none-any.whl", "")}, WEB)
    assert "not a zip file" in told["demo"]["why"]


def row(name, why, index=0, *, silent=False):
    return {"name": name, "index": index, "why": why, "silent": silent}


def test_indexes_that_do_not_answer_are_found(server):
    server.files |= {"/good/torch/": PAGE, "/locked/torch/": PAGE}
    good, bad, locked = (f"{server.address}/{it}" for it in ("good", "bad", "locked"))
    assert _index.findings([good], ["torch"], WEB) == []
    assert _index.findings([good, bad], ["torch"], WEB) == [row(None, "answered 404 Not Found", 1)]
    assert _index.findings([good], ["torch", "demo"], WEB) == [row("demo", "answered 404 Not Found")]
    opened = locked.replace("http://", "http://ops:pass%20word@")
    assert _index.findings([opened], ["torch"], _web.Web({}, _web.passwords([opened]))) == []
    wrong = locked.replace("http://", "http://ops:wrong@")
    assert _index.findings([wrong], ["torch"], WEB) == [row(None, "refused the login (401 Unauthorized)")]
    assert _index.findings([], ["torch"], WEB) == []


def test_an_index_that_wants_a_user_is_not_judged_where_netrc_may_hold_one(server, tmp_path):
    locked = f"{server.address}/locked"
    assert _index.findings([locked], ["torch"], WEB) == [row(None, "wants a login (401 Unauthorized)")]
    (tmp_path / "netrc").touch()
    assert _index.findings([locked], ["torch"], _web.Web({"NETRC": str(tmp_path / "netrc")}, {})) == []


def test_places_of_a_lock():
    machine = os.uname().machine
    assert _lockfile.places(LOCK.replace("MACHINE", machine).replace("DIGEST", DIGEST), "3.11.7") == {
        "torch": (f"https://x/torch-2.11.0%2Bcu130-cp311-cp311-manylinux_2_28_{machine}.whl", ""),
        "demo": ("https://x/demo-1.0.tar.gz", DIGEST),
        "local": ("/w/local-1.0-py3-none-any.whl", ""),
    }
    assert _lockfile.places("", "3.11.7") == {}


def ask(environment, programs, context, **more):
    given = {
        "installer": "uv",
        "venv": str(environment.path),
        "install": {"argv": [str(programs.folder / "uv"), "pip", "install", "torch"]},
        **more,
    }
    return dry_run.answer(given, context())


def test_uv_that_knows_json(environment, programs, context):
    programs.write("uv", f"echo '{json.dumps(UV_JSON)}'")
    told = ask(environment, programs, context)
    assert told["changes"] == [{"name": "torch", "before": None, "after": "2.11.0+cu130"}]
    assert "why" in told["metadata"]["torch"]


def test_an_older_uv_is_read_by_its_lines(environment, programs, context):
    refusal = "error: unexpected argument '--output-format' found"
    programs.write("uv", f'case "$*" in *json*) echo "{refusal}" >&2; exit 2;; esac\ncat >&2 <<"X"\n{LINES}X')
    assert ask(environment, programs, context)["changes"] == [
        {"name": "demo", "before": "1.0", "after": "1.0"},
        {"name": "torch", "before": "2.10.0+cu128", "after": "2.11.0+cu130"},
    ]


def test_a_uv_without_dry_run_cannot_tell(environment, programs, context):
    programs.write("uv", "echo \"error: unexpected argument '$4' found\" >&2; exit 2")
    with pytest.raises(CannotTell, match="this uv cannot do a dry run"):
        ask(environment, programs, context)


def test_a_form_of_json_that_nobody_knows_fails(environment, programs, context):
    programs.write("uv", "echo '{\"plan\": []}'")
    with pytest.raises(ProbeFailed, match="cannot be read"):
        ask(environment, programs, context)


def test_a_pip_that_is_not_there_cannot_tell(environment, programs, context):
    install = {"argv": ["{shadow}/bin/python", "{pip}", "install", "torch"]}
    with pytest.raises(CannotTell, match=r"pip 22\.3 or newer"):
        ask(environment, programs, context, installer="pip", install=install)


def test_a_refusal_is_told_in_the_words_of_the_environment_and_the_shadow_is_gone(
    environment, programs, context, tmp_path, monkeypatch
):
    monkeypatch.setattr(_shadow, "MEMORY", str(tmp_path))
    programs.write("uv", 'echo "error: no torch for $5" >&2; exit 1')
    install = {"argv": [str(programs.folder / "uv"), "pip", "install", "torch", "--python", "{shadow}/bin/python"]}
    told = ask(environment, programs, context, install=install)
    assert told["refused"]["reason"] == f"error: no torch for {environment.path}/bin/python"
    assert (told["refused"]["exit_code"], told["changes"]) == (1, [])
    assert not list(tmp_path.glob("stackplan-shadow-*"))


def test_the_shadow_holds_metadata_alone_and_carries_changes(environment, programs, context):
    environment.install("torch", "2.10.0", {"torch/__init__.py": "x"}, requires=("numpy",))
    environment.install("gone", "1.0")
    script = 'cd "${4%/bin/python}"\nfind . -path "*site-packages/*" -type f | sort >&2\ncat lib/*/*/new*/* >&2\nexit 1'
    programs.write("uv", script)
    install = {"argv": [str(programs.folder / "uv"), "pip", "install", "{shadow}/bin/python"]}
    install["argv"].insert(3, "--python")
    about = {
        "name": "new",
        "version": "1.0",
        "requires": ["torch==2.10.0"],
        "provides_extra": [],
        "requires_python": None,
    }
    added = [{"folder": "new-1.0.dist-info", "metadata": about, "direct_url": None}]
    carried = {"make": None, "removed": ["gone-1.0.dist-info"], "added": added}
    output = ask(environment, programs, context, install=install, carried=carried)["refused"]["output"]
    assert [line.rpartition("site-packages/")[2] for line in output.splitlines() if line.startswith("./")] == [
        "new-1.0.dist-info/METADATA",
        "torch-2.10.0.dist-info/METADATA",
    ]
    assert "Requires-Dist: torch==2.10.0" in output


def test_what_a_killed_dry_run_left_behind_is_cleared_away(context, tmp_path, monkeypatch):
    monkeypatch.setattr(_shadow, "MEMORY", str(tmp_path))
    old, new = tmp_path / "stackplan-shadow-old", tmp_path / "stackplan-shadow-new"
    for path in (old, new):
        path.mkdir()
    os.utime(old, (0, 0))
    with _shadow.folder(context(), "key") as made:
        assert Path(made).is_dir()
    assert (old.exists(), new.exists(), Path(made).exists()) == (False, True, False)


def test_lines_with_an_address_are_read_by_the_wheels_name():
    rows = _installer_run._line_rows(
        "Would install 1 package\n + torch @ https://u:p@x/torch-2.11.0%2Bcu130-cp311-cp311-linux_x86_64.whl\n"
    )
    assert rows == [("+", "torch", "2.11.0+cu130")]
    with pytest.raises(CannotTell, match="which version of demo is at https://x/demo"):
        _installer_run._line_rows("Would install 1 package\n + demo @ https://u:p@x/demo.git\n")


def test_what_a_wrapper_prints_ahead_of_the_json_is_passed_over(environment, programs, context):
    programs.write("uv", f"echo 'uv of the site, version 3'; echo '{json.dumps(UV_JSON)}'")
    assert ask(environment, programs, context)["changes"] == [
        {"name": "torch", "before": None, "after": "2.11.0+cu130"},
    ]


OLD = 'case "$*" in *json*) echo "error: unexpected argument --output-format" >&2; exit 2;; esac; '


@pytest.mark.parametrize(
    "script", ["echo hello", "true", r"printf '\377\376{'", OLD + "echo all is well >&2", OLD + "true"]
)
def test_a_uv_that_ends_well_and_says_nothing_of_a_dry_run_is_not_believed(environment, programs, context, script):
    programs.write("uv", script)
    with pytest.raises(ProbeFailed, match="uv's dry run cannot be read"):
        ask(environment, programs, context)


def test_bytes_that_are_no_text_are_shown_replaced(environment, programs, context):
    programs.write("uv", r"printf 'error: \377\376\033[2J' >&2; exit 1")
    assert ask(environment, programs, context)["refused"]["reason"].startswith("error: \ufffd\ufffd")


def test_of_a_flood_a_part_is_kept(environment, programs, context):
    programs.write("uv", "head -c 10000000 /dev/zero | tr '\\0' x >&2; exit 1")
    refused = ask(environment, programs, context)["refused"]
    assert (len(refused["reason"]), len(refused["output"])) == (500, 8000)


def test_a_uv_that_is_killed_has_not_refused_anything(environment, programs, context):
    programs.write("uv", "kill -9 $$")
    with pytest.raises(ProbeFailed, match="uv was ended by signal 9"):
        ask(environment, programs, context)


def test_a_uv_that_waits_for_a_silent_index_is_cut_off_and_the_index_named(
    environment, programs, context, server, monkeypatch
):
    monkeypatch.setattr(_installer_run, "TIMEOUT_S", 1.0)
    programs.write("uv", "exec sleep 600")
    asked = {
        "indexes": [f"{server.address}/silent"],
        "names": ["torch"],
        "step_environment": {"UV_HTTP_TIMEOUT": "0.5"},
    }
    told = ask(environment, programs, context, **asked)
    assert told["index_findings"] == [row(None, "did not answer within 0.5 s", silent=True)]
    assert "did not end within 1 s" in told["refused"]["reason"]
    with pytest.raises(ProbeFailed, match="did not end within 1 s"):
        ask(environment, programs, context)


def test_an_index_that_goes_on_sending_is_not_said_to_be_silent(environment, programs, context, server, monkeypatch):
    """A run waits for it as long as it sends, so the plan does not know what comes of it."""
    monkeypatch.setattr(_installer_run, "TIMEOUT_S", 1.0)
    programs.write("uv", "exec sleep 600")
    asked = {
        "indexes": [f"{server.address}/trickle"],
        "names": ["torch"],
        "step_environment": {"UV_HTTP_TIMEOUT": "0.5"},
    }
    with pytest.raises(CannotTell, match=r"an index had not sent its page after 2\.5 s, and .* did not end within 1 s"):
        ask(environment, programs, context, **asked)


def test_an_index_that_a_run_waits_for_longer_is_not_called_dead(environment, programs, context, server, monkeypatch):
    monkeypatch.setattr(_web, "LONGEST_PATIENCE_S", 0.5)
    programs.write("uv", "echo 'error: operation timed out' >&2; exit 2")
    asked = {"indexes": [f"{server.address}/silent"], "names": ["torch"]}
    told = "did not answer within 0.5 s; a run waits for it up to 7 s"
    with pytest.raises(CannotTell, match=told):
        ask(environment, programs, context, step_environment={"UV_HTTP_TIMEOUT": "7"}, **asked)
    dead = ask(environment, programs, context, step_environment={"UV_HTTP_TIMEOUT": "0.5"}, **asked)
    assert dead["refused"]["exit_code"] == 2, "the negative control"


@pytest.mark.parametrize(
    ("environment", "pip", "seconds"),
    [
        ({}, False, 30.0),
        ({}, True, 15.0),
        ({"UV_HTTP_TIMEOUT": "7"}, False, 7.0),
        ({"UV_HTTP_TIMEOUT": "7"}, True, 15.0),
        ({"PIP_DEFAULT_TIMEOUT": "7"}, True, 7.0),
        ({"PIP_DEFAULT_TIMEOUT": "7"}, False, 30.0),
        ({"UV_HTTP_TIMEOUT": "soon"}, False, 30.0),
        ({"UV_HTTP_TIMEOUT": "600"}, False, 60.0),
    ],
)
def test_a_plan_is_as_patient_as_the_installer(environment, pip, seconds):
    assert _web.patience_s(environment, pip=pip) == seconds


def test_the_store_of_metadata_is_bounded(state, monkeypatch):
    monkeypatch.setattr(_metadata_store.STORE, "most", 3)
    about = {"name": "torch", "version": "1", "requires": [], "requires_python": None, "provides_extra": []}
    for number in range(6):
        _metadata_store.keep(f"{number}", about)
        (path,) = state.rglob(f"metadata/{number}")
        os.utime(path, (path.stat().st_mtime - 1000 * (6 - number),) * 2)
    os.utime(path, (0, 0))
    _metadata_store.STORE.make_room()
    assert [_metadata_store.kept(str(number)) is not None for number in range(6)] == [False] * 2 + [True] * 3 + [False]
    monkeypatch.setattr(_metadata_store.STORE, "largest", 1)
    _metadata_store.STORE.make_room()
    assert not list(state.rglob("metadata/*"))


def test_the_cache_of_dry_runs_is_bounded_and_not_taken_from_another(state, tmp_path, monkeypatch):
    def use(content=b""):
        with _cache.at_hand(str(tmp_path / "spare")) as variables:
            Path(variables["UV_CACHE_DIR"]).mkdir(parents=True, exist_ok=True)
            (Path(variables["UV_CACHE_DIR"]) / "file").write_bytes(content)
            return variables

    use()
    (folder,) = state.glob("stackplan/*/cache")
    assert (folder / "uv/file").exists()
    monkeypatch.setattr(_cache, "LARGEST", 100)
    with _cache.at_hand(str(tmp_path / "spare")):
        use(b"x" * 1000)
        assert (folder / "uv/file").exists(), "another dry run holds it"
    assert not folder.exists()
    use()
    assert folder.exists()
    os.utime(folder / "begun", (0, 0))
    use()
    assert not folder.exists(), "what is old is begun anew"
    monkeypatch.setattr(_cache, "ROOM", 1 << 62)
    assert use()["UV_CACHE_DIR"] == str(tmp_path / "spare/uv")


@pytest.mark.parametrize(("step", "own"), [({}, True), ({"UV_OFFLINE": "1"}, False), ({"UV_CACHE_DIR": "/c"}, False)])
def test_an_installer_that_may_ask_nobody_keeps_its_cache(environment, programs, context, state, step, own):  # noqa: PLR0917 - a row
    programs.write("uv", 'echo "error: cache ${UV_CACHE_DIR:-none}" >&2; exit 1')
    reason = ask(environment, programs, context, step_environment=step)["refused"]["reason"]
    assert reason.startswith(f"error: cache {state}") is own
    if not own:
        assert reason == f"error: cache {step.get('UV_CACHE_DIR', 'none')}"
