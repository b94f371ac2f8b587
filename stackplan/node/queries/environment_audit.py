"""What of a node's environment may surprise a playbook: its shells, its services, its installers' files, its folders.

Asked with `{"venvs": ["~/ml-env"], "programs": ["uv", "nvcc"], "sudo": false}`. Nothing is judged here; every part is
bounded, and one that hangs is left out with the reason. Shape:
`{"user", "shell", "contexts": [{"name": "step|login|interactive|sudo", "fault", "noisy", "variables": {NAME: text},
"programs": {NAME: {"path", "leads_to"} | null}}], "services": [{"unit", "active", "user", "variables"}],
"libraries": {FOLDER: [NAME]}, "toolkits": {FOLDER: real folder | null}, "configuration": [{"tool", "path", "settings",
"fault"}], "environments": [...], "processes": [{"venv", "name", "user", "unit", "count"}],
"space": [{"role", "path", "filesystem", "free_bytes"}]}`. `free_bytes` is told up to PLENTY_BYTES only: what moves by
itself and matters to nobody would set equal nodes apart. Of values see `_audited_variables`.
"""

from __future__ import annotations

import os
import re
import shutil
from typing import Any, Callable, Mapping

from stackplan.node.context import SEARCH_PATH, CannotTell, Context
from stackplan.node.queries._at_once import each
from stackplan.node.queries._audited_environment import audited
from stackplan.node.queries._audited_variables import masked, readable, telling
from stackplan.node.queries._environment_users import processes, services
from stackplan.node.queries._installer_configuration import configuration
from stackplan.node.queries._shells import PATIENCE_S, Shell, ask, leaving_nothing, shell_of
from stackplan.node.queries.installer import UV_PLACES

PLENTY_BYTES = 20 * 1024**3
MOST_FOLDERS = 20
MOST_LIBRARIES = 6
_CUDA_LIBRARY = re.compile(
    r"lib(cuda|cudart|cublas|cublasLt|cudnn|cufft|cupti|curand|cusolver|cusparse|nccl|nvJitLink|nvrtc|nvshmem\w*)"
    r"\.so\.\d+"
)


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    venvs = [str(it) for it in arguments.get("venvs") or []]
    programs = [str(it) for it in arguments.get("programs") or []]
    names = [*(["login", "interactive"] if shell_of(context) else []), *(["sudo"] if arguments.get("sudo") else [])]
    parts: dict[str, Callable[[], Any]] = {name: _asking(name, context) for name in names}
    parts["users"] = lambda: _users(venvs, context)
    with leaving_nothing():
        found = each(lambda part: parts[part](), parts, most=len(parts), limit_s=PATIENCE_S + 2.0)
    shells = [_itself(context), *(found.get(name) or _silent(name) for name in names)]
    running, units = found.get("users") or ([], [])
    variables = [*(it.variables or {} for it in shells), *(it["variables"] for it in units)]
    step = context.environment()
    return {
        "user": context.user,
        "shell": shell_of(context),
        "contexts": [_context(shell, programs, context) for shell in shells],
        "services": [dict(it, variables=telling(it["variables"])) for it in units],
        "libraries": _libraries(variables, context),
        "toolkits": _toolkits(variables),
        "configuration": configuration(step, [context.expand(it) for it in venvs], context),
        "environments": [audited(it, _project_environments(variables), context) for it in venvs],
        "processes": running,
        "space": _space(venvs, step, context),
    }


def _asking(name: str, context: Context) -> Callable[[], Shell]:
    return lambda: ask(name, context)


def _itself(context: Context) -> Shell:
    """Return what commands of the playbook get, which is what this process has."""
    shell = Shell("step")
    shell.variables = context.environment()
    return shell


def _silent(name: str) -> Shell:
    shell = Shell(name)
    shell.fault = "it could not be asked in time"
    return shell


def _context(shell: Shell, programs: list[str], context: Context) -> dict[str, Any]:
    variables = shell.variables or {}
    return {
        "name": shell.name,
        "fault": shell.fault,
        "noisy": shell.noisy,
        "variables": telling(variables),
        "programs": {it: _program(it, shell, context) for it in programs} if shell.variables is not None else {},
    }


def _program(name: str, shell: Shell, context: Context) -> dict[str, str] | None:
    assert shell.variables is not None
    path = shutil.which(name, path=shell.variables.get("PATH", SEARCH_PATH))
    if path is None and name == "uv" and shell.name == "step":
        # Where the steps look for it, too.
        places = [context.expand(it) for it in UV_PLACES]
        path = next((it for it in places if os.path.isfile(it) and os.access(it, os.X_OK)), None)
    return None if path is None else {"path": readable(path), "leads_to": readable(os.path.realpath(path))}


def _users(venvs: list[str], context: Context) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    places = {venv: context.expand(venv).rstrip("/") for venv in venvs}
    there = {venv: os.path.realpath(path) for venv, path in places.items() if os.path.isdir(path)}
    if not there:
        return [], []
    running = processes(there, context)
    try:
        return running, services({*places.values(), *there.values()}, [it["unit"] for it in running], context)
    except CannotTell:
        return running, []


def _folders(variables: list[Mapping[str, str]], name: str) -> list[str]:
    found = [it for one in variables for it in one.get(name, "").split(":") if os.path.isabs(it) and "\0" not in it]
    return list(dict.fromkeys(found))[:MOST_FOLDERS]


def _libraries(variables: list[Mapping[str, str]], context: Context) -> dict[str, list[str]]:
    """Return the CUDA libraries in the folders that LD_LIBRARY_PATH names anywhere, for folders that hold some."""
    found = {}
    for folder in _folders(variables, "LD_LIBRARY_PATH"):
        try:
            names = os.listdir(context.rooted(folder))
        except OSError:
            continue
        whole = sorted({match.group() for match in map(_CUDA_LIBRARY.match, names) if match})
        if whole:
            found[masked("", folder)] = whole[:MOST_LIBRARIES]
    return found


def _toolkits(variables: list[Mapping[str, str]]) -> dict[str, str | None]:
    """Return where the folders that CUDA_HOME and CUDA_PATH name really are; None where there is no compiler in it."""
    folders = [it for name in ("CUDA_HOME", "CUDA_PATH") for it in _folders(variables, name)]
    return {
        masked("", it): readable(os.path.realpath(it)) if os.path.exists(os.path.join(it, "bin", "nvcc")) else None
        for it in folders
    }


def _project_environments(variables: list[Mapping[str, str]]) -> list[str]:
    return [it["UV_PROJECT_ENVIRONMENT"] for it in variables if os.path.isabs(it.get("UV_PROJECT_ENVIRONMENT", ""))]


def _space(venvs: list[str], variables: Mapping[str, str], context: Context) -> list[dict[str, Any]]:
    """Return the room where an installation writes: the environments, uv's cache, the folder for temporary files."""
    cache = os.path.join(variables.get("XDG_CACHE_HOME") or os.path.join(context.home, ".cache"), "uv")
    places = [("environment", context.expand(it)) for it in venvs]
    places += [("cache", cache), ("temporary", variables.get("TMPDIR") or "/tmp")]  # noqa: S108 - only looked at
    found: list[dict[str, Any]] = []
    devices: list[int] = []
    for role, path in places:
        nearest = path
        while not os.path.exists(nearest) and nearest != "/":
            nearest = os.path.dirname(nearest) or "/"
        try:
            room, device = os.statvfs(nearest), os.stat(nearest).st_dev
        except OSError:
            continue
        # Counted, for its number is another one on every node.
        devices += [] if device in devices else [device]
        free = min(room.f_bavail * room.f_frsize, PLENTY_BYTES)
        told = {"role": role, "path": readable(path), "filesystem": devices.index(device), "free_bytes": free}
        found.append(told)
    return found
