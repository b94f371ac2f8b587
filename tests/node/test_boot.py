"""The command line that finds a Python, through real shells, and what it says when there is none that will do."""

import os
import shlex
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from stackplan.connection.connect import ConnectOptions, connect
from stackplan.connection.failure import ConnectionFailure, NodeProgramMissing, NodeUnreachable, PythonTooOld
from stackplan.connection.session import Session
from stackplan.model.facts import Query, Unknown
from stackplan.model.node import Node, NodeName, Transport
from stackplan.node import boot
from stackplan.node.boot import shell_command

PYENV = Path.home() / ".pyenv/versions"
PYTHONS = sorted((int(path.name.split(".")[1]), path / "bin/python3") for path in PYENV.glob("3.*.*"))


def through(*words: str, **fields: object) -> Node:
    return Node(name=NodeName("n"), transport=Transport.COMMAND, command=words, **fields)  # type: ignore[arg-type]


def executable(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.parametrize("become", [False, True])
@pytest.mark.parametrize("python", [None, "~/my env/bin/python3"])
def test_no_login_shell_can_trip_over_the_command_line(python: str | None, become: bool) -> None:
    words = shlex.split(shell_command(python, become=become))
    assert words[:2] == ["/bin/sh", "-c"]
    assert len(words) == 3
    assert not set("'\\!\n") & set(words[2])


@pytest.mark.parametrize(
    "python", ["/opt/a'b/python3", '/opt/a"b', "/opt/$x/python3", "/opt/`id`", "/opt/a\nb", "/a!b"]
)
def test_a_path_that_would_break_out_of_the_quotes_is_refused(python: str) -> None:
    with pytest.raises(NodeUnreachable, match="may not hold quotes"):
        connect(through("env", python=python))


@pytest.mark.skipif(not PYTHONS, reason="no other Python versions under ~/.pyenv")
@pytest.mark.parametrize("python", [path for minor, path in PYTHONS if minor >= 8], ids=lambda path: path.parts[-3])
def test_the_program_runs_with_every_python_from_3_8_on(python: Path, open_session: Callable[..., Session]) -> None:
    session = open_session(python=str(python))
    assert session.greeting.python == python.parts[-3]
    query = Query("no_such_query", {})
    assert session.ask([query]) == {query: Unknown("the node program has no query `no_such_query`")}


@pytest.mark.skipif(not [1 for minor, _ in PYTHONS if minor < 8], reason="no Python before 3.8 under ~/.pyenv")
def test_a_python_that_is_too_old_is_named(state: Path) -> None:
    minor, python = PYTHONS[0]
    with pytest.raises(
        PythonTooOld, match=rf"{python} on the node is Python 3\.{minor}\.\d+; 3\.8 or newer"
    ) as failure:
        connect(through("env", python=str(python)))
    assert "correct `python` of node n in the inventory" in str(failure.value.remedy)


@pytest.mark.skipif(not [1 for minor, _ in PYTHONS if minor < 8], reason="no Python before 3.8 under ~/.pyenv")
def test_a_python_that_is_too_old_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, open_session: Callable[..., Session]
) -> None:
    monkeypatch.setattr(boot, "_CANDIDATES", f"{PYTHONS[0][1]} {PYTHONS[-1][1]}")
    assert open_session().greeting.executable == str(PYTHONS[-1][1])


def test_no_python_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(boot, "_CANDIDATES", "/nowhere/python3 python3")
    with pytest.raises(NodeProgramMissing, match="no Python 3 was found on the node") as failure:
        connect(through("/usr/bin/env", f"PATH={tmp_path}"))
    assert "install python3" in str(failure.value.remedy)


def test_the_python_of_the_inventory_that_is_not_there_is_named() -> None:
    with pytest.raises(NodeProgramMissing, match="there is no /opt/python3 on the node"):
        connect(through("env", python="/opt/python3"))


def test_a_python_that_may_not_be_executed(tmp_path: Path) -> None:
    python = executable(tmp_path / "python3", "#!/nowhere/interpreter\n")
    with pytest.raises(NodeProgramMissing, match=f"{python} on the node may not be executed"):
        connect(through("env", python=str(python)))


@pytest.mark.parametrize("place", ["1", "2"])
def test_a_profile_may_print_ten_megabytes(place: str, state: Path) -> None:
    noisy = f'head -c 10000000 /dev/zero | tr "\\0" "=" >&{place}; echo done; exec "$@"'
    with connect(through("/bin/sh", "-c", noisy, "sh")) as session:
        assert session.greeting.user == os.environ.get("USER", session.greeting.user)
        query = Query("no_such_query", {})
        assert isinstance(session.ask([query])[query], Unknown)


def test_what_is_printed_instead_of_an_answer_is_shown() -> None:
    gone = 'echo "Your password has expired."; echo >&2 "Contact the helpdesk."; exit 1'
    with pytest.raises(NodeProgramMissing, match="exit status 1") as failure:
        connect(through("/bin/sh", "-c", gone))
    assert failure.value.printed == "Your password has expired.\nContact the helpdesk."


@pytest.mark.skipif(shutil.which("nologin", path="/usr/sbin:/sbin") is None, reason="no nologin on this machine")
def test_an_account_without_a_shell() -> None:
    nologin = str(shutil.which("nologin", path="/usr/sbin:/sbin"))
    with pytest.raises(NodeProgramMissing, match="the login has no shell") as failure:
        connect(through(nologin))
    assert "chsh" in str(failure.value.remedy)


def test_a_profile_that_waits_for_ever_is_given_up() -> None:
    with pytest.raises(NodeProgramMissing, match="did not answer within 2 s") as failure:
        connect(
            through("/bin/sh", "-c", "echo Accept the terms?; exec sleep 600"), ConnectOptions(connect_timeout_s=2.0)
        )
    assert failure.value.printed == "Accept the terms?"


def test_a_profile_that_eats_the_program_is_no_traceback_of_ours() -> None:
    with pytest.raises(ConnectionFailure, match="instead of the node program"):
        connect(through("/bin/sh", "-c", 'read -r line; exec "$@"', "sh"))


def test_the_program_leaves_nothing_on_the_disk(tmp_path: Path, state: Path) -> None:
    with connect(through("env", f"HOME={tmp_path}", f"TMPDIR={tmp_path}")) as session:
        query = Query("os", {})
        assert session.ask([query])
    assert list(tmp_path.rglob("*")) == []


def test_become_without_sudo_says_so(tmp_path: Path) -> None:
    for name in ("sh", "env"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    executable(tmp_path / "id", "#!/bin/sh\necho 1000\n")
    with pytest.raises(NodeProgramMissing, match="`become` needs sudo"):
        connect(through("/usr/bin/env", f"PATH={tmp_path}", become=True))


def test_become_shows_what_sudo_says(tmp_path: Path) -> None:
    executable(tmp_path / "id", "#!/bin/sh\necho 1000\n")
    executable(tmp_path / "sudo", "#!/bin/sh\necho >&2 'sudo: a password is required'\nexit 1\n")
    with pytest.raises(NodeProgramMissing, match="sudo refused to run the node program") as failure:
        connect(through("env", f"PATH={tmp_path}:{os.environ['PATH']}", become=True))
    assert failure.value.printed == "sudo: a password is required"


def test_become_runs_the_program_through_sudo(tmp_path: Path, state: Path) -> None:
    executable(tmp_path / "id", "#!/bin/sh\necho 1000\n")
    executable(tmp_path / "sudo", f'#!/bin/sh\nprintf "%s " "$@" > {tmp_path}/asked\nshift 2\nexec "$@"\n')
    with connect(through("env", f"PATH={tmp_path}:{os.environ['PATH']}", become=True)) as session:
        assert session.greeting.pid > 0
    assert (tmp_path / "asked").read_text().startswith("-n -H /usr/bin/python3 -I -u -c ")
