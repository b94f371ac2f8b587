"""Who is blamed when the login works and no node program answers."""

from pathlib import Path

import pytest

from stackplan.connection.connect import ConnectOptions, connect
from stackplan.connection.failure import NodeProgramMissing, PythonTooOld, PythonUnusable, ShellEnded, SudoRefused
from stackplan.model.node import Node, NodeName, Transport


def through(*command: str, **fields: object) -> Node:
    """A node behind a command; `sh -c SCRIPT sh` sees what is to run there as its arguments."""
    return Node(name=NodeName("gpu-01"), transport=Transport.COMMAND, command=command, **fields)  # type: ignore[arg-type]


def program(path: Path, script: str) -> str:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_a_server_that_echoes_the_command_line_has_no_old_python() -> None:
    with pytest.raises(ShellEnded, match="instead of the node program the shell ended with exit status 0"):
        connect(through("/bin/echo", "restricted:"))


def test_a_report_behind_a_prompt_without_a_line_end_is_read(tmp_path: Path) -> None:
    old = program(tmp_path / "old", "test $1 = -V && echo Python 3.6.9; exit 99")
    node = through("/bin/sh", "-c", 'printf "motd> "; exec "$@"', "sh", python=old)
    with pytest.raises(PythonTooOld, match=r"is Python 3\.6\.9; 3\.8 or newer is needed"):
        connect(node)


@pytest.mark.parametrize(
    ("script", "status"),
    [("kill -SEGV $$", 139), ("echo garbage; exit 0", 0), ("echo Unknown option: -I >&2; exit 2", 2)],
)
def test_the_python_of_the_inventory_is_blamed_when_it_starts_nothing(tmp_path: Path, script: str, status: int) -> None:
    python = program(tmp_path / "python", script)
    with pytest.raises(
        NodeProgramMissing,
        match=f"{python}, the `python` of node gpu-01 in the inventory, ended with exit status {status} instead",
    ) as failure:
        connect(through("env", python=python))
    assert "correct `python` of node gpu-01 in the inventory" in str(failure.value.remedy)


@pytest.mark.parametrize(
    ("path", "why"), [("/nowhere", "there is no /nowhere"), ("/etc/passwd", "may not be executed")]
)
def test_a_python_of_the_inventory_that_cannot_be_started(path: str, why: str) -> None:
    with pytest.raises(PythonUnusable, match=why) as failure:
        connect(through("env", python=path))
    assert "correct `python` of node gpu-01 in the inventory" in str(failure.value.remedy)


def test_sudo_is_blamed_only_where_it_is_used(tmp_path: Path) -> None:
    speaks = ("/bin/sh", "-c", "echo >&2 'sudo: unable to resolve host gpu-01'; exit 3", "sh")
    with pytest.raises(ShellEnded, match="exit status 3"):
        connect(through(*speaks))
    with pytest.raises(SudoRefused, match="sudo refused to run the node program"):
        connect(through(*speaks, become=True))


def test_a_sudo_that_does_nothing_is_named() -> None:
    with pytest.raises(NodeProgramMissing, match="sudo or the login's shell ended with exit status 0") as failure:
        connect(through("/bin/sh", "-c", "exit 0", "sh", become=True))
    assert "sudo -n true" in str(failure.value.remedy)


def test_a_sudo_that_hangs_is_named() -> None:
    with pytest.raises(NodeProgramMissing, match="did not answer within") as failure:
        connect(through("/bin/sh", "-c", "exec sleep 600", "sh", become=True), ConnectOptions(connect_timeout_s=0.3))
    assert "sudo" in str(failure.value.remedy)


def test_a_message_holds_the_end_of_a_flood_and_no_more() -> None:
    with pytest.raises(ShellEnded) as failure:
        connect(through("/bin/sh", "-c", "seq 100000; exit 1", "sh"))
    assert len(str(failure.value)) < 2500
    assert str(failure.value).endswith("99999\n100000")
    assert "characters before this]" in str(failure.value)
