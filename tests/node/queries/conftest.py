"""Small real trees and stand-in programs for the queries."""

import shutil
import venv
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from stackplan.node.context import Context


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
