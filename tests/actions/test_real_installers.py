"""Real uv and real pip, an index on loopback, wheels of a few hundred bytes: the job's own stages are what is run."""

import base64
import hashlib
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from stackplan.actions.python_packages import KIND
from stackplan.model.arguments import Arguments
from stackplan.model.change import differences
from stackplan.model.facts import Facts
from stackplan.model.job import Command, Exited
from stackplan.model.kind import ActionKind, CannotAct, Evidence
from stackplan.model.outcome import Reason
from stackplan.model.secret import Secret, reveal
from stackplan.model.verdict import not_held
from stackplan.node.context import Context
from stackplan.node.queries import distributions, installer, record_times, records
from tests.shared import made_once

UV = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
START = "import json, sys; from stackplan.node.stage import perform; perform(json.load(open(sys.argv[1])))"
QUERIES = {
    "distributions": distributions,
    "installer": installer,
    "record_times": record_times,
    "records": records,
}
UNMET = (not_held("torch built for CUDA 13.0", expected="13.0", observed="12.8", evidence="torch in the venv"),)

needs_uv = pytest.mark.skipif(UV is None, reason="needs uv")


def wheel(folder, name, version, *requires, extras=()):
    """Write a wheel by hand: one module, METADATA, WHEEL, RECORD."""
    info = f"{name}-{version}.dist-info"
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        *(f"Provides-Extra: {it}" for it in extras),
        *(f"Requires-Dist: {it}" for it in requires),
    ]
    members = {
        f"{name}/__init__.py": f"__version__ = {version!r}\n",
        f"{info}/METADATA": "\n".join(lines) + "\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = []
    for path, text in members.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(text.encode())}")
    members[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,"]) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in members.items():
            archive.writestr(path, text)


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the folder; below /private/ only to ops with the password."""

    def do_GET(self):
        self.server.seen.append(self.path)
        if self.path.startswith("/private/"):
            expected = "Basic " + base64.b64encode(b"ops:hunter2-hunter2").decode()
            if self.headers.get("Authorization") != expected:
                self.send_response(401)
                self.send_header("WWW-Authenticate", "Basic")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
        super().do_GET()

    def log_message(self, *about):
        pass


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """Yield a function: the address of an index on a server of its own; `/private/` wants a password."""
    root = tmp_path_factory.mktemp("index")
    for label in ("cu128", "cu130", "private"):
        for version in {
            "cu128": ["2.10.0+cu128"],
            "cu130": ["2.10.0+cu130", "2.11.0+cu130"],
            "private": ["2.12.0+cu130"],
        }[label]:
            wheel(root / label / "torch", "torch", version)
        wheel(root / label / "sglang", "sglang", "0.5.2", "torch==2.10.0+cu128")
    for label in ("cu130", "private"):
        shutil.copy(root / "cu128/torch/torch-2.10.0+cu128-py3-none-any.whl", root / label / "torch")
    handler = lambda *about: Handler(*about, directory=str(root))  # noqa: E731 - one line says it
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.seen = []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            address = lambda label, user="": f"http://{user}127.0.0.1:{server.server_address[1]}/{label}"  # noqa: E731
            address.seen = server.seen
            yield address
        finally:
            server.shutdown()
            thread.join()


class Node:
    """This machine as a node: its queries are answered, and a job's stages are started as the supervisor does."""

    def __init__(self, folder, arguments, facts, *, uv):
        self.folder, self.arguments, self.facts = folder, arguments, facts
        self.venv = folder / "venv"
        programs = folder / "bin"
        programs.mkdir()
        if uv:
            (programs / "uv").symlink_to(UV)
        # What an operator's profile may hold; it must change nothing.
        self.login = {
            "PATH": f"{programs}:/usr/bin:/bin",
            "HOME": str(folder),
            "UV_EXTRA_INDEX_URL": "http://127.0.0.1:9/evil",
            "UV_INDEX_URL": "http://127.0.0.1:9/evil",
            "PIP_INDEX_URL": "http://127.0.0.1:9/evil",
            "PIP_CONSTRAINT": "/no/such/file",
            "NO_PROXY": "127.0.0.1",
        }
        self.output = ""
        self.command_lines = []

    def kind(self, **values):
        read = self.arguments(venv=str(self.venv), **values)
        return read, KIND.read(read)

    def ask(self, kind):
        context = Context(environment=self.login)
        return self.facts({it: QUERIES[it.kind].answer(dict(it.arguments), context) for it in kind.queries()})

    def apply(self, **values):
        """Run the action; return its kind's arguments, the facts before and after, the exit status."""
        read, kind = self.kind(**values)
        before = self.ask(kind)
        job = kind.job(before)
        assert not isinstance(job, CannotAct), job
        self.output, status = "", 0
        for stage in job.stages:
            status = self._start(stage)
            if status != 0:
                break
        return Outcome(read, kind, before, self.ask(kind), status, self.output)

    def _start(self, stage):
        step = {"UV_CACHE_DIR": str(self.folder / "cache"), "UV_LINK_MODE": "copy"}
        if isinstance(stage, Command):
            about = {
                "argv": stage.argv,
                "environment": {name: reveal(value) for name, value in stage.environment.items()},
                "drop_environment": stage.drop_environment,
                "cwd": stage.cwd,
            }
            self.command_lines.append(" ".join(stage.argv))
            request = {"command": about, "environment": step}
        else:
            request = {"task": {"kind": stage.kind, "arguments": dict(stage.arguments)}, "environment": step}
            self.command_lines.append(" ".join(word for word in stage.arguments["argv"] if isinstance(word, str)))
        path = self.folder / "stage.json"
        path.write_text(json.dumps(request, default=reveal))
        ended = subprocess.run(
            [sys.executable, "-c", START, str(path)],
            env=self.login,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.output += ended.stdout
        return ended.returncode


@dataclass
class Outcome:
    arguments: Arguments
    kind: ActionKind
    before: Facts
    after: Facts
    status: int
    output: str

    @property
    def changes(self):
        found = differences(self.kind.state(self.before), self.kind.state(self.after))
        return [(it.name, it.before, it.after) for it in found if it.kind == "package"]

    def diagnose(self, reason):
        evidence = Evidence(
            step="torch",
            at=self.arguments.at,
            arguments=self.arguments,
            before=self.before,
            after=self.after,
            ending=Exited(self.status),
            output=self.output,
            reason=reason,
            changes=differences(self.kind.state(self.before), self.kind.state(self.after)),
            unmet=UNMET,
        )
        return self.kind.diagnose(evidence)


@pytest.fixture
def seed(tmp_path_factory, arguments, facts, index, shared_folder):
    """Return where an installer's environment is that holds torch 2.10.0+cu128, made once by the action itself."""

    def made(name):
        path = shared_folder / f"environment-{name}"
        with made_once(path) as unfinished:
            if unfinished is not None:
                node = Node(tmp_path_factory.mktemp("seed"), arguments, facts, uv=name == "uv")
                outcome = node.apply(packages=["torch"], index_url=index("cu128"), create={"python": sys.executable})
                assert outcome.status == 0, outcome.output
                assert ("torch", None, "2.10.0+cu128") in outcome.changes
                shutil.copytree(node.venv, unfinished, symlinks=True)
        return path

    return made


@pytest.fixture
def make_node(tmp_path, arguments, facts, seed):
    """Return a node whose environment holds torch 2.10.0+cu128, with uv alone or pip alone."""

    def make(name):
        made = Node(tmp_path, arguments, facts, uv=name == "uv")
        shutil.copytree(seed(name), made.venv, symlinks=True)
        return made

    return make


@pytest.fixture(params=[pytest.param("uv", marks=needs_uv), "pip"])
def node(request, make_node):
    return make_node(request.param)


@pytest.fixture
def uv_node(make_node):
    if UV is None:
        pytest.skip("needs uv")
    return make_node("uv")


def test_the_founding_story(node, index):
    outcome = node.apply(packages=["torch"], index_url=index("cu130"))
    assert (outcome.status, outcome.changes) == (0, [])
    (diagnosis,) = outcome.diagnose(Reason.NO_OP)
    assert diagnosis.summary == 'The installed torch 2.10.0+cu128 satisfies "torch", so no other index was consulted.'
    assert diagnosis.remedy.startswith("Add `upgrade: true` at 37:7")

    mended = node.apply(packages=["torch"], index_url=index("cu130"), upgrade=True)
    assert (mended.status, mended.changes) == (0, [("torch", "2.10.0+cu128", "2.11.0+cu130")])
    again = node.apply(packages=["torch"], index_url=index("cu130"), upgrade=True)
    assert (again.status, again.changes) == (0, [])


def test_upgrade_does_not_go_back_and_reinstall_does(uv_node, index):
    uv_node.apply(packages=["torch==2.11.0+cu130"], index_url=index("cu130"))
    outcome = uv_node.apply(packages=["torch"], index_url=index("cu128"), upgrade=True)
    assert (outcome.status, outcome.changes) == (0, [])
    (diagnosis,) = outcome.diagnose(Reason.NO_OP)
    assert diagnosis.code == "SP202"
    assert "add `reinstall: [torch]` at 37:7" in diagnosis.remedy

    mended = uv_node.apply(packages=["torch"], index_url=index("cu128"), reinstall=["torch"])
    assert mended.changes == [("torch", "2.11.0+cu130", "2.10.0+cu128")]


def test_a_package_that_pins_torch_takes_it_back(uv_node, index):
    uv_node.apply(packages=["torch==2.11.0+cu130"], index_url=index("cu130"))
    outcome = uv_node.apply(packages=["sglang"], index_url=index("cu130"))
    assert ("torch", "2.11.0+cu130", "2.10.0+cu128") in outcome.changes
    (diagnosis,) = outcome.diagnose(Reason.REGRESSION)
    assert diagnosis.code == "SP210"
    assert "sglang 0.5.2 requires torch==2.10.0+cu128" in diagnosis.summary

    uv_node.apply(packages=["torch==2.11.0+cu130"], index_url=index("cu130"))
    uv_node.apply(remove=["sglang"])
    kept = uv_node.apply(packages=["sglang"], index_url=index("cu130"), no_deps=True)
    assert kept.changes == [("sglang", None, "0.5.2")]


def test_constraints_of_the_playbook_hold(uv_node, index):
    outcome = uv_node.apply(packages=["torch"], index_url=index("cu130"), upgrade=True, constraints=["torch<2.11"])
    assert outcome.changes == [("torch", "2.10.0+cu128", "2.10.0+cu130")]


def test_requirements_of_the_playbook_are_installed(uv_node, index):
    outcome = uv_node.apply(requirements=["torch==2.11.0+cu130"], index_url=index("cu130"))
    assert outcome.changes == [("torch", "2.10.0+cu128", "2.11.0+cu130")]


def test_a_password_opens_the_index_and_stands_on_no_command_line(node, index):
    address = index("private", "ops:hunter2-hunter2@")
    outcome = node.apply(packages=["torch"], index_url=Secret(address), upgrade=True)
    assert outcome.changes == [("torch", "2.10.0+cu128", "2.12.0+cu130")], outcome.output
    assert "hunter2" not in " ".join(node.command_lines)
    assert "hunter2" not in outcome.output

    closed = node.apply(packages=["torch==2.12.0+cu130"], index_url=index("private"), reinstall=True)
    assert closed.status != 0, "without the password nothing comes, so it was the password that did it"


def test_what_the_index_does_not_hold(uv_node, index):
    outcome = uv_node.apply(packages=["flashinfer-python"], index_url=index("cu130"))
    assert outcome.status != 0
    first, *_ = outcome.diagnose(Reason.ACTION)
    assert first.code == "SP208"
    assert first.summary == "The indexes that the step names do not offer flashinfer-python."


def test_removing(uv_node):
    outcome = uv_node.apply(remove=["torch"])
    assert (outcome.status, outcome.changes) == (0, [("torch", "2.10.0+cu128", None)])


def test_files_that_are_gone_are_told_and_come_back(uv_node, index):
    shutil.rmtree(next(uv_node.venv.glob("lib/python*/site-packages/torch")))
    outcome = uv_node.apply(packages=["torch"], index_url=index("cu128"))
    assert (outcome.status, outcome.changes) == (0, [])
    first, *_ = outcome.diagnose(Reason.NO_OP)
    assert (first.code, first.remedy) == ("SP203", "Add `reinstall: [torch]` at 37:7.")
    again = uv_node.apply(packages=["torch"], index_url=index("cu128"), reinstall=["torch"])
    assert again.changes == [("torch", "2.10.0+cu128", "2.10.0+cu128")], "the same files, written anew"
    assert list(uv_node.venv.glob("lib/python*/site-packages/torch/__init__.py"))


def test_the_node_tells_what_it_ignores(uv_node):
    read, kind = uv_node.kind(packages=["torch"])
    answer = next(answer for query, answer in uv_node.ask(kind).answers.items() if query.kind == "installer")
    assert answer.value["ignored"]["variables"] == [
        "PIP_CONSTRAINT",
        "PIP_INDEX_URL",
        "UV_EXTRA_INDEX_URL",
        "UV_INDEX_URL",
    ]
    assert "evil" not in json.dumps(answer.value)
    assert read.text("venv") == str(uv_node.venv)
