"""A node that can be restarted: sshd as the first process of a process namespace, with a boot id of its own.

The programs that restart a machine are stand-ins on it, which leave a note; the test around it then does what hardware
would do: `down` ends everything at once, `up` starts sshd anew on the same port, from another boot unless told so.
"""

import contextlib
import functools
import os
import subprocess
import threading
import uuid
from collections.abc import Callable

from stackplan.lab.sandbox import Sandbox, plain_python
from tests.sshd.node import SSHD, SshdNode, _free_port, _make_files, _read_log, _write_configuration

# $1 is the node's folder, $2 sshd. What the kernel says of its boot and of itself stands in files of that folder.
_BOOT = """
set -e
cd "$1"
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/sshd /run/systemd/system
cp kernel /run/kernel
mount --bind passwd /etc/passwd
mount --bind boot_id /proc/sys/kernel/random/boot_id
exec "$2" -D -e -f sshd_config
"""
_UNSHARE = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private")
_STAND_IN = """#!/bin/sh
# A stand-in for the program that restarts a machine: this one has no hardware, the test around it sees to the rest.
echo "stand-in: $(basename "$0") $*"
echo restart >>"$HOME/restarts"
touch {asked}
"""


@functools.cache
def restartable():
    """Return whether nodes can have process namespaces of their own and a boot id: root, and allowed to mount."""
    if os.geteuid() != 0:
        return False
    script = "echo one >/run/one 2>/dev/null || exit 1; mount --bind /dev/null /proc/sys/kernel/random/boot_id"
    argv = [*_UNSHARE, "/bin/sh", "-c", f"mount -t tmpfs tmpfs /run && {script}"]
    return subprocess.run(argv, check=False, capture_output=True).returncode == 0


class Machine:
    """`when_asked` is called, in a thread of its own, each time that somebody has the machine restarted.

    A sandbox that was built already is taken as it is. `inside` is a command that enters the namespaces in which the
    machine's disk is, where that is another one than this machine's.
    """

    def __init__(self, sandbox: Sandbox, client_key_line: str, inside: tuple[str, ...] = ()) -> None:
        if not sandbox.home.exists():
            for folder in (sandbox.home, sandbox.programs, sandbox.folder / "tmp"):
                folder.mkdir(parents=True, mode=0o700)
            (sandbox.programs / "python3").symlink_to(plain_python())
        self._inside = inside
        self.asked = sandbox.folder / "asked"
        for name in ("systemctl", "shutdown", "reboot"):
            (sandbox.programs / name).write_text(_STAND_IN.format(asked=self.asked))
            (sandbox.programs / name).chmod(0o755)
        _make_files(sandbox, client_key_line)
        self.folder, self.home = sandbox.folder, sandbox.home
        self.kernel("6.8.0-45")
        host_key = " ".join((self.folder / "host_key.pub").read_text().split()[:2])
        self.node = SshdNode("gpu-01", sandbox, "ops", _free_port(), host_key, None)
        _write_configuration(sandbox, self.node.port)
        self.when_asked: Callable[[], None] = self.restart
        self._over = threading.Event()
        self._readers: list[threading.Thread] = []
        self._watcher = threading.Thread(target=self._watch)

    def __enter__(self):
        self.up()
        self._watcher.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._watcher.join(60)
        self.down()
        for reader in self._readers:
            reader.join(10)

    @property
    def restarts(self):
        """How often somebody has had the machine restarted."""
        with contextlib.suppress(FileNotFoundError):
            return (self.home / "restarts").read_text().split().count("restart")
        return 0

    def kernel(self, version):
        """Say which kernel the next boot runs."""
        (self.folder / "kernel").write_text(f"{version}\n")

    def restart(self, boot=None):
        self.down()
        self.up(boot)

    def down(self):
        self.node.process.kill()
        self.node.process.wait(20)

    def up(self, boot=None):
        """Start it from a new boot, or from one that calls itself `boot`."""
        (self.folder / "boot_id").write_text(f"{uuid.uuid4()}\n" if boot is None else boot)
        argv = [*self._inside, *_UNSHARE, "/bin/sh", "-c", _BOOT, "node", self.folder, SSHD]
        listening, ended = threading.Event(), threading.Event()
        self.node.process = subprocess.Popen(argv, cwd=self.folder, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self._readers.append(threading.Thread(target=_read_log, args=(self.node, listening, ended), daemon=True))
        self._readers[-1].start()
        assert listening.wait(20), "sshd does not start"
        assert not ended.is_set(), "\n".join(self.node.log)

    @property
    def boot(self):
        return (self.folder / "boot_id").read_text()

    def _watch(self):
        while not self._over.wait(0.02):
            if self.asked.exists():
                self.asked.unlink()
                self.when_asked()
