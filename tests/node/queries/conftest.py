"""Small real trees and stand-in programs for the queries."""

import os
import shutil
import socket
import venv
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from stackplan.node.context import Context
from stackplan.node.queries import http, kernel_caches
from stackplan.node.tasks import clear_caches
from tests.node.queries.answering import Server
from tests.node.queries.kernels import INSTALLED


class Venv:
    """A virtual environment made by Python's own `venv`, and distributions put into it by hand."""

    def __init__(self, path: Path) -> None:
        self.path = path
        venv.create(path, with_pip=False, symlinks=True)
        (self.packages,) = path.glob("lib/python*/site-packages")

    @property
    def asked(self) -> dict[str, str]:
        return {"venv": str(self.path)}

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.packages / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def install(self, name: str, version: str, files: Mapping[str, str] | None = None, requires: tuple[str, ...] = ()):
        """Write a distribution as an installer does, RECORD last."""
        folder = f"{name.replace('-', '_')}-{version}.dist-info"
        needs = "".join(f"Requires-Dist: {it}\n" for it in requires)
        metadata = f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n{needs}\nName: not this one\n"
        rows = []
        for path, content in {**(files or {}), f"{folder}/METADATA": metadata}.items():
            self.write(path, content)
            rows.append(f"{path},sha256={abs(hash(content))},{len(content.encode())}")
        self.write(f"{folder}/RECORD", "\n".join([*rows, f"{folder}/RECORD,,"]) + "\n")
        return folder


class Programs:
    """A folder of stand-in programs, first on the search path of a context."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def write(self, name: str, script: str, mode: int = 0o755) -> Path:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(mode)
        return path


@pytest.fixture
def environment(tmp_path: Path) -> Venv:
    return Venv(tmp_path / "ml-env")


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    return Programs(tmp_path / "bin")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder that stands for the node's /, for /proc, /sys, /etc and /run."""
    path = tmp_path / "root"
    path.mkdir()
    return path


@pytest.fixture
def context(tmp_path: Path, programs: Programs, root: Path) -> Callable[[], Context]:
    """Return a maker of contexts; each stands for a batch of its own. Only the stand-ins and /bin are on its path."""
    home = tmp_path / "home"
    home.mkdir()

    def make(path: str | None = None) -> Context:
        search = path if path is not None else f"{programs.folder}:/usr/bin:/bin"
        return Context(root=str(root), environment={"HOME": str(home), "PATH": search})

    return make


@pytest.fixture
def refuse() -> Callable[[Path], None]:
    """Return what makes a path exist and not be looked at, by root neither: a link that leads to itself."""

    def make(path: Path) -> None:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        path.symlink_to(path.name)

    return make


@pytest.fixture
def home(tmp_path):
    path = tmp_path / "home"
    path.mkdir()
    return path


@pytest.fixture
def stack(environment):
    """Packages of CUDA 13 that were installed at INSTALLED."""
    environment.install("torch", "2.11.0+cu130", {"torch/version.py": "__version__ = '2.11.0+cu130'\ncuda = '13.0'\n"})
    for name, version in (("triton", "3.6.0"), ("flashinfer-python", "0.6.14"), ("vllm", "0.16.0")):
        environment.install(name, version)
    for path in environment.packages.glob("*.dist-info"):
        for it in (*path.iterdir(), path):
            os.utime(it, (INSTALLED, INSTALLED))
    return environment


@pytest.fixture
def write(home):
    """Return what writes a file in the home, as old as it is told to be."""

    def make(path, age, content=b"kernel"):
        place = home / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        os.utime(place, (age, age))
        return place

    return make


@pytest.fixture
def ask(home, stack):
    """Return what asks `kernel_caches`: the answer, and the caches in it that are there, by their tools."""

    def rows(**variables):
        found = {"HOME": str(home), "PATH": "/usr/bin:/bin", "TMPDIR": str(home / "tmp"), **variables}
        told = kernel_caches.answer(stack.asked, Context(environment=found))
        return told, {row["tool"]: row for row in told["caches"] if row["exists"]}

    return rows


@pytest.fixture
def passable(tmp_path):
    """Let other users through the folders of the test, which are this user's alone."""
    above = [path for path in (tmp_path, *tmp_path.parents) if path.stat().st_uid == os.geteuid()]
    modes = {path: path.stat().st_mode for path in above}
    for path, mode in modes.items():
        path.chmod(mode | 0o011)
    yield
    for path, mode in modes.items():
        path.chmod(mode)


@pytest.fixture
def clear(home, stack, monkeypatch):
    """Return what clears the caches that the query found, with the variables of the step laid over the node's."""

    def perform(*, variables=None, step=None, **more):
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("TMPDIR", str(home / "tmp"))
        for name in list(os.environ):
            if name.endswith(("_CACHE_DIR", "_CACHE_HOME", "_CACHE_ROOT")):
                monkeypatch.delenv(name)
        for name, value in (variables or {}).items():
            monkeypatch.setenv(name, value)
        places = kernel_caches.places_of(Context())
        caches = [{"tool": it.tool, "path": it.path, "named_by": it.named_by} for it in places]
        for name, value in (step or {}).items():
            monkeypatch.setenv(name, value)
        return clear_caches.perform({**stack.asked, "user": None, "caches": caches, **more})

    return perform


@pytest.fixture(scope="module")
def server():
    running = Server()
    yield running
    running.close()


@pytest.fixture
def closed():
    """A port of loopback at which nothing listens: it is taken, and does not listen."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture
def ask_http(server, context):
    """Ask `http` of a server that answers with these bytes."""

    def get(*parts, forever=b"", hold=False, **more):
        server.answer, server.forever, server.hold = parts, forever, hold
        return http.answer({"url": server.url, "timeout_s": 20, "body": True, **more}, context())

    return get
