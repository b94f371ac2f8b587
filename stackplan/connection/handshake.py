"""From a byte stream to a node program that answers: what is sent first, where its frames begin, why none came."""

import contextlib
import secrets
import time
from typing import Any

from stackplan.connection.failure import (
    ConnectionFailure,
    ConnectionLost,
    NodeProgramMissing,
    ProgramSilent,
    PythonTooOld,
    PythonUnusable,
    ShellEnded,
    SudoRefused,
)
from stackplan.connection.stream import ByteStream, StreamBroken, Tail
from stackplan.model.frozen import dataclass
from stackplan.node.boot import REPORT
from stackplan.node.frames import Decoder, FrameInvalid, encode

_CHUNK = 1 << 16
_LAST_WORDS_S = 2.0
_SET_PYTHON = "install python3 (3.8 or newer) on the node, or set `python` for it in the inventory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting:
    """What the node program says of itself."""

    python: str
    executable: str
    user: str
    uid: int
    home: str
    host: str
    pid: int


@dataclass(frozen=True, slots=True)
class Opened:
    greeting: Greeting
    decoder: Decoder
    waiting: tuple[Any, ...]


def open_program(stream: ByteStream, bundle: bytes, timeout_s: float, *, become: bool = False) -> Opened:
    """Send the node program and its first request in one go, and return its greeting. Raise ConnectionFailure.

    `become`: it is started through sudo.
    """
    nonce = secrets.token_hex(16)
    noise = Tail()
    deadline = time.monotonic() + timeout_s
    try:
        stream.write(bundle + encode({"id": 1, "hello": {"nonce": nonce}}), timeout_s)
        rest = _read_past(stream, f"\n{nonce}\n".encode("ascii"), noise, deadline)
        return _read_greeting(stream, rest, deadline)
    except TimeoutError:
        # It may not even have taken the program; what it printed meanwhile is what tells why.
        _take_last_words(stream, noise, deadline)
        why = f"the node program did not answer within {timeout_s:g} s"
        printed = _printed(noise, stream)
        raise ProgramSilent(why, "look whether the login's profile waits for something", printed=printed) from None
    except StreamBroken as error:
        _take_last_words(stream, noise, deadline)
        raise why_missing(noise, stream, str(error), become=become) from error
    except EOFError:
        raise why_missing(noise, stream, "", become=become) from None
    except FrameInvalid as error:
        raise NodeProgramMissing(f"what answers is no node program: {error.why}", printed=repr(error.seen)) from error


def _take_last_words(stream: ByteStream, noise: Tail, deadline: float) -> None:
    """Read what was printed by a shell that did not read everything, whether it ended or waits."""
    with contextlib.suppress(TimeoutError, StreamBroken):
        while data := stream.read(_CHUNK, min(_LAST_WORDS_S, max(0.0, deadline - time.monotonic()))):
            noise.add(data)


def _read_past(stream: ByteStream, marker: bytes, noise: Tail, deadline: float) -> bytes:
    """Read up to the marker, keeping the tail of what stands before it; return what came behind it."""
    window = b""
    while True:
        try:
            data = stream.read(_CHUNK, max(0.0, deadline - time.monotonic()))
        except (TimeoutError, StreamBroken):
            noise.add(window)
            raise
        if not data:
            noise.add(window)
            raise EOFError
        window += data
        at = window.find(marker)
        if at >= 0:
            return window[at + len(marker) :]
        settled = max(0, len(window) - len(marker) + 1)
        noise.add(window[:settled])
        window = window[settled:]


def _read_greeting(stream: ByteStream, rest: bytes, deadline: float) -> Opened:
    decoder = Decoder()
    frames = decoder.feed(rest)
    while not frames:
        data = stream.read(_CHUNK, max(0.0, deadline - time.monotonic()))
        if not data:
            raise EOFError
        frames = decoder.feed(data)
    try:
        told = frames[0]["greeting"]
        greeting = Greeting(
            python=str(told["python"]),
            executable=str(told["executable"]),
            user=str(told["user"]),
            uid=int(told["uid"]),
            home=str(told["home"]),
            host=str(told["host"]),
            pid=int(told["pid"]),
        )
    except (TypeError, KeyError, ValueError, IndexError) as error:
        raise FrameInvalid("its first frame is no greeting", repr(frames[0])[:200].encode()) from error
    return Opened(greeting, decoder, tuple(frames[1:]))


def why_missing(  # noqa: PLR0911 - a table of what nodes print, read from top to bottom
    noise: Tail, stream: ByteStream, broken: str, *, become: bool
) -> ConnectionFailure:
    """Return the failure of a stream that ended before the node program spoke, from what was printed instead.

    `become`: sudo was to start it, and its words count.
    """
    printed = _printed(noise, stream)
    # A server that shows the command line it was given shows the words of the reports, too, with `$p` unfilled.
    lines = [line for line in printed.splitlines() if line.startswith(REPORT) and "$" not in line]
    reports = [line[len(REPORT) :].split() for line in lines]
    for report in reports:
        if report[:1] == ["too-old"]:
            version = " ".join(report[2:]) or "an old Python"
            return PythonTooOld(f"{report[1]} on the node is {version}; 3.8 or newer is needed", _SET_PYTHON)
    for report in reports:
        if report[:1] == ["not-started"]:
            return PythonUnusable(f"{report[1]} on the node may not be executed", _SET_PYTHON, printed=printed)
        if report[:1] == ["no-sudo"]:
            return NodeProgramMissing(
                "`become` needs sudo, and there is none on the node", "log in as root, or install it"
            )
        if report[:1] == ["no-python"]:
            return PythonUnusable("no Python 3 was found on the node", _SET_PYTHON)
    if "account is currently not available" in printed:
        return NodeProgramMissing(
            "the login has no shell on the node", "give the account a shell (`chsh -s /bin/sh`)", printed=printed
        )
    if become and "sudo:" in printed:
        return SudoRefused(
            "sudo refused to run the node program", "allow the login NOPASSWD, or log in as root", printed=printed
        )
    status = stream.exit_status()
    if status is None:
        why = broken or "the connection was cut"
        return ConnectionLost(f"the connection ended before the node program answered: {why}")
    return ShellEnded(status, printed)


def _printed(noise: Tail, stream: ByteStream) -> str:
    return "\n".join(text for text in (noise.text(), stream.stderr_tail()) if text)
