"""A node served by OpenSSH's sshd.

As root, sshd runs in a mount namespace of its own: /usr/local is an overlay whose changes vanish with the node,
/run is empty, and /etc/passwd has a user `ops` whose home is the node's sandbox. Without root it is a plain sshd for
the current user, with HOME set to the sandbox; what such a node does outside its sandbox is not held apart.
"""

import contextlib
import functools
import getpass
import os
import shutil
import socket
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path

from stackplan.lab.sandbox import Sandbox

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")

_NAMESPACE = """
set -e
cd "$1"
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/sshd
mount -t tmpfs tmpfs private
mkdir private/upper private/work
mount -t overlay overlay -o "lowerdir=/usr/local,upperdir=$1/private/upper,workdir=$1/private/work" /usr/local
mount --bind passwd /etc/passwd
exec "$2" -D -e -f sshd_config
"""


@functools.cache
def isolated():
    """Return whether nodes can have mount namespaces of their own: root, and allowed to mount."""
    if os.geteuid() != 0:
        return False
    argv = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(argv, check=False, capture_output=True).returncode == 0


@dataclass
class SshdNode:
    """`log` is what sshd has said so far: an independent count of connections and commands."""

    name: str
    sandbox: Sandbox
    user: str
    port: int
    host_key: str
    process: subprocess.Popen
    log: list[str] = field(default_factory=list)

    @property
    def logins(self):
        return sum("Accepted publickey" in line for line in self.log)

    @property
    def commands(self):
        return sum("Starting session: command" in line for line in self.log)

    def run_as_root(self, *argv):
        """Run a program in the node's mount namespace, as its administrator would at the console."""
        subprocess.run(["nsenter", "--mount", f"--target={self.process.pid}", *argv], check=True)

    def inside(self, path):
        """Return where this machine sees the node's `path`."""
        return Path(f"/proc/{self.process.pid}/root{path}")


@contextlib.contextmanager
def sshd_node(sandbox, name, client_key_line):
    """Serve `sandbox` by an sshd on a free loopback port until the block ends."""
    folder = sandbox.folder
    _make_files(sandbox, client_key_line)
    apart = isolated()
    argv = [SSHD, "-D", "-e", "-f", "sshd_config"]
    if os.geteuid() == 0 and not apart:
        # Where the package makes it at boot: a container has not booted.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    if apart:
        argv = ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", _NAMESPACE, "node", folder, SSHD]
    host_key = " ".join((folder / "host_key.pub").read_text().split()[:2])
    for _ in range(5):
        port = _free_port()
        _write_configuration(sandbox, port)
        process = subprocess.Popen(argv, cwd=folder, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        node = SshdNode(name, sandbox, "ops" if apart else getpass.getuser(), port, host_key, process)
        listening, ended = threading.Event(), threading.Event()
        reader = threading.Thread(target=_read_log, args=(node, listening, ended), daemon=True)
        reader.start()
        if listening.wait(10) and not ended.is_set():
            break
        _end(process, reader)
    else:
        raise RuntimeError("sshd does not start:\n" + "\n".join(node.log))
    try:
        yield node
    finally:
        _end(process, reader)


def _end(process, reader):
    process.terminate()
    process.wait(10)
    reader.join(10)


def _read_log(node, listening, ended):
    with node.process.stderr as lines:
        for line in lines:
            node.log.append(line.decode(errors="replace").rstrip())
            if "Server listening on 127.0.0.1" in node.log[-1]:
                listening.set()
    ended.set()
    listening.set()


def _free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def _make_files(sandbox, client_key_line):
    folder = sandbox.folder
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "host_key"], check=True)
    (folder / "authorized_keys").write_text(client_key_line + "\n")
    (folder / "private").mkdir()
    # `ops` stands first, so that the user of id 0 has the sandbox for a home however it is looked up.
    entry = f"ops:x:0:0:a node's user:{sandbox.home}:/bin/sh\n"
    (folder / "passwd").write_text(entry + Path("/etc/passwd").read_text())


def _write_configuration(sandbox, port):
    folder = sandbox.folder
    variables = " ".join(
        f"{key}={value}" for key, value in sandbox.environment.items() if key not in {"USER", "LOGNAME"}
    )
    lines = [
        "ListenAddress 127.0.0.1",
        f"Port {port}",
        f"HostKey {folder}/host_key",
        f"AuthorizedKeysFile {folder}/authorized_keys",
        f"PidFile {folder}/sshd.pid",
        "PermitRootLogin prohibit-password",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "UsePAM no",
        # The sandbox stands below a folder that all may write to, which sshd would not trust a key file in.
        "StrictModes no",
        "MaxStartups 200:30:400",
        "LogLevel VERBOSE",
        f"SetEnv {variables}",
    ]
    (folder / "sshd_config").write_text("\n".join(lines) + "\n")
