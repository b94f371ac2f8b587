import os
import threading
import time
from pathlib import Path

import pytest

from stackplan.node.context import CannotTell, Context, ProbeFailed


def alive(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_a_command_has_a_plain_environment_and_no_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de")
    script = 'printf "%s " "$LC_ALL" "${LANGUAGE-none}" "$A"; cat; exit 3'
    ran = Context().run(["/bin/sh", "-c", script], environment={"A": "b"})
    assert (ran.exit_code, ran.text()) == (3, "C.UTF-8 none b ")


def test_both_streams_and_the_input_are_kept_apart() -> None:
    ran = Context().run(["/bin/sh", "-c", "cat; echo wrong >&2; printf '\\377'"], stdin=b"given")
    assert (ran.stdout, ran.error_text(), ran.text()) == (b"given\xff", "wrong\n", "given\N{REPLACEMENT CHARACTER}")


def test_a_signal_is_a_negative_exit_code() -> None:
    assert Context().run(["/bin/sh", "-c", "kill -9 $$"]).exit_code == -9


def test_what_is_missing_and_what_fails_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(CannotTell, match="there is no program nvidia-smi-of-nobody"):
        Context().run(["nvidia-smi-of-nobody"])
    with pytest.raises(ProbeFailed, match="cannot be started: Permission denied"):
        Context().run([str(tmp_path)])
    with pytest.raises(ProbeFailed, match="there is no folder /nowhere"):
        Context().run(["/bin/true"], cwd="/nowhere")


def test_a_command_that_hangs_is_killed_with_its_group(tmp_path: Path) -> None:
    script = f"echo so far >&2; sleep 600 & echo $! > {tmp_path}/pid; wait"
    with pytest.raises(ProbeFailed, match=r"/bin/sh did not end within 0\.3 s") as failure:
        Context().run(["/bin/sh", "-c", script], timeout_s=0.3)
    assert failure.value.stderr == "so far\n"
    pid = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 10
    while alive(pid):
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)


def test_a_daemon_that_a_command_leaves_behind_does_not_hold_it_up() -> None:
    ran = Context().run(["/bin/sh", "-c", "sleep 600 & echo $!"], timeout_s=20)
    os.kill(int(ran.stdout), 9)
    assert ran.exit_code == 0


def test_a_flood_is_cut_and_says_so() -> None:
    ran = Context().run(["head", "-c", "1000000", "/dev/zero"], limit=1000)
    assert (len(ran.stdout), ran.truncated, ran.exit_code) == (1000, True, 0)


def test_of_a_flood_of_errors_the_end_is_kept_and_of_output_the_beginning() -> None:
    print_all = "echo first; seq 1 300000; echo first >&2; seq 1 300000 >&2; echo why >&2; exit 3"
    ran = Context().run(["/bin/sh", "-c", print_all], limit=1000)
    assert (len(ran.stdout), len(ran.stderr), ran.truncated, ran.exit_code) == (1000, 1000, True, 3)
    assert (ran.text()[:8], ran.error_text()[-11:]) == ("first\n1\n", "300000\nwhy\n")
    unheard = Context().run(["/bin/sh", "-c", "echo why >&2"], limit=0)
    assert (unheard.stderr, unheard.truncated) == (b"", True)


def test_paths_are_those_of_the_user_below_the_root(tmp_path: Path) -> None:
    context = Context(root=str(tmp_path), environment={"HOME": "/home/ops"})
    assert context.expand("~") == "/home/ops"
    assert context.expand("~/ml-env") == "/home/ops/ml-env"
    assert context.expand("ml-env") == "/home/ops/ml-env"
    assert context.expand("~root/x").endswith("/x")
    assert context.rooted("/proc/version") == f"{tmp_path}/proc/version"
    with pytest.raises(CannotTell, match="there is no user nobody-of-that-name"):
        context.expand("~nobody-of-that-name/x")


def test_reading_is_whole_or_says_why_not(tmp_path: Path) -> None:
    context = Context(root=str(tmp_path))
    (tmp_path / "file").write_bytes(b"12345")
    assert context.read("/file", limit=5) == b"12345"
    with pytest.raises(ProbeFailed, match="/file is larger than 4 bytes"):
        context.read("/file", limit=4)
    with pytest.raises(FileNotFoundError, match="/missing"):
        context.read("/missing")
    with pytest.raises(ProbeFailed, match=r"cannot be read: not a regular file"):
        context.read("/")
