"""Both ways over SSH, against OpenSSH's sshd."""

import dataclasses
import logging
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stackplan.connection.connect import ConnectOptions, connect
from stackplan.connection.failure import (
    AuthenticationRefused,
    ConnectingCut,
    ConnectionLost,
    HostKeyChanged,
    HostKeyUnknown,
    NodeProgramMissing,
    NodeUnreachable,
)
from stackplan.model.facts import Query, Unknown
from stackplan.model.job import Command, Exited, Job, Work
from stackplan.model.node import Node, NodeName, Transport
from tests.connection.conftest import Server, free_port, new_key, public
from tests.proxy.tcp import Proxy

BOTH = pytest.mark.parametrize("transport", [Transport.SSH, Transport.OPENSSH], ids=lambda it: it.value)
QUICK = ConnectOptions(connect_timeout_s=10)


def node(server: Server, transport: Transport, **fields: object) -> Node:
    plain = Node(
        name=NodeName("gpu-01"),
        host="127.0.0.1",
        port=server.port,
        user=server.user,
        identity_file=str(server.identity_file),
        known_hosts=str(server.known_hosts),
        transport=transport,
    )
    return dataclasses.replace(plain, **fields)  # type: ignore[arg-type]


@BOTH
def test_a_session_costs_one_exec_and_two_round_trips(sshd: Server, transport: Transport) -> None:
    query = Query("no_such_query", {})
    with connect(node(sshd, transport)) as session:
        assert isinstance(session.ask([query])[query], Unknown)
        assert (session.execs, session.round_trips) == (1, 2)


@BOTH
def test_a_job_goes_on_when_the_connection_is_cut(sshd: Server, transport: Transport, tmp_path: Path) -> None:
    script = f"echo run >> {tmp_path}/counter; until test -e {tmp_path}/go; do sleep 0.02; done; echo finished"
    job = Job((Command(argv=("/bin/sh", "-c", script), display=""),))
    seen = threading.Event()
    with connect(node(sshd, transport)) as session:
        session.start(Work(name="job", job=job))
        cut = threading.Thread(target=lambda: os.kill(parent_of(session.greeting.pid), signal.SIGKILL))
        cut.start()
        with pytest.raises(ConnectionLost, match=r"cut|lost"):
            session.watch("job", lambda _: seen.set())
        cut.join()
    (tmp_path / "go").touch()
    output: list[bytes] = []
    with connect(node(sshd, transport)) as session:
        session.start(Work(name="job", job=job))
        assert session.watch("job", output.append) == Exited(0)
    assert b"".join(output) == b"finished\n"
    assert (tmp_path / "counter").read_text() == "run\n"


def parent_of(pid: int) -> int:
    """Return the sshd process that serves the session of the process `pid`."""
    while "sshd" not in (stat := Path(f"/proc/{pid}/stat").read_text()).split("(")[1]:
        pid = int(stat.rpartition(")")[2].split()[1])
    return pid


@BOTH
def test_an_unknown_key_is_named_and_accepted_only_when_asked(sshd: Server, transport: Transport) -> None:
    # `ssh` itself would add to a last line that does not end.
    sshd.known_hosts.write_text("# nobody yet" if transport is Transport.SSH else "# nobody yet\n")
    with pytest.raises(HostKeyUnknown, match="no file of known hosts has a key of") as failure:
        connect(node(sshd, transport))
    assert "--accept-new" in str(failure.value.remedy)
    listed = subprocess.run(
        ["ssh-keygen", "-lf", f"{sshd.folder}/host_key.pub"], capture_output=True, text=True, check=True
    )
    assert f"it shows ssh-ed25519 {listed.stdout.split()[1]}" in failure.value.summary
    if transport is Transport.SSH:
        assert str(sshd.known_hosts) in failure.value.summary
    connect(node(sshd, transport), ConnectOptions(accept_new=True)).close()
    recorded = sshd.known_hosts.read_text().splitlines()
    assert recorded[0] == "# nobody yet"
    name = f"[127.0.0.1]:{sshd.port} " if transport is Transport.SSH else ""
    assert [line for line in recorded if line.endswith(name + public(sshd.folder / "host_key"))]
    connect(node(sshd, transport)).close()


@BOTH
def test_a_changed_key_is_never_accepted(sshd: Server, transport: Transport, tmp_path: Path) -> None:
    other = public(new_key(tmp_path / "other"))
    before = f"# a comment\n[127.0.0.1]:{sshd.port} {other}\n"
    sshd.known_hosts.write_text(before)
    for accept_new in (False, True):
        with pytest.raises(HostKeyChanged, match=rf"{sshd.known_hosts}:2") as failure:
            connect(node(sshd, transport), ConnectOptions(accept_new=accept_new))
        assert "SHA256:" in failure.value.summary
    assert sshd.known_hosts.read_text() == before


def test_both_fingerprints_of_a_changed_key_are_shown(sshd: Server, tmp_path: Path) -> None:
    sshd.known_hosts.write_text(f"[127.0.0.1]:{sshd.port} {public(new_key(tmp_path / 'other'))}\n")
    with pytest.raises(HostKeyChanged) as failure:
        connect(node(sshd, Transport.SSH))
    assert failure.value.summary.count("SHA256:") == 2


def test_a_server_with_several_keys_is_asked_for_the_one_on_record(
    start_sshd: Callable[..., Server], tmp_path: Path
) -> None:
    second = new_key(tmp_path / "rsa", "rsa")
    server = start_sshd(settings=f"HostKey {second}")
    server.known_hosts.write_text(f"[127.0.0.1]:{server.port} {public(second)}\n")
    connect(node(server, Transport.SSH)).close()


def test_a_hashed_record_is_found(sshd: Server) -> None:
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(sshd.known_hosts)], check=True, capture_output=True)
    assert sshd.known_hosts.read_text().startswith("|1|")
    connect(node(sshd, Transport.SSH)).close()


@BOTH
def test_a_key_that_the_server_does_not_take(sshd: Server, transport: Transport, tmp_path: Path) -> None:
    wrong = new_key(tmp_path / "wrong")
    with pytest.raises(AuthenticationRefused) as failure:
        connect(node(sshd, transport, identity_file=str(wrong)))
    assert "identity_file" in str(failure.value.remedy)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "there is no such file"),
        ("", "it is no private key that can be read"),
        ("garbage\n", "it is no private key that can be read"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n", "it is no private key"),
    ],
)
def test_a_key_file_that_cannot_be_read_is_blamed_and_the_node_not_asked(
    tmp_path: Path, content: str | None, why: str
) -> None:
    key = tmp_path / "key"
    if content is not None:
        key.write_text(content)
    with pytest.raises(
        AuthenticationRefused, match=f"was not asked: the key file {key} cannot be read: {why}"
    ) as failure:
        connect(Node(name=NodeName("gpu-01"), host="127.0.0.1", port=free_port(), identity_file=str(key)))
    assert failure.value.remedy == "correct `identity_file` of node gpu-01 in the inventory"


def test_a_folder_for_a_key_file(tmp_path: Path) -> None:
    with pytest.raises(AuthenticationRefused, match=f"the key file {tmp_path} cannot be read: Is a directory"):
        connect(Node(name=NodeName("gpu-01"), host="127.0.0.1", port=free_port(), identity_file=str(tmp_path)))


def test_a_key_with_a_passphrase(sshd: Server, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", str(locked)], check=True)
    with pytest.raises(AuthenticationRefused, match="protected by a passphrase"):
        connect(node(sshd, Transport.SSH, identity_file=str(locked)))


def test_no_key_at_all_says_how_to_name_one(sshd: Server) -> None:
    with pytest.raises(AuthenticationRefused, match="no key was offered, because none was found here") as failure:
        connect(node(sshd, Transport.SSH, identity_file=None))
    for way in ("`identity_file` in the inventory", "`IdentityFile` in ~/.ssh/config", "`ssh-add`"):
        assert way in str(failure.value.remedy)


@BOTH
@pytest.mark.parametrize("count", [1, 200, 1500, 2300])
def test_a_connection_that_is_cut_while_it_comes_about_is_tried_again(
    sshd: Server, transport: Transport, count: int
) -> None:
    with Proxy(sshd.port) as proxy:
        record = sshd.known_hosts.read_text()
        sshd.known_hosts.write_text(record + record.replace(f"]:{sshd.port}", f"]:{proxy.port}"))
        proxy.cut_after(count)
        with connect(node(sshd, transport, port=proxy.port), QUICK) as session:
            assert session.greeting.uid == os.getuid()
        assert proxy.connections == 2


@BOTH
def test_a_port_that_hangs_up_is_tried_three_times_and_told_in_plain_words(sshd: Server, transport: Transport) -> None:
    with Proxy(sshd.port) as proxy:
        proxy.refuse()
        with pytest.raises(
            ConnectingCut, match=r"cannot be reached: .*([Cc]onnection (was )?(closed|reset))"
        ) as failure:
            connect(node(sshd, transport, port=proxy.port), QUICK)
        assert proxy.connections == 3
    assert "within" not in str(failure.value)
    assert "MaxStartups" in str(failure.value.remedy)


@BOTH
def test_a_port_that_refuses(sshd: Server, transport: Transport) -> None:
    with pytest.raises(NodeUnreachable, match=r"cannot be reached: .*refused"):
        connect(node(sshd, transport, port=free_port()), QUICK)


@pytest.fixture
def mute() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield int(listener.getsockname()[1])


@BOTH
def test_a_port_that_never_speaks(sshd: Server, transport: Transport, mute: int) -> None:
    with pytest.raises(NodeUnreachable, match="did not answer within 1 s") as failure:
        connect(node(sshd, transport, port=mute), ConnectOptions(connect_timeout_s=1))
    assert "network" in str(failure.value.remedy)


def test_a_name_that_does_not_resolve(sshd: Server) -> None:
    with pytest.raises(NodeUnreachable, match="cannot be resolved"):
        connect(node(sshd, Transport.SSH, host="no-such-host.invalid"))


@pytest.mark.parametrize("host", [".", "a..b", "x" * 300])
def test_a_name_that_no_host_can_have(sshd: Server, host: str) -> None:
    with pytest.raises(NodeUnreachable, match="parts of 1 to 63 characters"):
        connect(node(sshd, Transport.SSH, host=host))


@BOTH
def test_the_name_of_a_node_is_looked_up_in_the_configuration(
    sshd: Server, transport: Transport, own_home: Path
) -> None:
    if transport is Transport.OPENSSH:
        pytest.skip("ssh reads the configuration of the user database's home, not of HOME")
    (own_home / ".ssh").mkdir(mode=0o700)
    (own_home / ".ssh/config").write_text(
        f"Host gpu-01\n  HostName 127.0.0.1\n  Port {sshd.port}\n  User {sshd.user}\n  ForwardAgent yes\n"
        f"  IdentityFile {sshd.identity_file}\n  UserKnownHostsFile {sshd.known_hosts}\n  ConnectTimeout 7\n"
    )
    with connect(Node(name=NodeName("gpu-01"), transport=transport)) as session:
        assert session.greeting.pid > 0


def test_through_a_jump_host_whose_key_is_checked_too(start_sshd: Callable[..., Server], own_home: Path) -> None:
    jump, target = start_sshd("jump"), start_sshd("target")
    (own_home / ".ssh").mkdir(mode=0o700)
    (own_home / ".ssh/id_ed25519").write_bytes(jump.identity_file.read_bytes())
    (own_home / ".ssh/id_ed25519").chmod(0o600)
    known = own_home / "known_hosts"
    known.write_text(jump.known_hosts.read_text() + target.known_hosts.read_text())
    behind = node(target, Transport.SSH, jump=f"{jump.user}@127.0.0.1:{jump.port}", known_hosts=str(known))
    connect(behind).close()
    known.write_text(target.known_hosts.read_text())
    with pytest.raises(HostKeyUnknown, match=str(jump.port)):
        connect(behind)


@pytest.mark.parametrize("noise", ["echo Welcome to gpu-01", "echo Quota exceeded >&2", "yes noise | head -c 3000000"])
@BOTH
def test_what_a_profile_prints_does_no_harm(
    start_sshd: Callable[..., Server], transport: Transport, noise: str
) -> None:
    server = start_sshd(settings=f'ForceCommand {noise}; eval "$SSH_ORIGINAL_COMMAND"; echo Good bye')
    query = Query("no_such_query", {})
    with connect(node(server, transport)) as session:
        assert isinstance(session.ask([query])[query], Unknown)


@BOTH
def test_a_login_that_may_run_nothing(start_sshd: Callable[..., Server], transport: Transport) -> None:
    server = start_sshd(settings="ForceCommand echo This account is currently not available.; exit 1")
    with pytest.raises(NodeProgramMissing, match="the login has no shell") as failure:
        connect(node(server, transport))
    assert "This account is currently not available." in failure.value.printed


def test_paramiko_writes_nothing_to_the_screen(sshd: Server, capfd: pytest.CaptureFixture[str]) -> None:
    logging.getLogger("paramiko").handlers  # noqa: B018 - the logger is there before the connection
    with pytest.raises(NodeUnreachable):
        connect(node(sshd, Transport.SSH, port=free_port()), QUICK)
    with pytest.raises(AuthenticationRefused):
        connect(node(sshd, Transport.SSH, user="no-such-user"), QUICK)
    assert capfd.readouterr() == ("", "")


def test_openssh_that_is_not_installed(sshd: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NodeUnreachable, match="`ssh` cannot be started here"):
        connect(node(sshd, Transport.OPENSSH))
