"""A process that has imported all of stackplan, and becomes one command line after the other, each in a fork of itself.

Most of what a command costs is to start Python and to import; a test that asks twenty commands waits for that twenty
times. Here it is paid once. Standard library, and stackplan itself.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import socket
import struct
import sys
import threading
from typing import Any, NoReturn

import stackplan
from stackplan.__main__ import main
from stackplan.connection.bundle import bundle

HEAD = struct.Struct("!Q")
"""What comes before a request: the length of its JSON. With it come the descriptors of RECEIVED."""
RECEIVED = ("stdin", "stdout", "stderr", "ending")


def import_everything() -> None:
    """Import every module of stackplan; one that cannot be imported is for the command to stumble over."""
    for found in pkgutil.walk_packages(stackplan.__path__, "stackplan.", onerror=lambda _name: None):
        if not found.name.endswith("__main__"):
            with contextlib.suppress(Exception):
                importlib.import_module(found.name)
    bundle()
    # What is there now is not looked through again in every fork.
    gc.freeze()


def serve(requests: socket.socket) -> bool:
    """Fork for each request; return True in a process that is to be a command, False when nobody asks any more."""
    while True:
        head, descriptors, _flags, _address = socket.recv_fds(requests, HEAD.size, len(RECEIVED))
        if not head:
            return False
        request = json.loads(_read(requests, *HEAD.unpack(head)))
        if os.fork() == 0:
            requests.close()
            return _attend(request, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        _forget_the_ended()


def leave(status: str | int | None) -> NoReturn:
    """End as the interpreter would, but for taking all modules apart, which takes longer than most commands."""
    assert status is None or isinstance(status, int), status
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            status = 120
    os._exit(status or 0)


def _attend(request: dict[str, Any], descriptors: list[int]) -> bool:
    """Return True in the command's own process; the one here tells its process id and how it ended, and ends."""
    *streams, ending = descriptors
    command = os.fork()
    if command == 0:
        os.close(ending)
        _become(request, streams)
        return True
    for stream in streams:
        os.close(stream)
    os.write(ending, b"%d\n" % command)
    _, status = os.waitpid(command, 0)
    os.write(ending, b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _become(request: dict[str, Any], streams: list[int]) -> None:
    """Take over the streams, the folder, the environment and the words of the request."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # Those that are there took what the process was started with for a file or a terminal.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - descriptors, for as long as it lives
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - likewise
    sys.stderr = open(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115 - likewise
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv[1:] = request["words"]
    sys.path[0] = request["folder"]


def _read(requests: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        more = requests.recv(length - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def _forget_the_ended() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


if __name__ == "__main__":
    import_everything()
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        is_command = serve(asked)
    if is_command:
        try:
            main()
        except SystemExit as ended:
            leave(ended.code)
