"""The supervisor of a job: a process of its own session that outlives the connection, starts the stages one after the
other, keeps their output, and writes how it all ended.

Nothing that happens to the connection, to the program that started it or to the disk ends the job.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import subprocess
import time
from typing import Any, NoReturn

from stackplan.node import boot
from stackplan.node.asker import SUDO_PATIENCE_S, bundled
from stackplan.node.descriptors import close_others, silence
from stackplan.node.frames import encode
from stackplan.node.identity import NoSuchUser, become, forget_signals, other, sudo_argv
from stackplan.node.mask import Mask
from stackplan.node.obstacle import obstacle
from stackplan.node.processes import adopt_orphans, descendants, send
from stackplan.node.reserve import give_up
from stackplan.node.spool import OutputWriter, Spool, boot_id, state_folder
from stackplan.node.stage import in_memory, perform

GRACE_S = 10.0
# How long a process that cannot be killed (waiting for a dead disk) is waited for.
SURRENDER_S = 15.0
# A daemon that a stage leaves behind may hold its output open for ever; after this long a silence the stage is over.
QUIET_S = 0.2
# … and after this long also one that goes on printing.
CHATTER_S = 5.0
MOST_NAMES = 20
TERMINATE = signal.SIGUSR1


class CannotStart(Exception):
    """The job cannot be started; nothing ran."""


def start(request: dict[str, Any], held: list[int]) -> dict[str, Any]:
    """Start a job unless it was started before, and return its supervisor's `pid` and `spool`. Raise CannotStart.

    `held` are the descriptors (of the node's lock) that the supervisor is to inherit.
    """
    spool = Spool(request["job"])
    try:
        user = other(request.get("user"))
        _check_sudo(user)
        _check_boot(spool, request.get("ends_boot"))
        alive = _make(spool, _public(request))
    except NoSuchUser as error:
        raise CannotStart(str(error)) from error
    except OSError as error:
        why, remedy = obstacle(error, spool.path)
        raise CannotStart(f"the spool {spool.path} cannot be made: {why} ({remedy})") from error
    if alive is not None:
        try:
            _fork_twice(spool, request, user, [alive, *held])
        finally:
            os.close(alive)
    return {"pid": _await_pid(spool), "spool": spool.path}


def _make(spool: Spool, job: dict[str, Any]) -> int | None:
    """Make the spool; for what is put back, on a full disk, in the room that was set aside for that. Raise OSError."""
    try:
        return spool.make(job)
    except OSError as error:
        restores = any(stage.get("task") == "restore" for stage in job["stages"])
        if error.errno not in (errno.ENOSPC, errno.EDQUOT) or not restores or not give_up(state_folder()):
            raise
        return spool.make(job)


def _public(request: dict[str, Any]) -> dict[str, Any]:
    """Return what of a request may lie on the disk: no values of variables, no standard input, no task's arguments."""
    stages: list[dict[str, Any]] = []
    for stage in request.get("stages") or []:
        if "task" in stage:
            stages.append({"task": stage["task"].get("kind")})
        else:
            stages.append({"argv": stage["command"].get("argv")})
    return {
        "job": request["job"],
        "user": request.get("user"),
        "timeout_s": request.get("timeout_s"),
        "ends_boot": bool(request.get("ends_boot")),
        "variables": sorted(request.get("environment") or {}),
        "stages": stages,
    }


def _check_boot(spool: Spool, ends_boot: str | None) -> None:
    """Raise CannotStart for a job that is to end a boot which is over: it may have done so, its record being lost."""
    if ends_boot and spool.pid() is None and ends_boot != boot_id():
        raise CannotStart(f"it is to end boot {ends_boot}, and the node answers from {boot_id() or 'an unknown one'}")


def _check_sudo(user: str | None) -> None:
    if user is None or os.geteuid() == 0:
        return
    argv = ["sudo", "-n", "-H", "-u", user, "--", "true"]
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise CannotStart(f"there is no sudo on this node to become `{user}` with") from None
        raise CannotStart(f"sudo cannot be started to become `{user}`: {error.strerror}") from None
    with process:
        try:
            said = process.communicate(timeout=SUDO_PATIENCE_S)[0].decode("utf-8", "replace").strip()
        except subprocess.TimeoutExpired:
            send([*descendants(process.pid, [process.pid]), process.pid], signal.SIGKILL)
            raise CannotStart(
                f"sudo did not answer within {SUDO_PATIENCE_S:g} s when asked to become `{user}`"
            ) from None
    if process.returncode != 0:
        raise CannotStart(f"sudo refused to become `{user}`: {said or f'exit status {process.returncode}'}")


def _fork_twice(spool: Spool, request: dict[str, Any], user: str | None, keep: list[int]) -> None:
    """Fork the supervisor as a child of init, in a session of its own, and wait until its number is written."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        os.waitpid(child, 0)
        with os.fdopen(reader, "rb") as told:
            trouble = told.read()
        if trouble:
            raise CannotStart(trouble.decode("utf-8", "replace"))
        return
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        _become_supervisor(spool, request, user, keep, writer)
    finally:
        os._exit(70)


def _become_supervisor(spool: Spool, request: dict[str, Any], user: str | None, keep: list[int], told: int) -> NoReturn:
    try:
        close_others({*keep, told})
        silence()
        os.chdir("/")
        # Its reactions to signals first: from the moment that its number can be read, it may be asked to end the job.
        supervisor = Supervisor(spool, request, user)
        spool.write_pid(os.getpid())
    except OSError as error:
        why, remedy = obstacle(error, spool.path)
        os.write(told, f"the spool {spool.path} cannot be written: {why} ({remedy})".encode("utf-8", "replace"))
        spool.remove()
        os._exit(1)
    os.close(told)
    try:
        ending = supervisor.run()
    except BaseException as error:  # noqa: BLE001 - whatever happens, the record has to say so
        ending = {"lost": f"the supervisor broke: {type(error).__name__}: {error}"}
    supervisor.output.close()
    spool.write_ending({"ending": ending, "ended": time.time(), "not_kept": supervisor.output.not_kept})
    os._exit(0)


def _await_pid(spool: Spool) -> int | None:
    """Return the number that another program's supervisor is about to write, if it does so within a second."""
    deadline = time.monotonic() + 1.0
    while spool.pid() is None and time.monotonic() < deadline:
        select.select([], [], [], 0.01)
    return spool.pid()


class Supervisor:
    """Runs the stages of one job. `_forced` is the ending that was decided from outside (time limit, interruption)."""

    def __init__(self, spool: Spool, request: dict[str, Any], user: str | None) -> None:
        self.output = OutputWriter(spool, Mask(request.get("masks") or [], request.get("masked_cores") or []))
        self._spool = spool
        self._request = request
        self._user = user
        timeout_s = request.get("timeout_s")
        self._timeout_s = float(timeout_s) if timeout_s else None
        self._deadline = time.monotonic() + self._timeout_s if self._timeout_s else None
        self._grace_file = spool.file("terminate")
        self._terminate = False
        self._forced: dict[str, Any] | None = None
        self._kill_at = 0.0
        self._surrender_at = 0.0
        self._sessions: set[int] = set()
        self._asked: set[int] = set()
        self._statuses: dict[int, int] = {}
        self._wake, wake_writer = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(wake_writer, False)
        signal.set_wakeup_fd(wake_writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(TERMINATE, lambda *_: setattr(self, "_terminate", True))
        # A shutdown signals the job's own processes too; the supervisor stays to record what becomes of them.
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        if request.get("ends_boot"):
            # Here the shutdown is the job, and would wait a minute and a half for a supervisor that stays.
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        adopt_orphans()

    def run(self) -> dict[str, Any]:
        """Run all stages up to the first that does not exit 0 and return the ending of the last that ran."""
        ending: dict[str, Any] = {"exited": 0}
        for number, stage in enumerate(self._request.get("stages") or []):
            ending = self._run_stage(number, {**stage, "environment": self._request.get("environment") or {}})
            if ending != {"exited": 0}:
                break
        if "exited" in ending and (left := self._left_behind()):
            ending["left"] = left
        return ending

    def _left_behind(self) -> list[str]:
        """Return what lives on of the job and is not about to end: what was there a moment ago, too."""
        before = self._tree()
        if not before:
            return []
        select.select([], [], [], QUIET_S)
        self._reap()
        return _named({pid: name for pid, name in self._tree().items() if pid in before})

    def _run_stage(self, number: int, stage: dict[str, Any]) -> dict[str, Any]:
        reader, writer = os.pipe()
        child = self._launch(number, stage, writer)
        os.close(writer)
        os.set_blocking(reader, False)
        self._sessions.add(child)
        silent_since = time.monotonic()
        streaming = True
        ended_at = None
        while True:
            watched = [self._wake, reader] if streaming else [self._wake]
            ready, _, _ = select.select(watched, [], [], self._pause(child))
            if self._wake in ready:
                os.read(self._wake, 4096)
            if reader in ready:
                streaming = self._pump(reader)
                silent_since = time.monotonic()
            self._reap()
            self._enforce()
            now = time.monotonic()
            if child in self._statuses:
                ended_at = ended_at or now
            silent = now - silent_since > QUIET_S or now - (ended_at or now) > CHATTER_S
            if self._over(child, silent=silent or not streaming):
                break
        self._drain(reader)
        os.close(reader)
        if self._forced is not None:
            return self._forced
        return _ending_of(self._statuses[child])

    def _launch(self, number: int, stage: dict[str, Any], output: int) -> int:
        """Start the process of a stage, as the job's user, in a session of its own; return its number."""
        through_sudo = self._user is not None and os.geteuid() != 0
        child = os.fork()
        if child:
            return child
        try:
            os.setsid()
            # By the stage itself and before it acts: a supervisor that is killed must not leave an action unknown.
            self._spool.note_session(number)
            os.dup2(output, 1)
            os.dup2(output, 2)
            forget_signals()
            close_others(set())
            if not through_sudo:
                if self._user is not None:
                    become(self._user)
                perform(stage)
            assert self._user is not None
            # The stage travels through the standard input, which is memory alone: an argv could be read by anybody.
            os.dup2(in_memory(boot.bundle(bundled()) + encode({"stage": stage})), 0)
            argv = sudo_argv(self._user)
            os.execvp(argv[0], argv)  # noqa: S606 - an argv, never a shell
        except BaseException as error:  # noqa: BLE001 - a forked child must never return into the supervisor's loop
            os.write(1, f"stackplan: the stage cannot be started: {error}\n".encode("utf-8", "replace"))
        finally:
            os._exit(126)

    def _pause(self, child: int) -> float:
        """Return for how long nothing needs to be looked at."""
        if self._forced is not None:
            return 0.05
        if child in self._statuses:
            return QUIET_S / 4
        if self._deadline is None:
            return 60.0
        return max(0.0, min(60.0, self._deadline - time.monotonic()))

    def _pump(self, reader: int) -> bool:
        """Move what was printed into the spool; tell whether more can come."""
        try:
            data = os.read(reader, 1 << 18)
        except BlockingIOError:
            return True
        self.output.write(data)
        return bool(data)

    def _drain(self, reader: int) -> None:
        """Move what still stands in the pipe when a stage is over."""
        ready = [reader]
        while ready and self._pump(reader):
            ready, _, _ = select.select([reader], [], [], 0)

    def _reap(self) -> None:
        """Collect every child that has ended, adopted orphans included."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._statuses[pid] = status

    def _enforce(self) -> None:
        """End everything when the time limit or the operator wants it: TERM, a grace, then KILL until none is left."""
        now = time.monotonic()
        if self._forced is None and self._terminate:
            self._force({"interrupted": True}, self._tree(), self._grace())
        elif self._forced is None and self._deadline is not None and now >= self._deadline:
            tree = self._tree()
            self._force({"timed_out": self._timeout_s, "killed": _named(tree)}, tree, GRACE_S)
        elif self._forced is not None and now >= self._kill_at:
            send(self._tree(), signal.SIGKILL, self._user)
            self._kill_at = now + 0.5
        elif self._forced is not None:
            self._ask_to_end(self._tree())

    def _force(self, ending: dict[str, Any], tree: dict[int, str], grace_s: float) -> None:
        self._forced = ending
        self._kill_at = time.monotonic() + grace_s
        self._surrender_at = self._kill_at + SURRENDER_S
        self._ask_to_end(tree)

    def _ask_to_end(self, tree: dict[int, str]) -> None:
        """Send TERM to each process once, to those that are started meanwhile too."""
        send([pid for pid in tree if pid not in self._asked], signal.SIGTERM, self._user)
        self._asked.update(tree)

    def _grace(self) -> float:
        try:
            with open(self._grace_file, encoding="ascii") as file:
                return max(0.0, float(file.read()))
        except (OSError, ValueError):
            return GRACE_S

    def _tree(self) -> dict[int, str]:
        return descendants(os.getpid(), self._sessions)

    def _over(self, child: int, *, silent: bool) -> bool:
        """Tell whether a stage has come to its end."""
        if self._forced is not None:
            return not self._tree() or time.monotonic() > self._surrender_at
        return child in self._statuses and silent


def _named(processes: dict[int, str]) -> list[str]:
    """Return processes as people read them, and of many how many there are."""
    names = [f"{name} ({pid})" for pid, name in sorted(processes.items())]
    return names if len(names) <= MOST_NAMES else [*names[:MOST_NAMES], f"and {len(names) - MOST_NAMES} more"]


def _ending_of(status: int) -> dict[str, Any]:
    if os.WIFSIGNALED(status):
        return {"signalled": os.WTERMSIG(status)}
    return {"exited": os.WEXITSTATUS(status)}


def terminate(job: str, grace_s: float) -> None:
    """Ask a job's supervisor to end it: TERM first, KILL after `grace_s`. A job that has ended is left alone."""
    spool = Spool(job)
    pid = spool.pid()
    if pid is None or not spool.supervised():
        return
    try:
        with open(spool.file("terminate"), "w", encoding="ascii") as file:
            file.write(str(grace_s))
    except OSError:
        # No room for the grace: the supervisor takes its own.
        pass
    os.kill(pid, TERMINATE)
