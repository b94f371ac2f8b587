"""Install a CUDA toolkit, from a runfile or with apt, and leave everything else as it was.

The driver is never touched: `--toolkit` alone for the runfile, toolkit packages alone for apt. Both installers also
point `/usr/local/cuda` at what they installed and no option prevents it, so that link is remembered and put back.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from typing import Any, Optional, Tuple

from stackplan.node.tasks._fetch import NotFetched, fetch, sha256_of
from stackplan.node.tasks._place import Refused, user_name
from stackplan.node.tasks.symlink import link

RUNFILE_LOG = "/tmp/cuda-installer.log"  # noqa: S108 - the installer's own choice, looked at and never written
ALTERNATIVES = "/etc/alternatives/"
Link = Tuple[Optional[str], Optional[str]]
LOGS = ("/var/log/cuda-installer.log", RUNFILE_LOG)


def perform(arguments: dict[str, Any]) -> int:
    """Install as `method` says; return the installer's exit status.

    Common to both: `prefix`, `link` (the path of the common link) and `default` (whether that link shall lead to the
    prefix). Runfile: `url` or `path`, and `sha256`. Apt: `argv` and `environment`.
    """
    prefix = os.path.expanduser(arguments["prefix"])
    common = arguments["link"]
    before = _leads(common)
    try:
        try:
            if arguments["method"] == "runfile":
                status = _install_runfile(arguments, prefix)
            else:
                status = _run(arguments["argv"], arguments.get("environment") or {})
        finally:
            if not arguments["default"]:
                _put_back(common, before)
        if status == 0 and arguments["default"]:
            print(link(common, prefix), flush=True)
    except (NotFetched, Refused) as error:
        print(error, flush=True)
        return 1
    except OSError as error:
        print(f"{error.filename or prefix}: {error.strerror}", flush=True)
        return 1
    return status


def _install_runfile(arguments: dict[str, Any], prefix: str) -> int:
    """Run the runfile, once its digest is right, with a temporary folder of its own."""
    _check_log()
    store = _store()
    runfile = _runfile(arguments, store)
    size = os.path.getsize(runfile)
    workspace = tempfile.mkdtemp(prefix="unpack-", dir=store)
    try:
        # The archive unpacks to more than its own size, twice: into the workspace, then into the prefix.
        _check_room(workspace, size)
        _check_room(prefix, size)
        argv = [
            "sh",
            runfile,
            "--silent",
            "--toolkit",
            f"--toolkitpath={prefix}",
            "--override",
            "--no-man-page",
            f"--tmpdir={workspace}",
        ]
        status = _run(argv, {"TMPDIR": workspace})
    finally:
        shutil.rmtree(workspace, ignore_errors=True)
    if status != 0:
        _print_log()
    elif "url" in arguments:
        os.remove(runfile)
    return status


def _runfile(arguments: dict[str, Any], store: str) -> str:
    """Return the path of the runfile, fetched when it has a URL; raise unless its digest is the one that is stated."""
    digest = (arguments.get("sha256") or "").lower()
    if "url" in arguments:
        path = os.path.join(store, f"{digest}.run")
        fetch(arguments["url"], path, digest)
        return path
    given: str = os.path.expanduser(arguments["path"])
    return _checked(given, digest)


def _checked(path: str, digest: str) -> str:
    """Return `path`; raise Refused when it is no file, or not the one whose digest is stated."""
    if not os.path.isfile(path):
        raise Refused(f"there is no file {path} on the node")
    if digest and (found := sha256_of(path)) != digest:
        raise Refused(f"sha256 of {path} differs\n  expected  {digest}\n  observed  {found}\nIt was not run.")
    return path


def _store() -> str:
    """Return a folder of the user's own, where what was downloaded waits for the next attempt."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    store = os.path.join(cache, "stackplan", "toolkits")
    os.makedirs(store, mode=0o700, exist_ok=True)
    os.chmod(store, 0o700)
    return store


def _check_room(path: str, size: int) -> None:
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    free = shutil.disk_usage(path).free
    if free < size:
        raise Refused(f"no room in {path}: the runfile alone has {size} bytes, {free} are free")


def _check_log() -> None:
    """Raise Refused when the installer would crash because its log belongs to somebody else."""
    if os.geteuid() != 0 and os.path.exists(RUNFILE_LOG) and not os.access(RUNFILE_LOG, os.W_OK):
        owner = user_name(os.stat(RUNFILE_LOG).st_uid)
        raise Refused(f"{RUNFILE_LOG} belongs to {owner} and the CUDA installer has to write it; remove it first")


def _run(argv: list[str], environment: dict[str, str]) -> int:
    print("+ " + " ".join(argv), flush=True)
    ended = subprocess.run(argv, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, check=False)
    return ended.returncode if ended.returncode >= 0 else 128 - ended.returncode


def _print_log() -> None:
    for log in LOGS:
        try:
            with open(log, encoding="utf-8", errors="replace") as source:
                lines = [line.rstrip() for line in source if "[ERROR]" in line]
        except OSError:
            continue
        print("\n".join([f"{log} says:", *lines[-5:]]) if lines else f"see {log} on the node", flush=True)
        return


def _leads(path: str) -> Link:
    """Return what a link says and where it leads in the end; (None, None) for what is no link."""
    if not os.path.islink(path):
        return None, None
    return os.readlink(path), os.path.realpath(path)


def _put_back(path: str, before: Link) -> None:
    """Make `path` say and lead to what it did before, where an installer changed it."""
    text, end = before
    if _leads(path) == before:
        return
    if text is None:
        if os.path.islink(path):
            os.remove(path)
            print(f"{path} removed again: the step does not say `default: true`", flush=True)
        return
    print(link(path, text) + ", as it was: the step does not say `default: true`", flush=True)
    if end is not None and os.path.realpath(path) != end and text.startswith(ALTERNATIVES):
        # Debian's packages let the alternatives system move the link one step further on.
        _run(["update-alternatives", "--set", os.path.basename(text), end], {})
