"""What environment the user's own shell gives, as a login shell and as the non-interactive one that `ssh NODE COMMAND`
gets.

Each is started anew with little more than HOME, USER, PATH and /etc/environment, as a fresh login would be, so that
what this process happens to have does not count. What a profile prints is told apart by a word of our own. A profile
that hangs costs TIMEOUT_S and is a `fault`; so is a shell that runs no command, or sends its output elsewhere. What a
profile leaves running is ended.
"""

from __future__ import annotations

import os
import pwd
import re
import secrets
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from stackplan.node.context import SEARCH_PATH, CannotTell, Context, ProbeFailed
from stackplan.node.queries._shells import leaving_nothing

TIMEOUT_S = 10.0
LOGIN = "login"
PLAIN = "non-interactive"
_PAIR = re.compile(r"^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*?)\s*$", re.MULTILINE)


class FreshShell:
    """One way to be given a shell; `environment` is None where there is a `fault`, which says what was in the way."""

    def __init__(self, name: str, program: str, environment: dict[str, str] | None, fault: str | None) -> None:
        self.name = name
        self.program = program
        self.environment = environment
        self.fault = fault

    def described(self) -> dict[str, Any]:
        """Return what every row about a shell begins with."""
        return {"shell": self.name, "program": self.program, "fault": self.fault}


def ask(context: Context) -> list[FreshShell]:
    """Return the login shell and the non-interactive one, asked at the same time and once a batch."""
    if "fresh shells" not in context.memo:
        program = _program(context)
        with leaving_nothing(), ThreadPoolExecutor(max_workers=2) as pool:
            found = list(pool.map(lambda name: _ask(name, program, context), (LOGIN, PLAIN)))
        context.memo["fresh shells"] = found
    shells: list[FreshShell] = context.memo["fresh shells"]
    return shells


def _program(context: Context) -> str:
    named = context.environment().get("SHELL")
    if named:
        return named
    try:
        return pwd.getpwuid(os.geteuid()).pw_shell or "/bin/sh"
    except KeyError:
        return "/bin/sh"


def _ask(name: str, program: str, context: Context) -> FreshShell:
    word = f"stackplan-{secrets.token_hex(8)}"
    # One text that bash, zsh, dash, fish and csh read alike.
    text = f"/bin/sh -c 'echo; echo {word}; exec env -0'"
    argv = [program, "-l", "-c", text] if name == LOGIN else [program, "-c", text]
    fresh = Context(root=context.root, environment=_fresh(name, program, context))
    try:
        ran = fresh.run(argv, timeout_s=TIMEOUT_S, cwd=context.home if os.path.isdir(context.home) else "/")
    except (CannotTell, ProbeFailed) as error:
        return FreshShell(name, program, None, error.why)
    _, mark, rest = ran.stdout.partition(f"\n{word}\n".encode())
    if not mark:
        why = f"{program} printed nothing of a command as a {name} shell (exit status {ran.exit_code})"
        # Not quoted: what a profile prints may hold a password.
        streams = (("error output", ran.error_text()), ("output", ran.text()))
        said = next((f"; it printed to its {stream}" for stream, text in streams if text.strip()), "")
        return FreshShell(name, program, None, why + said)
    # A logout script may print behind the last value.
    pairs = (entry.decode("utf-8", "replace").partition("=") for entry in rest.split(b"\0")[:-1])
    return FreshShell(name, program, {key: value for key, equals, value in pairs if equals}, None)


def _fresh(name: str, program: str, context: Context) -> dict[str, str]:
    here = context.environment()
    fresh = {"PATH": SEARCH_PATH, **_of_the_system(context), "HOME": context.home, "SHELL": program}
    fresh.update(USER=context.user, LOGNAME=context.user)
    if name == PLAIN:
        # By this bash knows that sshd started it; Debian's then reads ~/.bashrc.
        fresh["SSH_CLIENT"] = here.get("SSH_CLIENT") or "127.0.0.1 0 22"
        fresh["SSH_CONNECTION"] = here.get("SSH_CONNECTION") or "127.0.0.1 0 127.0.0.1 22"
    return fresh


def _of_the_system(context: Context) -> dict[str, str]:
    """Return what PAM takes from /etc/environment for every login."""
    try:
        text = context.read("/etc/environment").decode("utf-8", "replace")
    except (FileNotFoundError, ProbeFailed):
        return {}
    return {name: value.strip("\"'") for name, value in _PAIR.findall(text)}
