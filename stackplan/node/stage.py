"""One stage of a job, in the process that is to run it: becoming the command, or performing the task."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from typing import Any, Mapping, NoReturn, Sequence

from stackplan.node.context import plain_environment
from stackplan.node.identity import home

NOT_FOUND = 127
NOT_EXECUTABLE = 126


def environment_for(login: Mapping[str, str], drop: Sequence[str], *layers: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of `login` without what `drop` names (`UV_*`: by prefix), with `layers` laid over it."""
    exact = {name for name in drop if not name.endswith("*")}
    prefixes = tuple(name[:-1] for name in drop if name.endswith("*"))
    kept = {name: value for name, value in login.items() if name not in exact and not name.startswith(prefixes or "=")}
    environment = plain_environment(kept)
    for layer in layers:
        environment.update(layer)
    return environment


def perform(stage: dict[str, Any]) -> NoReturn:
    """Run one stage and leave this process with its exit status; standard output and error are laid already.

    What keeps a command from starting is printed, with exit status 126 or 127, as a shell does.
    """
    try:
        if "task" in stage:
            status = _task(stage["task"], stage.get("environment") or {})
        else:
            status = _command(stage["command"], stage.get("environment") or {})
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    except BaseException:  # noqa: BLE001 - whatever a task raises, its last line is all that people need
        print("stackplan:", traceback.format_exc().strip().splitlines()[-1])
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status & 0xFF)


def _command(command: dict[str, Any], environment: Mapping[str, str]) -> int:
    """Become the command; return only when that cannot be."""
    argv = list(command["argv"])
    folder = os.path.expanduser(command.get("cwd") or home())
    try:
        os.chdir(folder)
    except OSError as error:
        if command.get("cwd"):
            print(f"stackplan: cannot work in {folder}: {error.strerror}")
            return NOT_EXECUTABLE
        os.chdir("/")
    merged = environment_for(
        os.environ, command.get("drop_environment") or (), environment, command.get("environment") or {}
    )
    if command.get("stdin") is not None:
        with_text = in_memory(command["stdin"].encode("utf-8", "surrogateescape"))
        os.dup2(with_text, 0)
        os.close(with_text)
    sys.stdout.flush()
    try:
        os.execvpe(argv[0], argv, merged)  # noqa: S606 - an argv, never a shell
    except FileNotFoundError:
        print(f"stackplan: there is no program `{argv[0]}` on this node (PATH {merged.get('PATH')})")
        return NOT_FOUND
    except OSError as error:
        print(f"stackplan: `{argv[0]}` cannot be started: {error.strerror}")
        return NOT_EXECUTABLE


def _task(task: dict[str, Any], environment: Mapping[str, str]) -> int:
    kind = str(task["kind"])
    try:
        os.chdir(home())
    except OSError:
        os.chdir("/")
    merged = environment_for(os.environ, (), environment)
    os.environ.clear()
    os.environ.update(merged)
    if not kind.isidentifier():
        print(f"stackplan: there is no task `{kind}`")
        return NOT_FOUND
    # A task's prints come out as they are made, also when its last act is to become another program.
    sys.stdout = sys.stderr = os.fdopen(os.dup(1), "w", 1, encoding="utf-8", errors="backslashreplace")
    module = importlib.import_module(f"stackplan.node.tasks.{kind}")
    return int(module.perform(task.get("arguments") or {}) or 0)


def in_memory(content: bytes) -> int:
    """Return a descriptor of an anonymous file in memory that holds `content` and is read from its start."""
    descriptor = os.memfd_create("stackplan")
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
