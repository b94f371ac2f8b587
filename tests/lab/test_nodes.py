"""The simulated nodes, asked by OpenSSH's client and by paramiko's: another implementation keeps ours honest."""

import os
import shutil
import socket
import subprocess
import threading

import paramiko
import pytest


@pytest.fixture
def ssh(lab):
    """Run a command on gpu-01 with the `ssh` program."""
    if shutil.which("ssh") is None:
        pytest.skip("the ssh program is not installed")

    def run(command, *, stdin=b"", node="gpu-01", identity=lab.identity_file):
        server = lab.servers[node]
        options = ["BatchMode=yes", "IdentitiesOnly=yes", f"UserKnownHostsFile={lab.known_hosts}"]
        argv = ["ssh", "-F", os.devnull, "-i", identity, "-p", str(server.port)]
        argv += [word for option in options for word in ("-o", option)]
        return subprocess.run(
            [*argv, "ops@127.0.0.1", command], input=stdin, capture_output=True, check=False, timeout=60
        )

    return run


@pytest.fixture
def client(lab):
    """A paramiko client that is logged in on gpu-01."""
    with paramiko.SSHClient() as found:
        found.load_host_keys(str(lab.known_hosts))
        found.connect(
            "127.0.0.1",
            lab.servers["gpu-01"].port,
            "ops",
            key_filename=str(lab.identity_file),
            look_for_keys=False,
            allow_agent=False,
        )
        yield found


def test_output_errors_and_exit_status_come_back_apart(ssh):
    done = ssh("echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, b"out\n", b"err\n")


def test_a_command_killed_by_a_signal_is_not_an_exit_status_of_its_own(ssh):
    assert ssh("kill -9 $$").returncode == 255


def test_a_command_sees_its_home_its_programs_and_nothing_of_the_labs_environment(ssh, lab, monkeypatch):
    home = lab.sandboxes["gpu-01"].home
    monkeypatch.setenv("LAB_SECRET", "x")
    done = ssh('pwd; echo "$HOME $USER"; command -v uv; command -v nvidia-smi; env')
    words = done.stdout.decode().splitlines()
    assert words[:2] == [str(home), f"{home} ops"]
    assert words[2:4] == [str(home.parent / "bin" / name) for name in ("uv", "nvidia-smi")]
    assert "LAB_SECRET" not in done.stdout.decode()


def test_ten_megabytes_come_back_whole(ssh):
    done = ssh("head -c 10000000 /dev/zero | tr '\\0' x")
    assert (len(done.stdout), set(done.stdout)) == (10_000_000, {ord("x")})


def test_ten_megabytes_of_input_arrive_and_end(ssh):
    assert ssh("cat | wc -c", stdin=b"x" * 10_000_000).stdout.strip() == b"10000000"


def test_many_channels_of_one_connection_do_not_mix(client, lab):
    before = lab.servers["gpu-01"].counters.connections
    channels = [client.exec_command(f"head -c 300000 /dev/zero | tr '\\0' {letter}") for letter in "abcdef"]
    for letter, (_, stdout, _) in zip("abcdef", channels, strict=True):
        assert set(stdout.read()) == {ord(letter)}
        assert stdout.channel.recv_exit_status() == 0
    assert lab.servers["gpu-01"].counters.connections == before


def test_another_key_is_refused(ssh, tmp_path):
    other = tmp_path / "id"
    paramiko.ECDSAKey.generate().write_private_key_file(str(other))
    other.chmod(0o600)
    done = ssh("true", identity=other)
    assert done.returncode == 255
    assert b"Permission denied (publickey)" in done.stderr


def test_each_node_has_a_host_key_of_its_own(lab):
    keys = {server.host_key_line for server in lab.servers.values()}
    assert len(keys) == len(lab.servers) == 2


def test_no_connection_is_passed_on(client):
    with pytest.raises(paramiko.ChannelException, match="prohibited"):
        client.get_transport().open_channel("direct-tcpip", ("127.0.0.1", 1), ("127.0.0.1", 1))


def test_what_a_client_that_goes_away_leaves_running_sees_the_end_of_its_input(client, lab):
    marker = lab.sandboxes["gpu-01"].home / "ended"
    os.mkfifo(marker)
    try:
        stdin, stdout, _ = client.exec_command("echo ready; cat >/dev/null; echo ended >~/ended")
        assert stdout.readline() == "ready\n"
        client.close()
        with marker.open() as pipe:
            assert pipe.read() == "ended\n"
        stdin.close()
    finally:
        marker.unlink()


def test_a_port_scan_does_not_hurt_the_node(ssh, lab):
    with socket.create_connection(("127.0.0.1", lab.servers["gpu-01"].port)) as scanner:
        scanner.sendall(b"GET / HTTP/1.0\r\n\r\n")
    assert ssh("echo alive").stdout == b"alive\n"


def test_the_environment_holds_the_cu128_stack_installed_by_uv(ssh):
    done = ssh(
        'ml-env/bin/python -c "import torch, torchvision, torchaudio, sgl_kernel;'
        'print(torch.__version__, torch.version.cuda, torch._C._cuda_getArchFlags())"; uv pip check --python ml-env'
    )
    assert done.stdout.decode().split()[:2] == ["2.10.0+cu128", "12.8"]
    assert b"sm_120" in done.stdout
    assert done.returncode == 0, done.stderr


def test_dropped_connections_are_gone_and_the_node_goes_on(client, ssh, lab):
    _, stdout, _ = client.exec_command("echo ready; exec cat")
    assert stdout.readline() == "ready\n"
    lab.servers["gpu-01"].drop_connections()
    assert stdout.read() == b""
    assert ssh("echo alive").stdout == b"alive\n"


def test_the_files_of_the_lab_are_private(lab):
    for path in (lab.identity_file, lab.known_hosts, lab.inventory):
        assert path.stat().st_mode & 0o777 == 0o600, path


def test_no_thread_belongs_to_a_node_that_nobody_talks_to(lab, ssh):
    ssh("true", node="gpu-02")
    server = lab.servers["gpu-02"]
    server.drop_connections()
    for thread in list(server._threads):
        thread.join(10)
    assert [thread for thread in server._threads if thread.is_alive()] == []
    assert threading.active_count() < 50
