"""Jobs under their supervisor, through real node programs on this machine."""

import json
import os
import secrets
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from stackplan.connection.bundle import bundle
from stackplan.connection.session import Session, Started
from stackplan.model.job import (
    Command,
    Ending,
    Exited,
    Interrupted,
    Job,
    Lost,
    NotStarted,
    Rebooted,
    Signalled,
    Stage,
    Task,
    TimedOut,
    Work,
)
from stackplan.model.secret import Redactor, Secret, Text
from stackplan.node import boot
from stackplan.node.spool import boot_id
from tests.node.waiting import wait_until


def command(*argv: str, stdin: Text | None = None, cwd: str | None = None, **environment: Text) -> Command:
    return Command(argv=argv, display=" ".join(argv), stdin=stdin, cwd=cwd, environment=environment)


def shell(script: str, **arguments: Text) -> Command:
    return command("/bin/sh", "-c", script, **arguments)


def run(session: Session, name: str, *stages: Stage, **arguments: object) -> tuple[Ending, bytes]:
    """Start a job and watch it to its end."""
    started = session.start(Work(name=name, job=Job(stages), **arguments))  # type: ignore[arg-type]
    assert isinstance(started, Started)
    output: list[bytes] = []
    return session.watch(name, output.append), b"".join(output)


def spool_of(started: object) -> Path:
    assert isinstance(started, Started)
    return Path(started.spool)


def alive(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


@pytest.mark.parametrize(
    ("stage", "ending", "output"),
    [
        (shell("echo one; echo two >&2"), Exited(0), b"one\ntwo\n"),
        (shell("exit 3"), Exited(3), b""),
        (shell("kill -SEGV $$"), Signalled(signal.SIGSEGV), b""),
        (shell("cat", stdin="given"), Exited(0), b"given"),
        (shell("cat"), Exited(0), b""),
        (shell("pwd", cwd="/usr"), Exited(0), b"/usr\n"),
        (shell('printf %s "$A$LC_ALL"', A="b "), Exited(0), b"b C.UTF-8"),
        (shell("test -t 0 || test -t 1 || echo no terminal"), Exited(0), b"no terminal\n"),
        (shell("printf '\\377\\000\\376'"), Exited(0), b"\xff\x00\xfe"),
        (command("/nowhere/uv"), Exited(127), b"stackplan: there is no program `/nowhere/uv` on this node"),
        (command("/etc"), Exited(126), b"stackplan: `/etc` cannot be started: Permission denied\n"),
        (
            shell("true", cwd="/nowhere"),
            Exited(126),
            b"stackplan: cannot work in /nowhere: No such file or directory\n",
        ),
        (Task(kind="no_such_task", arguments={}, display=""), Exited(1), b"stackplan: ModuleNotFoundError: "),
    ],
)
def test_how_a_job_ends_and_what_it_prints(
    session: Session, names: Iterator[str], stage: Stage, ending: Ending, output: bytes
) -> None:
    found, printed = run(session, next(names), stage)
    assert found == ending
    assert printed.startswith(output)
    assert printed == output or output.startswith(b"stackplan")


def test_stages_stop_at_the_first_that_does_not_exit_0(session: Session, names: Iterator[str]) -> None:
    stages = (shell("echo 1"), shell("echo 2; exit 4"), shell("echo 3"))
    assert run(session, next(names), *stages) == (Exited(4), b"1\n2\n")


def test_variables_are_dropped_by_name_and_prefix(
    monkeypatch: pytest.MonkeyPatch, open_session: Callable[..., Session], names: Iterator[str]
) -> None:
    for name in ("ZUV_INDEX", "ZUV_X", "ZPIP", "ZPIP_KEPT"):
        monkeypatch.setenv(name, "login")
    asked = Command(argv=("env",), display="", drop_environment=("ZUV_*", "ZPIP"), environment={"ZUV_X": "step"})
    _, printed = run(open_session(), next(names), asked, environment={"ZJOB": "yes"})
    lines = printed.decode().splitlines()
    found = dict(line.split("=", 1) for line in lines if line.startswith("Z"))
    assert found == {"ZUV_X": "step", "ZPIP_KEPT": "login", "ZJOB": "yes"}


def test_a_job_is_started_once_and_goes_on_without_its_connection(
    open_session: Callable[..., Session], names: Iterator[str], tmp_path: Path
) -> None:
    name, go, counter = next(names), tmp_path / "go", tmp_path / "counter"
    script = f"echo started >> {counter}; until test -e {go}; do sleep 0.02; done; echo finished"
    first = open_session()
    started = first.start(Work(name=name, job=Job((shell(script),))))
    wait_until(counter.exists)
    os.kill(first.greeting.pid, signal.SIGKILL)
    wait_until(lambda: not alive(first.greeting.pid))

    second = open_session()
    assert second.start(Work(name=name, job=Job((shell(script),)))) == started
    go.touch()
    output: list[bytes] = []
    assert second.watch(name, output.append) == Exited(0)
    assert b"".join(output) == b"finished\n"
    assert counter.read_text() == "started\n"
    # The counter counts: another name is another job.
    assert run(second, next(names), shell(script))[0] == Exited(0)
    assert counter.read_text() == "started\nstarted\n"


def test_a_job_that_ended_is_not_started_again(
    open_session: Callable[..., Session], names: Iterator[str], tmp_path: Path
) -> None:
    name, counter = next(names), tmp_path / "counter"
    for _ in range(2):
        ending, output = run(open_session(), name, shell(f"echo run >> {counter}; echo seen; exit 5"))
        assert (ending, output) == (Exited(5), b"seen\n")
    assert counter.read_text() == "run\n"


def test_watching_goes_on_from_an_offset(session: Session, names: Iterator[str]) -> None:
    name = next(names)
    run(session, name, shell("printf 0123456789"))
    output: list[bytes] = []
    assert session.watch(name, output.append, offset=7) == Exited(0)
    assert b"".join(output) == b"789"


STUBBORN = """
trap '' TERM
echo $$ > {folder}/child
sh -c 'trap "" TERM; echo $$ > {folder}/same; while :; do sleep 0.05; done' &
setsid sh -c 'trap "" TERM; echo $$ > {folder}/own-session; while :; do sleep 0.05; done' &
wait
while :; do sleep 0.05; done
"""


def started_stubborn(folder: Path) -> list[int]:
    """Return the processes of STUBBORN once all three are there."""
    files = [folder / name for name in ("child", "same", "own-session")]
    wait_until(lambda: all(file.exists() and file.read_text().endswith("\n") for file in files))
    return [int(file.read_text()) for file in files]


def test_what_ignores_term_is_killed_with_all_it_started(
    session: Session, names: Iterator[str], tmp_path: Path
) -> None:
    name = next(names)
    session.start(Work(name=name, job=Job((shell(STUBBORN.format(folder=tmp_path)),))))
    pids = started_stubborn(tmp_path)
    endings: list[Ending] = []
    watching = threading.Thread(target=lambda: endings.append(session.watch(name, lambda _: None)))
    watching.start()
    assert [alive(pid) for pid in pids] == [True, True, True]
    session.terminate(name, grace_s=0.2)
    watching.join(20)
    assert [alive(pid) for pid in pids] == [False, False, False]
    assert endings == [Interrupted()]


def test_the_time_limit_ends_what_ignores_term(
    open_session: Callable[..., Session], names: Iterator[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def impatient(sources: Mapping[str, str], pack: Callable[..., bytes] = boot.bundle) -> bytes:
        name = "stackplan.node.supervisor"
        return pack({**sources, name: sources[name].replace("GRACE_S = 10.0", "GRACE_S = 0.2")})

    monkeypatch.setattr("stackplan.node.boot.bundle", impatient)
    monkeypatch.setattr("stackplan.connection.connect.bundle", bundle.__wrapped__)
    session, name = open_session(), next(names)
    session.start(Work(name=name, job=Job((shell(STUBBORN.format(folder=tmp_path)),)), timeout_s=1.5))
    pids = started_stubborn(tmp_path)
    ending = session.watch(name, lambda _: None)
    assert isinstance(ending, TimedOut)
    assert {f"sh ({pid})" for pid in pids} <= set(ending.killed)
    assert [alive(pid) for pid in pids] == [False, False, False]


def test_the_time_limit_names_what_it_killed(session: Session, names: Iterator[str]) -> None:
    ending, output = run(session, next(names), shell("echo before; sleep 600 & wait"), timeout_s=0.3)
    assert isinstance(ending, TimedOut)
    assert ending.after_s == 0.3
    assert [name.split()[0] for name in ending.killed] == ["sh", "sleep"]
    assert output == b"before\n"


def test_a_job_that_ends_when_asked(session: Session, names: Iterator[str], tmp_path: Path) -> None:
    name = next(names)
    session.start(
        Work(name=name, job=Job((shell(f"trap 'echo bye; exit 0' TERM; touch {tmp_path}/up; sleep 600 & wait"),)))
    )
    wait_until((tmp_path / "up").exists)
    session.terminate(name)
    output: list[bytes] = []
    assert session.watch(name, output.append) == Interrupted()
    assert b"".join(output) == b"bye\n"
    session.terminate(name)


def test_a_daemon_that_a_step_leaves_behind_does_not_hold_it_up(
    session: Session, names: Iterator[str], tmp_path: Path
) -> None:
    script = f"setsid sleep 600 & echo $! > {tmp_path}/pid; echo started"
    ending, output = run(session, next(names), shell(script))
    daemon = int((tmp_path / "pid").read_text())
    assert isinstance(ending, Exited)
    assert (ending.code, output) == (0, b"started\n")
    assert ending.left == (f"sleep ({daemon})",), "it is said what stays"
    assert alive(daemon)
    os.kill(daemon, signal.SIGKILL)


def test_a_supervisor_that_is_killed_leaves_the_job_lost(
    session: Session, names: Iterator[str], tmp_path: Path
) -> None:
    name = next(names)
    started = session.start(Work(name=name, job=Job((shell(f"echo $$ > {tmp_path}/pid; exec sleep 600"),))))
    assert isinstance(started, Started)
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "")
    assert started.pid is not None
    os.kill(started.pid, signal.SIGKILL)
    ending = session.watch(name, lambda _: None)
    assert isinstance(ending, Lost)
    assert "was killed; what it had started may still run" in ending.why
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    # It is not started again either: what it did is not known.
    assert session.start(Work(name=name, job=Job((shell("true"),)))) == started


def test_a_reboot_in_between_is_told(session: Session, names: Iterator[str]) -> None:
    name = next(names)
    spool = spool_of(session.start(Work(name=name, job=Job((shell("true"),)))))
    session.watch(name, lambda _: None)
    (spool / "ending.json").unlink()
    record = json.loads((spool / "job.json").read_text())
    (spool / "job.json").write_text(json.dumps({**record, "boot": "another"}))
    assert session.watch(name, lambda _: None) == Rebooted("another", boot_id())


def test_a_job_that_nobody_knows_is_lost(session: Session) -> None:
    assert session.watch("never-started", lambda _: None) == Lost("the node has no record of the job never-started")


def test_a_hundred_megabytes_keep_head_and_tail(session: Session, names: Iterator[str]) -> None:
    name = next(names)
    script = "echo begin; head -c 100000000 /dev/zero; echo end"
    output = bytearray()
    spool = spool_of(session.start(Work(name=name, job=Job((shell(script),)))))
    assert session.watch(name, output.extend) == Exited(0)
    assert output.startswith(b"begin\n")
    assert output.endswith(b"end\n")
    assert sum(file.stat().st_size for file in spool.glob("output*")) <= 64 * 1024 * 1024
    assert (spool / "output").read_bytes()[:6] == b"begin\n"


@pytest.mark.parametrize("size", [1, 8 * 1024 * 1024, 8 * 1024 * 1024 + 1])
def test_output_at_the_edge_of_a_segment_arrives_whole(session: Session, names: Iterator[str], size: int) -> None:
    ending, output = run(session, next(names), shell(f"head -c {size} /dev/zero | tr '\\0' x"))
    assert ending == Exited(0)
    assert output == b"x" * size


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_disk_that_fills_up_ends_no_job(
    open_session: Callable[..., Session], names: Iterator[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.system(f"mount -t tmpfs -o size=256k tmpfs {disk} 2>/dev/null") != 0:
        pytest.skip("this machine does not let root mount")
    try:
        monkeypatch.setenv("XDG_STATE_HOME", str(disk))
        session = open_session()
        ending, output = run(session, next(names), shell("head -c 1000000 /dev/zero; exit 6"))
        assert ending == Exited(6)
        assert b"bytes of output are missing here" in output
        refused = session.start(Work(name=next(names), job=Job((shell("true"),))))
        assert isinstance(refused, NotStarted)
        assert "No space left on device" in refused.why
        session.close()
    finally:
        assert os.system(f"umount {disk}") == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_spool_that_may_not_be_written(
    open_session: Callable[..., Session], names: Iterator[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    refused = open_session().start(Work(name=next(names), job=Job((shell("true"),))))
    assert isinstance(refused, NotStarted)


def test_a_spool_that_cannot_be_made(
    open_session: Callable[..., Session], names: Iterator[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    refused = open_session().start(Work(name=next(names), job=Job((shell("true"),))))
    assert isinstance(refused, NotStarted)
    assert "cannot be made: /dev/null is not a folder (move /dev/null out of the way" in refused.why


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else without sudo")
def test_root_runs_a_job_as_another_user(session: Session, names: Iterator[str]) -> None:
    stage = shell("id -un; echo $HOME $USER $LOGNAME; id -G")
    ending, output = run(session, next(names), stage, user="nobody")
    assert (ending, output) == (Exited(0), b"nobody\n/nonexistent nobody nobody\n65534\n")


def test_a_user_that_does_not_exist(session: Session, names: Iterator[str]) -> None:
    refused = session.start(Work(name=next(names), job=Job((shell("true"),)), user="no-such-user"))
    assert refused == NotStarted("there is no user `no-such-user` on this node")


# Of this process alone: another one may run the control, which leaks it, at the same time.
SECRET = f"s3cr3t-of-the-hub-{secrets.token_hex(4)}"


def seen_by_others(text: str, spool: Path) -> list[str]:
    """Return where `text` can be read: command lines of any process, files of the spool."""
    needle = text.encode()
    places = [*Path("/proc").glob("[0-9]*/cmdline"), *(file for file in spool.rglob("*") if file.is_file())]
    found = []
    for place in places:
        try:
            if needle in place.read_bytes():
                found.append(str(place))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("leak", [False, True])
def test_secrets_reach_no_command_line_and_no_disk(
    session: Session, names: Iterator[str], tmp_path: Path, leak: bool
) -> None:
    name, go = next(names), tmp_path / "go"
    script = f"read -r given; touch {tmp_path}/up; until test -e {go}; do sleep 0.02; done; exit ${{#TOKEN}}"
    argv = ("/bin/sh", "-c", script, SECRET) if leak else ("/bin/sh", "-c", script)
    stage = Command(argv=argv, display="", stdin=Secret(SECRET + "\n"), environment={"TOKEN": Secret(SECRET)})
    task = Task(kind="no_such_task", arguments={"password": Secret(SECRET)}, display="")
    environment: Mapping[str, Text] = {"JOB": Secret(SECRET)}
    spool = spool_of(session.start(Work(name=name, job=Job((stage, task)), environment=environment)))
    wait_until((tmp_path / "up").exists)
    found = seen_by_others(SECRET, spool)
    go.touch()
    assert session.watch(name, lambda _: None) == Exited(len(SECRET))
    # The control: the same scan finds a secret that does stand in an argv, and in the record of that argv.
    assert bool(found) == leak
    assert bool(seen_by_others(SECRET, spool)) == leak


@pytest.mark.parametrize("known", [True, False])
def test_what_a_command_echoes_is_kept_without_the_secrets(session: Session, names: Iterator[str], known: bool) -> None:
    stage = shell('echo "token $TOKEN"; printf %s "$TOKEN" | base64; printf "end $TOKEN"', TOKEN=Secret(SECRET))
    redactor = Redactor(frozenset({SECRET, "elsewhere"}) if known else frozenset())
    started = session.start(Work(name=next(names), job=Job((stage,)), redactor=redactor))
    output: list[bytes] = []
    assert session.watch(Path(spool_of(started)).name, output.append) == Exited(0)
    kept = (spool_of(started) / "output").read_bytes()
    assert b"".join(output) == kept
    # The control: without the mask the same search finds it.
    assert (SECRET.encode() in kept) != known
    if known:
        assert kept == b"token ***\n***\nend ***"


def test_the_spool_is_private(session: Session, names: Iterator[str]) -> None:
    spool = spool_of(session.start(Work(name=next(names), job=Job((shell("true"),)))))
    assert spool.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o077 for file in spool.iterdir()} == {0}


def test_a_shell_hears_that_it_is_to_end_before_its_children_are_gone(session: Session, tmp_path: Path) -> None:
    """Otherwise it takes their end for a success, and starts what comes next."""
    script = f"trap 'exit 7' TERM; touch {tmp_path}/up; sleep 600 & wait; touch {tmp_path}/next"
    for number in range(20):
        (tmp_path / "up").unlink(missing_ok=True)
        session.start(Work(name=f"job-{number}", job=Job((shell(script),))))
        wait_until((tmp_path / "up").exists)
        session.terminate(f"job-{number}")
        assert session.watch(f"job-{number}", lambda _: None) == Interrupted()
        assert not (tmp_path / "next").exists()
