"""Where a Python environment's parts are, found by looking at files; for a virtual one no interpreter is started.

`venv` names an environment's folder, `python` an interpreter. Standard library and `stackplan.node.context` only.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from typing import Any

from stackplan.node.context import CannotTell, Context, ProbeFailed
from stackplan.node.plain_file import read_plain
from stackplan.node.queries._trail import trail

_VERSION = re.compile(r"\d+\.\d+(\.\d+)?")
# Of an interpreter that was named itself only its own word is known: search path, version, whose environment it is.
_DESCRIBE = (
    "import json, sys; print(json.dumps({'path': [p for p in sys.path if p], 'prefix': sys.prefix, "
    "'version': '.'.join(map(str, sys.version_info[:3])), 'implementation': sys.implementation.name}))"
)


class Environment:
    """One environment. `interpreter` is None when there is none that could be started; `fault` then says why.

    `own` are the site-packages folders that installs go to; `inherited` those that it sees besides. `through` are the
    links on the way to `path` and its end (`_trail`), where there are any: by the end two names of one folder show.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.through = trail(path)
        self.exists = True
        self.is_environment = True
        self.interpreter: str | None = None
        self.fault: str | None = None
        self.python_version: str | None = None
        self.implementation = "cpython"
        self.own: list[str] = []
        self.inherited: list[str] = []

    def answer(self) -> dict[str, Any]:
        """Return what every answer about an environment begins with."""
        told = {
            "path": self.path,
            "exists": self.exists,
            "environment": self.is_environment,
            "interpreter": self.interpreter,
            "interpreter_fault": self.fault,
            "python_version": self.python_version,
            "site_packages": list(self.own),
        }
        return {**told, "through": list(self.through)} if self.through else told


def find(arguments: dict[str, Any], context: Context) -> Environment:
    """Return the environment that `venv` or `python` names; found once in a batch. Raise ProbeFailed, CannotTell."""
    venv, python = arguments.get("venv"), arguments.get("python")
    if (venv is None) == (python is None):
        raise CannotTell("neither or both of `venv` and `python` were given")
    key = f"environment {venv!r} {python!r}"
    if key not in context.memo:
        context.memo[key] = _of_folder(context.expand(venv), context) if venv else _of_program(str(python), context)
    found: Environment = context.memo[key]
    return found


def runnable(arguments: dict[str, Any], context: Context) -> tuple[str | None, dict[str, Any]]:
    """Return the interpreter to start, or None, and the beginning of the answer, which says what is missing."""
    environment = find(arguments, context)
    return environment.interpreter, environment.answer()


def _of_folder(path: str, context: Context) -> Environment:
    environment = Environment(path)
    try:
        names = set(os.listdir(path))
    except FileNotFoundError:
        environment.exists = environment.is_environment = False
        return environment
    except NotADirectoryError:
        environment.is_environment = False
        return environment
    except OSError as error:
        raise ProbeFailed(f"cannot look into {path}: {error.strerror}") from error
    configuration = _configuration(path) if "pyvenv.cfg" in names else {}
    if "pyvenv.cfg" not in names and "conda-meta" not in names:
        environment.is_environment = False
        return environment
    environment.implementation = configuration.get("implementation", "cpython").lower()
    stated = configuration.get("version_info") or configuration.get("version") or _conda_version(path)
    match = _VERSION.match(stated)
    environment.python_version = match.group() if match else None
    environment.interpreter, environment.fault = _interpreter(path)
    library = _library(path, environment.python_version)
    if library is not None:
        environment.own = [os.path.join(library, "site-packages")]
        if environment.python_version is None:
            environment.python_version = re.sub(r"^\D+", "", os.path.basename(library)) or None
    if configuration.get("include-system-site-packages", "").lower() == "true" and environment.interpreter:
        seen = _described(environment.interpreter, context)["path"]
        own = {os.path.realpath(folder) for folder in environment.own}
        environment.inherited = [folder for folder in _packages_folders(seen) if os.path.realpath(folder) not in own]
    return environment


def _of_program(python: str, context: Context) -> Environment:
    path = context.expand(python) if "/" in python else (context.which(python) or python)
    environment = Environment(path)
    environment.through = _to_folder(path)
    environment.interpreter, environment.fault = _startable(path)
    if environment.interpreter is None:
        environment.exists = os.path.lexists(path)
        environment.is_environment = False
        return environment
    described = _described(path, context)
    prefix = os.path.realpath(described["prefix"])
    if not any(place.startswith(f"{prefix}/") for place in (path, *environment.through)):
        # A script that starts the interpreter of an environment elsewhere.
        environment.through.append(prefix)
    environment.python_version = described["version"]
    environment.implementation = described["implementation"]
    environment.own = _packages_folders(described["path"])
    return environment


def _to_folder(program: str) -> list[str]:
    """Return the trail of the folder in which a program stands: whose interpreter it is its own link does not say."""
    folder, name = os.path.split(program)
    ways = trail(folder)
    return [*ways[:-1], os.path.join(ways[-1], name)] if ways else []


def _described(interpreter: str, context: Context) -> dict[str, Any]:
    """Return what the interpreter says of itself; PYTHON* variables play no part, as in a service."""
    ran = context.run([interpreter, "-E", "-B", "-c", _DESCRIBE], timeout_s=30.0, cwd="/")
    try:
        described = json.loads(ran.text()) if ran.exit_code == 0 else None
    except ValueError:
        described = None
    if not isinstance(described, dict):
        raise ProbeFailed(f"{interpreter} does not start (exit status {ran.exit_code})", ran.error_text())
    return described


def _packages_folders(search_path: list[str]) -> list[str]:
    """Return the folders of a search path that hold installed packages: not the standard library, no zip file."""
    names = ("site-packages", "dist-packages")
    return [folder for folder in search_path if os.path.basename(folder) in names and os.path.isdir(folder)]


def _configuration(path: str) -> dict[str, str]:
    """Return the `key = value` lines of pyvenv.cfg, keys in lower case."""
    try:
        lines = read_plain(os.path.join(path, "pyvenv.cfg")).decode("utf-8", "replace").split("\n")
    except OSError as error:
        raise ProbeFailed(f"cannot read {path}/pyvenv.cfg: {error.strerror}") from error
    pairs = [line.partition("=") for line in lines if "=" in line]
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def _conda_version(path: str) -> str:
    """Return the version in `conda-meta/python-3.11.7-h955ad1f_0.json`, else an empty text."""
    try:
        names = os.listdir(os.path.join(path, "conda-meta"))
    except OSError:
        return ""
    found = [match.group(1) for name in names for match in [re.match(r"python-(\d[\d.]*)-[^-]+\.json$", name)] if match]
    return found[0] if found else ""


def _interpreter(path: str) -> tuple[str | None, str | None]:
    for name in ("python", "python3"):
        program = os.path.join(path, "bin", name)
        if os.path.lexists(program):
            return _startable(program)
    return None, f"there is no {path}/bin/python"


def _startable(program: str) -> tuple[str | None, str | None]:
    """Return the program if it can be started, else what is in the way."""
    try:
        os.stat(program)
    except (FileNotFoundError, NotADirectoryError):
        if os.path.islink(program):
            return None, f"{program} leads to {os.path.realpath(program)}, which does not exist"
        return None, f"there is no {program}"
    except OSError as error:
        raise ProbeFailed(f"cannot look at {program}: {error.strerror}") from error
    if shutil.which(program) is None:
        return None, f"{program} may not be executed"
    return program, None


def _library(path: str, version: str | None) -> str | None:
    """Return the lib/pythonX.Y that belongs to the environment's Python; an older one may lie beside it."""
    root = os.path.join(path, "lib")
    try:
        names = [name for name in os.listdir(root) if re.match(r"(python|pypy)\d+\.\d+t?$", name)]
    except OSError:
        return None
    minor = ".".join(version.split(".")[:2]) if version else None
    for name in sorted(names, reverse=True):
        if minor is not None and re.sub(r"^\D+|t$", "", name) == minor:
            return os.path.join(root, name)
    return os.path.join(root, max(names)) if len(names) == 1 else None
