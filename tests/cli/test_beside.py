"""Work that a forked process does beside this one: what comes back, and what is worked out here when nothing does."""

import errno
import os
import signal
from pathlib import Path

import pytest

from stackplan.cli.beside import MOST_PARTS, Parts, beside
from tests.node.waiting import wait_until


def _here(_: Parts) -> int:
    return os.getpid()


def _wait(_: Parts) -> None:
    signal.pause()


def test_two_processes_work_and_both_results_come_back() -> None:
    mine, others = beside(_here, _here)
    assert mine == os.getpid()
    assert others != os.getpid()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_what_a_killed_process_was_to_work_out_is_worked_out_here(number: signal.Signals) -> None:
    here = os.getpid()

    def others(_: Parts) -> str:
        if os.getpid() != here:
            os.kill(os.getpid(), number)
            signal.pause()
        return "worked out"

    assert beside(lambda _: 1, others) == (1, "worked out")


def test_an_exception_of_the_other_work_comes_up_here() -> None:
    def others(_: Parts) -> int:
        raise KeyError("of the other work")

    with pytest.raises(KeyError, match="of the other work"):
        beside(lambda _: 1, others)


def test_what_cannot_be_pickled_is_worked_out_here() -> None:
    _, made = beside(lambda _: 1, lambda _: lambda: 7)
    assert made() == 7


@pytest.mark.parametrize("number", [0, 1, 2, 3, MOST_PARTS])
def test_each_part_is_done_by_one_of_both(number: int) -> None:
    mine, others = beside(list, list, number)
    assert sorted([*mine, *others]) == list(range(number))


def test_the_other_process_takes_what_is_left_while_this_one_is_busy() -> None:
    started, starting = os.pipe()

    def others(left: Parts) -> list[int]:
        taken = [next(left), next(left)]
        os.write(starting, b".")
        return [*taken, *left]

    def mine(left: Parts) -> list[int]:
        os.read(started, 1)
        return list(left)

    own, left = beside(mine, others, 20)
    assert len(left) >= 2
    assert sorted([*own, *left]) == list(range(20))


def test_the_parts_that_a_killed_process_had_taken_are_done_here() -> None:
    here = os.getpid()
    started, starting = os.pipe()

    def others(left: Parts) -> list[int]:
        if os.getpid() != here:
            assert [next(left), next(left)]
            os.write(starting, b".")
            os.kill(os.getpid(), signal.SIGKILL)
        return list(left)

    def mine(left: Parts) -> list[int]:
        os.read(started, 1)
        return list(left)

    assert beside(mine, others, 5) == ([2, 3, 4], [0, 1])


def test_more_parts_than_can_be_told_are_refused() -> None:
    with pytest.raises(ValueError, match="expected at most 256 parts, got 257"):
        beside(list, list, MOST_PARTS + 1)


def test_a_large_result_comes_back_whole() -> None:
    _, large = beside(lambda _: 1, lambda _: b"x" * 4_000_000)
    assert large == b"x" * 4_000_000


def test_no_process_is_left_when_this_one_cannot_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    fork = os.fork

    def noted() -> int:
        started.append(fork())
        return started[-1]

    def mine(_: Parts) -> int:
        raise ValueError("here")

    monkeypatch.setattr(os, "fork", noted)
    with pytest.raises(ValueError, match="here"):
        beside(mine, _wait)
    (child,) = started
    with pytest.raises(ChildProcessError):
        os.waitpid(child, os.WNOHANG)


def test_where_nobody_is_told_how_a_process_ended_its_work_is_done_again():
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert beside(lambda _: 1, lambda _: "worked out") == (1, "worked out")
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_nothing_is_forked_where_that_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", refuse)
    assert beside(list, list, 3) == ([0, 1, 2], [])
    assert beside(_here, _here) == (os.getpid(), os.getpid())


@pytest.mark.parametrize("left", [0, 1, 2, 3])
def test_nothing_is_forked_where_there_is_no_descriptor_left(monkeypatch: pytest.MonkeyPatch, left: int) -> None:
    opened: list[int] = []
    pipe = os.pipe

    def bounded() -> tuple[int, int]:
        if len(opened) + 2 > left:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        opened.extend(pair := pipe())
        return pair

    monkeypatch.setattr(os, "pipe", bounded)
    assert beside(list, list, 3) == ([0, 1, 2], [])
    for it in opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(it)


def test_a_process_whose_result_nobody_reads_any_more_ends():
    """The one that asked may be killed: what it asked for must not wait for ever to hand it over."""
    reading, writing = os.pipe()

    def others(_: Parts) -> bytes:
        os.write(writing, f"{os.getpid()}\n".encode())
        return b"x" * 4_000_000

    asking = os.fork()
    if asking == 0:
        try:
            beside(_wait, others)
        finally:
            os._exit(0)
    other = int(os.read(reading, 32))
    os.kill(asking, signal.SIGKILL)
    os.waitpid(asking, 0)
    wait_until(lambda: _is_over(other))


def _is_over(pid: int) -> bool:
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text("utf-8")
    except OSError:
        return True
