"""The real executable in a process of its own, with a home and a state folder that belong to the test."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import command_line

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

    def run(*arguments: str, anew: bool = False, **changes: str) -> subprocess.CompletedProcess[str]:
        return command_line.run(*arguments, environment={**environment, **changes}, folder=project, anew=anew)

    return run


@pytest.fixture
def git(project: Path, environment: dict[str, str]) -> Callable[..., str]:
    """Run git in the project, which becomes a repository of its own."""
    (project / ".git").rmdir()
    who = {f"GIT_{it}_{what}": "t@example.org" for it in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

    def run(*words: str, folder: Path = project) -> str:
        done = subprocess.run(
            ["git", *words], cwd=folder, env={**environment, **who}, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    run("init", "--quiet", "--initial-branch", "main")
    return run


@pytest.fixture
def commit(git: Callable[..., str], project: Path) -> Callable[[dict[str, str | None]], str]:
    """Write files by path (delete those that are None), commit the lot, and return the commit."""

    def committed(files: dict[str, str | None]) -> str:
        for name, text in files.items():
            path = project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_text(text)
        git("add", "--all")
        git("commit", "--quiet", "--message", "change")
        return git("rev-parse", "HEAD")

    return committed
