"""An OpenSSH server on a free loopback port, and a look at what a test leaves behind."""

import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")
PRIVILEGE_SEPARATION = Path("/run/sshd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """`known_hosts` has the server's key on record, `identity_file` is a key that it lets in."""

    port: int
    user: str
    known_hosts: Path
    identity_file: Path
    folder: Path
    process: "subprocess.Popen[bytes]"


def new_key(path: Path, kind: str = "ed25519") -> Path:
    path.unlink(missing_ok=True)
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", str(path)], check=True)
    return path


def public(key: Path) -> str:
    """Return type and body of a public key."""
    return " ".join(Path(f"{key}.pub").read_text().split()[:2])


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_for_port(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 15
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert process.poll() is None, "sshd ended at once"
            assert time.monotonic() < deadline, "sshd does not listen"
            threading.Event().wait(0.02)
        else:
            return


@pytest.fixture
def start_sshd(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers, each with a host key of its own; `settings` are further lines of sshd_config."""
    if SSHD is None:
        pytest.skip("OpenSSH's sshd is not installed")
    if os.geteuid() == 0:
        PRIVILEGE_SEPARATION.mkdir(mode=0o755, exist_ok=True)
    running: list[subprocess.Popen[bytes]] = []

    def start(name: str = "server", settings: str = "") -> Server:
        folder = tmp_path / name
        folder.mkdir()
        host_key, user_key = new_key(folder / "host_key"), new_key(folder / "user_key")
        (folder / "authorized_keys").write_text(public(user_key) + "\n")
        port = free_port()
        (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {public(host_key)}\n")
        config = folder / "sshd_config"
        config.write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {host_key}\nPidFile none\nStrictModes no\n"
            f"AuthorizedKeysFile {folder}/authorized_keys\nPasswordAuthentication no\nPermitRootLogin yes\n"
            f"KbdInteractiveAuthentication no\nSetEnv XDG_STATE_HOME={folder}/state\n{settings}\n"
        )
        process = subprocess.Popen([str(SSHD), "-D", "-e", "-f", str(config)], stderr=subprocess.DEVNULL)
        running.append(process)
        wait_for_port(port, process)
        return Server(
            port=port,
            user=os.environ.get("USER") or "root",
            known_hosts=folder / "known_hosts",
            identity_file=user_key,
            folder=folder,
            process=process,
        )

    yield start
    for process in running:
        process.terminate()
        process.wait()


@pytest.fixture
def sshd(start_sshd: Callable[..., Server]) -> Server:
    return start_sshd()


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without a ~/.ssh, and no agent: what the developer has there must decide nothing."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return home


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Fail a test that leaves a thread or a descriptor open."""
    before = descriptors()
    yield
    deadline = time.monotonic() + 5
    while threading.active_count() > 1 or descriptors() > before:
        assert time.monotonic() < deadline, (
            f"left behind: {threading.enumerate()}, {descriptors() - before} descriptors"
        )
        threading.Event().wait(0.02)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
