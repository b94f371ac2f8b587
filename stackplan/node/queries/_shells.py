"""The environments that a user's shells give, each asked by starting that shell once.

A profile is somebody's program: it may print, hang, end early or become another shell. It gets no terminal, nothing to
read and a few seconds, and what it leaves running is ended.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import signal
import time
from typing import Any, Mapping

from stackplan.node.context import CannotTell, Context, ProbeFailed, Ran
from stackplan.node.processes import adopt_orphans, descendants, send
from stackplan.node.queries._audited_variables import parsed

PATIENCE_S = 5.0
_ENDING_S = 2.0
_NO_LOGIN = ("nologin", "false", "true", "sync")


class Shell:
    """What became of one shell. `variables` None: it gave none, and `fault` says why. `noisy`: its profile prints."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.variables: Mapping[str, str] | None = None
        self.fault: str | None = None
        self.noisy = False


def shell_of(context: Context) -> str | None:
    """Return the user's login shell; None where nobody logs in so."""
    path = context.environment().get("SHELL") or _entered()
    return None if os.path.basename(path) in _NO_LOGIN or not os.path.isabs(path) else path


def _entered() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_shell or "/bin/sh"
    except KeyError:
        return "/bin/sh"


def ask(name: str, context: Context) -> Shell:
    """Return the environment that a `login`, an `interactive` login shell or `sudo` gives to a command."""
    shell = Shell(name)
    mark = os.urandom(12).hex()
    # One word list that shells of every family read alike; it is /bin/sh that goes on.
    printing = f"/bin/sh -c 'echo {mark}; /usr/bin/env -0; echo {mark}'"
    try:
        ran = _started(name, printing, context)
    except ProbeFailed as error:
        hung, end, flood = error.why.partition(f"did not end within {PATIENCE_S:g} s")
        shell.fault = f"it {end}{flood}" if end else hung
        return shell
    except CannotTell as error:
        shell.fault = error.why
        return shell
    before, found, rest = ran.stdout.partition(mark.encode() + b"\n")
    block, ended, _ = rest.partition(mark.encode())
    if not found or not ended:
        shell.fault = _why_silent(name, ran)
        return shell
    shell.noisy = bool(before.strip())
    variables = parsed(block)
    if name != "sudo" and not variables.get("PATH"):
        # Shells disagree on where to look then, so nothing is said of what this one finds.
        shell.fault = "its profile leaves PATH empty"
        return shell
    shell.variables = variables
    return shell


def _started(name: str, printing: str, context: Context) -> Ran:
    if name == "sudo":
        words = ["sudo", "-n", "--", "/bin/sh", "-c", printing]
        return context.run(words, timeout_s=PATIENCE_S)
    path = shell_of(context) or "/bin/sh"
    # The dash in front makes a login shell of any shell, also of those that know no `-l` beside `-c`.
    words = [f"-{os.path.basename(path)}", *(["-i"] if name == "interactive" else []), "-c", printing]
    return context.run(words, timeout_s=PATIENCE_S, environment={"TERM": "dumb"}, cwd=context.home, program=path)


def _why_silent(name: str, ran: Ran) -> str:
    if ran.truncated:
        return "it prints more than is read"
    lines = [line.strip() for line in ran.error_text().splitlines() if line.strip()]
    # bash says of every shell without a terminal that it has none.
    told = [line for line in lines if "job control" not in line and "terminal process group" not in line]
    # What a profile prints may hold a password and is not quoted; in front of sudo there is no profile.
    if name == "sudo" and told and told[-1].startswith("sudo: "):
        said = f": {told[-1][:200]}"
    else:
        said = "; it wrote to its error output" if told else ""
    # Whether the command ran is not known: a profile may end its shell, or send the output elsewhere.
    return f"a test command printed nothing in it (exit status {ran.exit_code}){said}"


@contextlib.contextmanager
def leaving_nothing() -> Any:
    """End, when the block is left, what shells that were started in it have left running."""
    adopt_orphans()
    earlier = set(descendants(os.getpid()))
    yield
    with contextlib.suppress(ChildProcessError):
        until = time.monotonic() + _ENDING_S
        while time.monotonic() < until:
            # Raises where there is no child at all, which spares the look through /proc.
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            # Again and again: what is ended may have started something while the others were being found.
            left = descendants(os.getpid()).keys() - earlier
            if not left:
                break
            send(left, signal.SIGKILL)
