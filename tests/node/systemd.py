"""A node with a real systemd: process 1 of namespaces of its own, with units of the tests and no others.

Units are read from a folder of the node alone; of the machine's own units none is started. It needs root, cgroups that
it may write a branch of, and systemd (the package, not a booted system). `find` tells what is missing.
"""

import contextlib
import functools
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

from tests.node.isolated import IsolatedNode
from tests.node.waiting import wait_until

SYSTEMD = next((it for it in ("/usr/lib/systemd/systemd", "/lib/systemd/systemd") if Path(it).exists()), None)
_UNITS = "/run/stackplan-units"
# `$2` is systemd, `$3` and `$4` are units of its journal. /run, /var/log and /etc/systemd are the node's own.
_NAMESPACE = f"""
set -e
mount -t proc proc /proc
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir -p /run/systemd/system /run/lock {_UNITS} /mnt/etc/system /mnt/log
mount --bind /mnt/etc /etc/systemd
mount --bind /mnt/log /var/log
mount -t tmpfs tmpfs /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
for target in sysinit basic shutdown multi-user; do
  printf '[Unit]\\nDefaultDependencies=no\\n' > {_UNITS}/$target.target
done
{{ printf '[Unit]\\nDefaultDependencies=no\\n'; echo Requires=systemd-journald.service; }} > {_UNITS}/quiet.target
printf '%s' "$3" > {_UNITS}/systemd-journald.service
printf '%s' "$4" > {_UNITS}/systemd-journald.socket
printf '[Journal]\\nStorage=volatile\\nReadKMsg=no\\nAudit=no\\n' > /etc/systemd/journald.conf
exec env -i container=stackplan PATH=/usr/sbin:/usr/bin:/sbin:/bin \\
  SYSTEMD_UNIT_PATH={_UNITS}:/run/systemd/system:/etc/systemd/system \\
  "$2" --system --unit=quiet.target --log-target=journal --log-level=warning
"""
_JOURNAL = """
[Unit]
DefaultDependencies=no
Requires=systemd-journald.socket
After=systemd-journald.socket
[Service]
Type=notify
ExecStart=/lib/systemd/systemd-journald
Sockets=systemd-journald.socket
StandardOutput=null
"""
# Without the socket at /dev/log: /dev is this machine's own.
_JOURNAL_SOCKETS = """
[Unit]
DefaultDependencies=no
[Socket]
ListenStream=/run/systemd/journal/stdout
ListenDatagram=/run/systemd/journal/socket
PassCredentials=yes
"""


@functools.cache
def branch() -> Path | None:
    """Return the folder of this process's group in the one cgroup v2 hierarchy, where it is there."""
    for mount in (Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup")):
        if (mount / "cgroup.procs").exists() and (mount / "cgroup.controllers").exists():
            lines = Path("/proc/self/cgroup").read_text().splitlines()
            own = next((line[3:] for line in lines if line.startswith("0::")), "/")
            return mount / own.lstrip("/")
    return None


def missing() -> str | None:
    """Return what keeps a systemd from running here, or None."""
    if os.geteuid() != 0:
        return "needs root"
    if SYSTEMD is None or shutil.which("systemctl") is None:
        return "systemd is not installed"
    if branch() is None:
        return "there is no cgroup v2 hierarchy"
    return _trial()


@functools.cache
def _trial() -> str | None:
    try:
        with systemd_node():
            return None
    except (OSError, AssertionError) as error:
        return f"systemd does not start in namespaces here: {error}"


@contextlib.contextmanager
def systemd_node() -> Iterator[IsolatedNode]:
    """Yield a node whose systemd is up."""
    parent = branch()
    assert parent is not None
    group = parent / f"stackplan-test-{os.getpid()}-{threading.get_native_id()}"
    group.mkdir()
    # The group is entered first, so that it is the root of what the node sees.
    script = f"echo $$ > {group}/cgroup.procs && exec unshare --mount --propagation private --pid --cgroup --ipc --uts"
    inner = f'{script} --fork --kill-child /bin/sh -c "$0" node x "$@"'
    argv = ["/bin/sh", "-c", inner, _NAMESPACE, str(SYSTEMD), _JOURNAL, _JOURNAL_SOCKETS]
    said: list[str] = []
    try:
        with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as it:
            reader = threading.Thread(target=lambda: said.extend(line.decode(errors="replace") for line in it.stdout))
            reader.start()
            node = None
            try:
                node = _entered(it, said)
                yield node
            finally:
                if node is not None and node.session is not None:
                    node.session.close()
                it.kill()
                it.wait(15)
                reader.join(15)
    finally:
        _remove(group)


def _entered(process: subprocess.Popen[bytes], said: list[str]) -> IsolatedNode:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_until(lambda: process.poll() is not None or bool(children.read_text().split()))
    assert process.poll() is None, "".join(said)
    first = children.read_text().split()[0]
    # systemctl looks for /run/systemd/system, and speaks to process 1 over its private socket.
    enter = ("nsenter", "--mount", "--pid", f"--target={first}", "--", "env", "XDG_STATE_HOME=/mnt/state")
    node = IsolatedNode(process, enter, root=f"/proc/{first}/root")

    def up() -> bool:
        argv = [*enter, "systemctl", "is-system-running"]
        state = subprocess.run(argv, check=False, capture_output=True, text=True).stdout.strip()
        return process.poll() is not None or state in ("running", "degraded")

    wait_until(up)
    assert process.poll() is None, "".join(said)
    return node


def _remove(group: Path) -> None:
    """Remove a cgroup and those below it, once what lived in them is gone."""

    def gone() -> bool:
        for folder in sorted((it for it in group.rglob("*") if it.is_dir()), reverse=True):
            with contextlib.suppress(OSError):
                folder.rmdir()
        with contextlib.suppress(OSError):
            group.rmdir()
        return not group.exists()

    wait_until(gone)


def write_unit(node: IsolatedNode, name: str, text: str) -> None:
    node.inside(f"/etc/systemd/system/{name}").write_text(text)
