"""Start a program that is handed texts as files: a script, constraints, requirement lines that hold a password.

Such a text must not stand in an argv, where every user of the node could read it, nor in a file that somebody has to
remove. It is put into an anonymous file in memory that the program inherits and opens as `/dev/fd/N`; it is gone when
the program ends, however that comes about. A script that reads its standard input cannot eat the rest of itself either.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from stackplan.node.stage import environment_for, in_memory

NOT_FOUND = 127
NOT_EXECUTABLE = 126


def perform(arguments: dict[str, Any]) -> int:
    """Become the program; return an exit status only when it cannot be started.

    `argv` is a list of texts and of `{"file": text}`, which stand for the path of a file that holds the text.
    `environment` is laid over this process's own after what the login brought of the names (or prefixes ending in `*`)
    in `drop_environment` is gone; what the step itself set under such a name stays. `stdin` is what the program reads;
    without it, its standard input stays as it is. `cwd` may begin with `~`.
    """
    argv = [_path_of(part["file"]) if isinstance(part, dict) else str(part) for part in arguments["argv"]]
    environment = _environment(arguments.get("drop_environment") or [], arguments.get("environment") or {})
    folder = arguments.get("cwd")
    if folder is not None:
        try:
            os.chdir(os.path.expanduser(folder))
        except OSError as error:
            print(f"stackplan: cannot work in {folder}: {error.strerror}", flush=True)
            return NOT_EXECUTABLE
    if arguments.get("stdin") is not None:
        os.dup2(in_memory(arguments["stdin"].encode("utf-8", "surrogateescape")), 0)
    sys.stdout.flush()
    try:
        os.execvpe(argv[0], argv, environment)  # noqa: S606 - an argv, never a shell
    except FileNotFoundError:
        print(f"stackplan: there is no program `{argv[0]}` on this node (PATH {environment.get('PATH')})", flush=True)
        return NOT_FOUND
    except OSError as error:
        print(f"stackplan: `{argv[0]}` cannot be started: {error.strerror}", flush=True)
        return NOT_EXECUTABLE


def _environment(drop: list[str], laid_over: dict[str, str]) -> dict[str, str]:
    login = _login()
    of_the_step = {name: value for name, value in os.environ.items() if login.get(name) != value}
    return environment_for(os.environ, drop, of_the_step, laid_over)


def _login() -> dict[str, str]:
    """Return the environment that this process was started with, before the step's own was laid over it."""
    try:
        with open("/proc/self/environ", "rb") as source:
            pairs = os.fsdecode(source.read()).split("\0")
    except OSError:
        return dict(os.environ)
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def _path_of(text: str) -> str:
    """Return the path of a file that holds `text` and that programs started from here inherit."""
    descriptor = in_memory(text.encode("utf-8", "surrogateescape"))
    os.set_inheritable(descriptor, True)  # noqa: FBT003 - the standard library's own signature
    return f"/dev/fd/{descriptor}"
