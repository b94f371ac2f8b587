"""Which Python installers a node has, and whether a virtual environment may be written by the user who asks.

Shape: `{"user", "home", "venv", "kind": "environment|folder|empty|other|missing", "interpreter", "owner", "writable",
"obstacle": {"path", "owner"} | null, "parent": {"path", "owner", "writable"}, "uv": {"path", "version"} | null,
"pip": {"version"} | null, "python": {"path", "version", "venv": bool} | null,
"ignored": {"variables": [], "files": []}}`, and `through` as any answer about an environment has it.
`python` is the interpreter that the argument `python` names (a path, or a version such as 3.12; without it, `python3`);
its `venv` says whether it can make environments. Of variables only names are told: their values may hold passwords.
"""

from __future__ import annotations

import glob
import os
import pwd
import re
from typing import Any

from stackplan.node.context import CannotTell, Context, ProbeFailed
from stackplan.node.queries._trail import trail

UV_PLACES = ("~/.local/bin/uv", "~/.cargo/bin/uv", "/usr/local/bin/uv", "/opt/uv/bin/uv", "/opt/uv/uv")
CONFIGURATION = (
    "~/.config/uv/uv.toml",
    "/etc/uv/uv.toml",
    "~/.config/pip/pip.conf",
    "~/.pip/pip.conf",
    "/etc/pip.conf",
    "/etc/xdg/pip/pip.conf",
)
VENV_PROBE = "import sys, ensurepip, venv; print('%d.%d.%d' % sys.version_info[:3])"


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    venv = context.expand(str(arguments["venv"])).rstrip("/") or "/"
    kind = _kind(venv)
    existing = venv
    while not os.path.lexists(existing):
        existing = os.path.dirname(existing)
    parent = existing if kind == "missing" else os.path.dirname(venv) or "/"
    interpreter = os.path.join(venv, "bin", "python")
    through = trail(venv)
    return {
        **({"through": through} if through else {}),
        "user": context.user,
        "home": context.home,
        "venv": venv,
        "kind": kind,
        "interpreter": interpreter if os.path.exists(interpreter) else None,
        "owner": _owner(venv) if kind != "missing" else None,
        "writable": kind != "missing" and os.access(venv, os.W_OK | os.X_OK),
        "obstacle": _obstacle(venv) if kind == "environment" else None,
        "parent": {"path": parent, "owner": _owner(parent), "writable": os.access(parent, os.W_OK | os.X_OK)},
        "uv": _uv(venv, context),
        "pip": _pip(venv),
        "python": _python(arguments.get("python"), context),
        "ignored": {
            "variables": sorted(name for name in context.environment() if name.startswith(("UV_", "PIP_"))),
            "files": [path for path in CONFIGURATION if os.path.exists(context.expand(path))],
        },
    }


def _kind(venv: str) -> str:
    if not os.path.lexists(venv):
        return "missing"
    if not os.path.isdir(venv):
        return "other"
    if os.path.exists(os.path.join(venv, "pyvenv.cfg")):
        return "environment"
    try:
        return "folder" if os.listdir(venv) else "empty"
    except OSError as error:
        raise ProbeFailed(f"{venv} cannot be looked into: {error.strerror}") from error


def _owner(path: str) -> str | None:
    try:
        uid = os.stat(path).st_uid
    except OSError:
        return None
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _obstacle(venv: str) -> dict[str, Any] | None:
    """Return the first folder of the environment that an installer has to write and this user may not, or None."""
    site_packages = sorted(glob.glob(os.path.join(glob.escape(venv), "lib", "python*", "site-packages")))
    for folder in (os.path.join(venv, "bin"), *site_packages):
        if os.path.isdir(folder) and not os.access(folder, os.W_OK | os.X_OK):
            return {"path": folder, "owner": _owner(folder)}
    for folder in site_packages:
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            # A folder that belongs to somebody else keeps the old version's files from being removed.
            if os.path.isdir(path) and not os.path.islink(path) and not os.access(path, os.W_OK | os.X_OK):
                return {"path": path, "owner": _owner(path)}
    return None


def _uv(venv: str, context: Context) -> dict[str, Any] | None:
    places = [context.which("uv"), *(context.expand(place) for place in UV_PLACES), os.path.join(venv, "bin", "uv")]
    path = next((place for place in places if place and os.path.isfile(place) and os.access(place, os.X_OK)), None)
    if path is None:
        return None
    try:
        ran = context.run([path, "--version"], timeout_s=10)
    except (CannotTell, ProbeFailed):
        return None
    match = re.search(r"(\d+\.\d+\.\d+\S*)", ran.text())
    if ran.exit_code != 0 or match is None:
        return None
    return {"path": path, "version": match.group(1)}


def _pip(venv: str) -> dict[str, Any] | None:
    """Return the environment's own pip, told from its files: to start it costs half a second."""
    pattern = os.path.join(glob.escape(venv), "lib", "python*", "site-packages")
    for folder in glob.glob(pattern):
        for name in glob.glob(os.path.join(glob.escape(folder), "pip-*.dist-info")):
            if os.path.exists(os.path.join(folder, "pip", "__main__.py")):
                return {"version": os.path.basename(name)[len("pip-") : -len(".dist-info")]}
    return None


def _python(wanted: str | None, context: Context) -> dict[str, Any] | None:
    """Return the interpreter that could make the environment; None where the step does not have one made."""
    if wanted is None:
        return None
    if "/" in wanted:
        candidates = [context.expand(wanted)]
    elif re.match(r"\d+\.\d+", wanted):
        candidates = ["python" + ".".join(wanted.split(".")[:2])]
    else:
        candidates = ["python3"]
    for candidate in candidates:
        path = candidate if "/" in candidate else context.which(candidate)
        if path is None or not os.path.exists(path):
            continue
        ran = context.run([path, "-I", "-B", "-c", VENV_PROBE], timeout_s=20)
        if ran.exit_code == 0:
            return {"path": path, "version": ran.text().strip(), "venv": True}
        bare = context.run(
            [path, "-I", "-B", "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"], timeout_s=20
        )
        if bare.exit_code == 0:
            return {"path": path, "version": bare.text().strip(), "venv": False}
    return None
