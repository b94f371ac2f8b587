"""What is odd about one Python environment, told from its files: nothing of it is started.

`foreign` are folders outside that a .pth file puts on its search path; `project` is a uv project whose environment it
is, so that `uv run` there installs what the project's lock says.
"""

from __future__ import annotations

import glob
import os
import pwd
import re
from typing import Any

from stackplan.node.context import Context
from stackplan.node.plain_file import open_plain

MOST_FILES = 50
MOST_BYTES = 64 * 1024
_ROOMS = ("/root", "/opt", "/srv", "/data", "/workspace")
# Names that every second project gives its environment tell nobody apart.
_USUAL = frozenset({"venv", ".venv", "env", ".env"})
_SYSTEM = re.compile(r"^\s*include-system-site-packages\s*=\s*true\s*$", re.IGNORECASE | re.MULTILINE)
_PROJECT = re.compile(r"^\s*\[\s*project\s*\]", re.MULTILINE)


def audited(venv: str, project_environments: list[str], context: Context) -> dict[str, Any]:
    """Return what is told of an environment; `project_environments` are what UV_PROJECT_ENVIRONMENT names anywhere."""
    path = context.expand(venv).rstrip("/") or "/"
    there = os.path.isdir(path)
    return {
        "venv": venv,
        "path": path,
        "exists": there,
        "owner": owner(path) if there else None,
        "system_packages": bool(_SYSTEM.search(text(os.path.join(path, "pyvenv.cfg")))),
        "conda": os.path.isdir(os.path.join(path, "conda-meta")),
        "foreign": _foreign(path) if there else [],
        "customized": _customized(path) if there else [],
        "project": _project(path) if there else None,
        "project_environment": os.path.realpath(path) in {os.path.realpath(it) for it in project_environments},
        "namesakes": _namesakes(path, context),
    }


def text(path: str) -> str:
    """Return the beginning of a file, or nothing where it cannot be read."""
    try:
        with open_plain(path) as file:
            return file.read(MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def owner(path: str) -> str | None:
    """Return the name of whom a path belongs to, or the number where there is none."""
    try:
        uid = os.stat(path).st_uid
    except OSError:
        return None
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _packages(path: str) -> list[str]:
    return sorted(glob.glob(os.path.join(glob.escape(path), "lib", "python*", "site-packages")))


def _foreign(path: str) -> list[dict[str, str]]:
    """Return the folders outside that .pth files name; their lines of code are not looked into."""
    inside = os.path.realpath(path) + os.sep
    found = []
    for packages in _packages(path):
        for file in sorted(glob.glob(os.path.join(glob.escape(packages), "*.pth")))[:MOST_FILES]:
            for line in text(file).splitlines():
                words = line.strip()
                if not words or words.startswith(("#", "import ", "import\t")) or "\0" in words:
                    continue
                folder = os.path.join(packages, words)
                if os.path.isdir(folder) and not (os.path.realpath(folder) + os.sep).startswith(inside):
                    found.append({"file": os.path.basename(file), "folder": os.path.normpath(folder)})
    return found[:MOST_FILES]


def _customized(path: str) -> list[str]:
    places = [os.path.join(packages, "sitecustomize.py") for packages in _packages(path)]
    return [place for place in places if os.path.exists(place)]


def _project(path: str) -> dict[str, Any] | None:
    """Return the uv project whose environment this is by its name, or None."""
    folder, name = os.path.split(path)
    if name != ".venv" or not _PROJECT.search(text(os.path.join(folder, "pyproject.toml"))):
        return None
    return {"folder": folder, "lock": os.path.isfile(os.path.join(folder, "uv.lock"))}


def _namesakes(path: str, context: Context) -> list[str]:
    """Return other environments of the same name where such are usually put. Homes of others may have to be mounted."""
    name = os.path.basename(path)
    if name in _USUAL:
        return []
    places = [os.path.join(folder, name) for folder in (context.home, *_ROOMS)]
    real = os.path.realpath(path)
    found = [it for it in places if os.path.isfile(os.path.join(it, "pyvenv.cfg")) and os.path.realpath(it) != real]
    return list(dict.fromkeys(found))
