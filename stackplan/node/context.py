"""What a query has at hand to look at the node: a user, an environment, files below a root, and commands.

A query always runs in a process that already belongs to the user it is asked for (see `asker`), so nothing here
switches users: `os.stat`, `open` and commands all see what that user sees.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import selectors
import shutil
import signal
import subprocess
import time
from typing import IO, Any, Iterable, Mapping

from stackplan.node.plain_file import open_plain

DEFAULT_TIMEOUT_S = 30.0
SIZE_LIMIT = 4 * 1024 * 1024
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class CannotTell(Exception):
    """The node has no means to answer (a probing tool is missing, a format is not recognised): becomes `unknown`."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class ProbeFailed(Exception):
    """The attempt to answer went wrong (a tool failed, a permission was refused): becomes `failed`."""

    def __init__(self, why: str, stderr: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.stderr = stderr


class Ran:
    """How a command ended and what it printed.

    `exit_code` is minus the number of the signal that ended it. `truncated`: it printed more than was kept.
    """

    def __init__(self, exit_code: int, stdout: bytes, stderr: bytes, *, truncated: bool = False) -> None:
        self.exit_code = exit_code
        self.stdout = stdout
        self.stderr = stderr
        self.truncated = truncated

    def text(self) -> str:
        """Return the standard output as text, invalid UTF-8 replaced."""
        return self.stdout.decode("utf-8", "replace")

    def error_text(self) -> str:
        """Return the standard error as text, invalid UTF-8 replaced."""
        return self.stderr.decode("utf-8", "replace")


def plain_environment(login: Mapping[str, str]) -> dict[str, str]:
    """Return the environment that commands get: that of the login, speaking C in UTF-8, with a search path."""
    environment = {key: value for key, value in login.items() if key != "LANGUAGE"}
    environment["LC_ALL"] = "C.UTF-8"
    environment.setdefault("PATH", SEARCH_PATH)
    return environment


class Context:
    """What the queries of one batch share. `root` is laid before the paths that are read, for tests.

    `memo` lives as long as the batch does: several queries can so share one run of nvidia-smi.
    """

    def __init__(
        self,
        *,
        root: str = "/",
        memo: dict[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.root = root
        self.memo: dict[str, Any] = {} if memo is None else memo
        self._environment = plain_environment(os.environ if environment is None else environment)

    @property
    def user(self) -> str:
        """The name of the user that this process belongs to, or its number where it has no name."""
        try:
            return pwd.getpwuid(os.geteuid()).pw_name
        except KeyError:
            return str(os.geteuid())

    @property
    def home(self) -> str:
        """The user's home: `HOME` of the login, else what the user database says."""
        return self._environment.get("HOME") or _home_of(None)

    def environment(self) -> dict[str, str]:
        """Return a copy of the environment that commands get."""
        return dict(self._environment)

    def expand(self, path: str) -> str:
        """Return the absolute path that `path` names on the node: `~` and `~user` replaced, the rest untouched."""
        if path == "~":
            return self.home
        if path.startswith("~/"):
            return os.path.join(self.home, path[2:])
        if path.startswith("~"):
            name, _, rest = path[1:].partition("/")
            return os.path.join(_home_of(name), rest) if rest else _home_of(name)
        return path if os.path.isabs(path) else os.path.join(self.home, path)

    def rooted(self, path: str) -> str:
        """Return where the file that `path` names is to be opened: expanded, and below `root`."""
        expanded = self.expand(path)
        return expanded if self.root == "/" else os.path.join(self.root, expanded.lstrip("/"))

    def read(self, path: str, limit: int = SIZE_LIMIT) -> bytes:
        """Return a file's bytes. Raise FileNotFoundError when there is none, ProbeFailed for any other obstacle.

        More than `limit` bytes are an obstacle: half a file proves nothing.
        """
        try:
            with open_plain(self.rooted(path)) as file:
                content = file.read(limit + 1)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise FileNotFoundError(error.errno, error.strerror, path) from error
        except OSError as error:
            raise ProbeFailed(f"{path} cannot be read: {error.strerror}") from error
        if len(content) > limit:
            raise ProbeFailed(f"{path} is larger than {limit} bytes")
        return content

    def which(self, program: str) -> str | None:
        """Return the path under which the login's search path finds `program`, or None."""
        return shutil.which(program, path=self._environment.get("PATH", SEARCH_PATH))

    def run(  # noqa: PLR0913 - the parts of a command, all but the first with defaults
        self,
        argv: Iterable[str],
        *,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        cwd: str | None = None,
        limit: int = SIZE_LIMIT,
        descriptors: Iterable[int] = (),
        program: str | None = None,
    ) -> Ran:
        """Run a command to its end, without a terminal, in a process group of its own, and return how it ended.

        `environment` is laid over that of the login; `descriptors` are inherited under their numbers; `program` is
        started in place of the first word, which it is then called by. Raise
        CannotTell when there is no such program, ProbeFailed when it cannot be started or runs longer than `timeout_s`;
        its whole process group is then killed.
        """
        words = list(argv)
        merged = {**self._environment, **(environment or {})}
        where = None if cwd is None else self.expand(cwd)
        with _source(stdin) as source:
            try:
                process = subprocess.Popen(
                    words,
                    executable=program,
                    stdin=source,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=merged,
                    cwd=where,
                    start_new_session=True,
                    pass_fds=tuple(descriptors),
                )
            except FileNotFoundError as error:
                if where is not None and not os.path.isdir(where):
                    raise ProbeFailed(f"{words[0]} cannot be started: there is no folder {where}") from error
                raise CannotTell(f"there is no program {words[0]} on this node") from error
            except OSError as error:
                raise ProbeFailed(f"{words[0]} cannot be started: {error.strerror}") from error
        with process:
            return _collect(process, words[0], timeout_s, limit)


def _source(stdin: bytes) -> IO[bytes]:
    """Return what a command reads: a file in memory, because a node may have no room for temporary ones."""
    if not stdin:
        return open(os.devnull, "rb")
    source = os.fdopen(os.memfd_create("stackplan"), "w+b")
    source.write(stdin)
    source.seek(0)
    return source


def _home_of(name: str | None) -> str:
    try:
        entry = pwd.getpwuid(os.geteuid()) if name is None else pwd.getpwnam(name)
    except KeyError as error:
        raise CannotTell(f"there is no user {name or os.geteuid()} on this node") from error
    return entry.pw_dir


def _collect(process: subprocess.Popen[bytes], word: str, timeout_s: float, limit: int) -> Ran:
    """Read both streams until the command has ended, keeping up to `limit` bytes of each.

    Of the standard output that is the beginning, of the standard error the end: why something failed stands last.
    """
    streams = (process.stdout, process.stderr)
    kept: list[bytearray] = [bytearray(), bytearray()]
    truncated = False
    deadline = time.monotonic() + timeout_s
    ended_at = None
    with selectors.DefaultSelector() as selector:
        for index, stream in enumerate(streams):
            assert stream is not None
            selector.register(stream, selectors.EVENT_READ, index)
        while selector.get_map():
            # A daemon that the command left behind may hold the streams open for ever: once the command itself has
            # ended, what it printed is there to be read at once.
            ready = selector.select(0.05 if ended_at else min(0.5, max(0.0, deadline - time.monotonic())))
            for key, _ in ready:
                chunk = os.read(key.fd, 65536)
                if not chunk:
                    selector.unregister(key.fileobj)
                store = kept[key.data]
                store += chunk
                if (surplus := len(store) - limit) > 0:
                    truncated = True
                    del store[slice(surplus) if key.data else slice(limit, None)]
            if ended_at and not ready:
                break
            if process.poll() is not None:
                ended_at = ended_at or time.monotonic()
            if time.monotonic() > deadline:
                _give_up(process, word, timeout_s, kept[1], truncated=truncated)
        try:
            exit_code = process.wait(max(0.01, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            _give_up(process, word, timeout_s, kept[1], truncated=truncated)
    return Ran(exit_code, bytes(kept[0]), bytes(kept[1]), truncated=truncated)


def _give_up(
    process: subprocess.Popen[bytes], word: str, timeout_s: float, stderr: bytearray, *, truncated: bool
) -> None:
    """Kill the command's process group and raise ProbeFailed."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    flood = ", and it prints more than is kept" if truncated else ""
    raise ProbeFailed(f"{word} did not end within {timeout_s:g} s{flood}", stderr.decode("utf-8", "replace"))
