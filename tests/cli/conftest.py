"""The real executable in a process of its own, with a home and a state folder that belong to the test."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty project folder: a git root, so that nothing above it is looked at."""
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "LD_LIBRARY_PATH"}}
    return {
        **kept,
        "HOME": str(home),
        "STACKPLAN_STATE": str(tmp_path / "state"),
        "PYTHONPATH": str(ROOT),
        "LC_ALL": "C.UTF-8",
    }


@pytest.fixture
def stackplan(project: Path, environment: dict[str, str]) -> Run:
    """Run `stackplan ARGUMENTS` in the project folder and return how it ended."""

    def run(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "stackplan", *arguments],
            cwd=project,
            env={**environment, **changes},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run
