"""The queries about programs, files, disk, system and rights, against small trees and stand-in programs."""

import hashlib
import os
import pwd
import signal
import socket
import stat

import pytest

from stackplan.node.context import CannotTell, Context, ProbeFailed
from stackplan.node.queries import command, disk, file, nvcc, sudo
from stackplan.node.queries import os as os_query

NVCC_13 = """nvcc: NVIDIA (R) Cuda compiler driver
Copyright (c) 2005-2025 NVIDIA Corporation
Built on Wed_Aug_20_01:58:59_PM_PDT_2025
Cuda compilation tools, release 13.0, V13.0.88
Build cuda_13.0.r13.0/compiler.36424714_0"""
NVCC_11 = """Built on Mon_Apr__3_17:16:06_PDT_2023
Cuda compilation tools, release 11.8, V11.8.89"""


@pytest.mark.parametrize(
    ("output", "release", "version"), [(NVCC_13, "13.0", "13.0.88"), (f"warming ccache\n{NVCC_11}", "11.8", "11.8.89")]
)
def test_nvcc_says_its_release(programs, context, output, release, version):
    path = programs.write("nvcc", f"[ \"$1\" = --version ] && cat <<'END'\n{output}\nEND")
    told = nvcc.answer({"path": str(path)}, context())
    assert told == {"path": str(path), "exists": True, "leads_to": None, "release": release, "version": version}
    below = programs.folder.parent / "cuda" / "bin"
    below.mkdir(parents=True)
    (below / "nvcc").symlink_to(path)
    assert nvcc.answer({"prefix": str(below.parent)}, context())["release"] == release


def test_no_nvcc_and_a_dangling_one_are_known(programs, context):
    prefix = programs.folder.parent / "cuda"
    assert nvcc.answer({"prefix": str(prefix)}, context())["exists"] is False
    (programs.folder / "nvcc").symlink_to("/opt/cuda-12.8/bin/nvcc")
    told = nvcc.answer({"path": str(programs.folder / "nvcc")}, context())
    assert (told["exists"], told["leads_to"]) == (False, "/opt/cuda-12.8/bin/nvcc")


def test_an_nvcc_that_fails_or_says_something_else(programs, context, refuse):
    failing = programs.write("nvcc", "echo 'libnvvm.so: cannot open' >&2; exit 1")
    with pytest.raises(ProbeFailed, match=r"nvcc --version ended with exit status 1") as caught:
        nvcc.answer({"path": str(failing)}, context())
    assert caught.value.stderr == "libnvvm.so: cannot open\n"
    other = programs.write("nvcc", "echo release 13.0")
    with pytest.raises(CannotTell, match="does not name a release"):
        nvcc.answer({"path": str(other)}, context())
    locked = programs.write("nvcc", "true", mode=0o644)
    with pytest.raises(ProbeFailed, match="nvcc cannot be started: Permission denied"):
        nvcc.answer({"path": str(locked)}, context())
    refuse(programs.folder / "nvcc")
    with pytest.raises(ProbeFailed, match=r"cannot look at .*nvcc: Too many levels"):
        nvcc.answer({"path": str(programs.folder / "nvcc")}, context())


def test_a_command_and_what_it_prints(context):
    told = command.answer({"run": "echo $TIER; echo oops >&2; cat; exit 3", "env": {"TIER": "prod"}}, context())
    assert told == {"exit_code": 3, "signal": None, "stdout": "prod\n", "stderr": "oops\n", "truncated": False}


def test_a_script_stops_where_something_fails(context):
    assert command.answer({"run": "false | true\necho after"}, context())["stdout"] == ""
    assert command.answer({"run": "echo $unset_one"}, context())["exit_code"] != 0


def test_an_argv_goes_through_no_shell(context):
    told = command.answer({"argv": ["echo", "$HOME", "a b;"]}, context())
    assert told["stdout"] == "$HOME a b;\n"


def test_a_command_that_is_ended_by_a_signal(context):
    told = command.answer({"run": f"kill -{signal.SIGTERM.value} $$"}, context())
    assert (told["exit_code"], told["signal"]) == (None, "SIGTERM")


def test_binary_and_endless_output_of_a_command(context):
    assert (
        command.answer({"run": r"printf '\351\377ok'"}, context())["stdout"] == "\N{REPLACEMENT CHARACTER}" * 2 + "ok"
    )
    told = command.answer({"run": "head -c 3000000 /dev/zero | tr '\\0' x"}, context())
    assert told["truncated"]
    assert len(told["stdout"]) == command.KEPT


def test_a_command_that_is_missing_or_hangs(context):
    with pytest.raises(CannotTell, match="there is no program no-such-program on this node"):
        command.answer({"argv": ["no-such-program", "ping"]}, context())
    with pytest.raises(CannotTell, match="there is no bash"):
        command.answer({"run": "true"}, context(path="/nowhere"))
    with pytest.raises(ProbeFailed, match=r"did not end within 0\.2 s"):
        command.answer({"run": "read -r _ < <(tail -f /dev/null)", "timeout_s": 0.2}, context())


def ask(path, context: Context, **more):
    return file.answer({"path": str(path), "sha256": False, "content": False, **more}, context)


def test_a_file(tmp_path, context):
    path = tmp_path / "cuda.conf"
    path.write_text("/usr/local/cuda-13.0/lib64\n")
    path.chmod(0o640)
    told = ask(path, context(), content=True)
    me = pwd.getpwuid(os.geteuid())
    assert (told["exists"], told["type"], told["mode"], told["link"]) == (True, "file", "0640", None)
    assert (told["owner"], told["uid"], told["size"]) == (me.pw_name, me.pw_uid, 27)
    assert told["sha256"] == hashlib.sha256(b"/usr/local/cuda-13.0/lib64\n").hexdigest()
    assert (told["content"], told["utf8"]) == ("/usr/local/cuda-13.0/lib64\n", True)


def test_what_is_no_file_is_never_opened(tmp_path, context):
    os.mkfifo(tmp_path / "pipe")
    told = ask(tmp_path / "pipe", context(), sha256=True, content=True)
    assert (told["type"], told["sha256"], told["content"]) == ("fifo", None, None)
    assert ask(tmp_path, context(), sha256=True)["type"] == "directory"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        assert ask(tmp_path / "socket", context())["type"] == "socket"
    assert ask("/dev/null", context())["type"] == "character-device"


def test_links(tmp_path, context):
    (tmp_path / "cuda-13.0").mkdir()
    (tmp_path / "cuda").symlink_to("cuda-13.0")
    told = ask(tmp_path / "cuda", context())
    assert (told["exists"], told["type"], told["link"]) == (True, "directory", "cuda-13.0")
    (tmp_path / "cuda-13.0").rmdir()
    told = ask(tmp_path / "cuda", context())
    assert (told["exists"], told["link"]) == (False, "cuda-13.0")


def test_nothing_there(tmp_path, context):
    (tmp_path / "plain").touch()
    for path in ("absent", "absent/below", "plain/below"):
        told = ask(tmp_path / path, context())
        assert (told["exists"], told["link"]) == (False, None)


def test_what_cannot_be_looked_at_is_not_absent(tmp_path, context, refuse):
    refuse(tmp_path / "loop")
    with pytest.raises(ProbeFailed, match=r"cannot look at .*loop/below: Too many levels"):
        ask(tmp_path / "loop" / "below", context())


def test_large_and_binary_content(tmp_path, context, monkeypatch):
    path = tmp_path / "weights"
    path.write_bytes(b"\xe9\xff\x1b[2K")
    told = ask(path, context(), content=True)
    assert (told["content"], told["utf8"]) == ("\N{REPLACEMENT CHARACTER}" * 2 + "\x1b[2K", False)
    monkeypatch.setattr(file, "LONGEST_CONTENT", 3)
    monkeypatch.setattr(file, "HASHED_UNASKED", 3)
    told = ask(path, context(), content=True)
    assert (told["content"], told["content_fault"], told["sha256"]) == (None, "it is larger than 3 bytes", None)
    assert ask(path, context(), sha256=True)["sha256"] == hashlib.sha256(b"\xe9\xff\x1b[2K").hexdigest()


def test_content_that_may_not_be_read(tmp_path, context, monkeypatch):
    path = tmp_path / "shadow"
    path.touch()

    def deny(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", deny)
    assert ask(path, context())["sha256"] is None, "nobody asked for it"
    with pytest.raises(ProbeFailed, match=r"cannot read .*shadow: Permission denied"):
        ask(path, context(), content=True)


def test_an_owner_without_a_name_is_a_number(monkeypatch, tmp_path, context):
    def unknown(number):
        raise KeyError(number)

    monkeypatch.setattr(file.pwd, "getpwuid", unknown)
    assert ask(tmp_path, context())["owner"] == str(tmp_path.stat()[stat.ST_UID])


def test_disk_of_a_path_that_is_still_to_come(tmp_path, context):
    told = disk.answer({"path": f"{tmp_path}/a/b/c/"}, context())
    room = os.statvfs(tmp_path)
    assert told["nearest"] == str(tmp_path)
    assert told["total_bytes"] == room.f_blocks * room.f_frsize
    assert 0 <= told["free_bytes"] <= told["total_bytes"]
    assert disk.answer({"path": "~"}, context())["nearest"].endswith("/home")


def test_disk_below_a_file_and_behind_a_refusal(tmp_path, context, refuse):
    (tmp_path / "plain").touch()
    assert disk.answer({"path": f"{tmp_path}/plain/x"}, context())["nearest"] == f"{tmp_path}/plain"
    refuse(tmp_path / "loop")
    with pytest.raises(ProbeFailed, match=r"cannot look at .*loop/x: Too many levels"):
        disk.answer({"path": f"{tmp_path}/loop/x"}, context())


def test_disk_of_a_user_who_is_not_there(context):
    with pytest.raises(CannotTell, match="there is no user nobody-of-that-name"):
        disk.answer({"path": "~nobody-of-that-name/x"}, context())


UBUNTU = """PRETTY_NAME="Ubuntu 24.04.3 LTS"
VERSION_ID="24.04"
# a remark=1
ID=ubuntu
ID_LIKE=debian
ODD="
"""


def test_the_system(root, context):
    for name, content in {
        "etc/os-release": UBUNTU,
        "proc/meminfo": "MemTotal:       65842032 kB\nMemFree:         1204032 kB\n",
    }.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(content)
    told = os_query.answer({}, context())
    assert told == {
        "id": "ubuntu",
        "version": "24.04",
        "name": "Ubuntu 24.04.3 LTS",
        "kernel": os.uname().release,
        "arch": os.uname().machine,
        "memory_bytes": 65842032 * 1024,
        "reboot_required": False,
        "reboot_packages": [],
    }
    (root / "run").mkdir()
    (root / "run/reboot-required").touch()
    (root / "run/reboot-required.pkgs").write_text("linux-image-6.8.0-47-generic\nlinux-base\n")
    told = os_query.answer({}, context())
    assert told["reboot_required"] is True
    assert told["reboot_packages"] == ["linux-image-6.8.0-47-generic", "linux-base"]


def test_a_system_that_says_little(root, context):
    told = os_query.answer({}, context())
    assert (told["id"], told["version"], told["memory_bytes"], told["reboot_required"]) == (None, None, None, None)
    (root / "usr/lib").mkdir(parents=True)
    (root / "usr/lib/os-release").write_text("ID=rocky\nVERSION_ID='9.4'\n")
    told = os_query.answer({}, context())
    assert (told["id"], told["version"], told["reboot_required"]) == ("rocky", "9.4", None)


def test_a_system_file_that_cannot_be_read(root, context, refuse):
    (root / "etc").mkdir()
    refuse(root / "etc/os-release")
    with pytest.raises(ProbeFailed, match=r"/etc/os-release cannot be read: Too many levels"):
        os_query.answer({}, context())


class Someone(Context):
    user = "ops"


@pytest.fixture
def ops(monkeypatch, programs):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    return Someone(environment={"HOME": "/home/ops", "PATH": str(programs.folder)})


def test_sudo_that_works(programs, ops):
    programs.write("sudo", '[ "$*" = "-n -u root -- true" ]')
    told = sudo.answer({"user": "root"}, ops)
    assert told == {"asker": "ops", "needed": True, "allowed": True, "says": None}


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo 'sudo: a password is required' >&2; exit 1", "sudo: a password is required"),
        (
            "echo; echo 'sudo: sorry, you must have a tty to run sudo' >&2; exit 1",
            "sudo: sorry, you must have a tty to run sudo",
        ),
        ("exit 1", "sudo ended with exit status 1"),
    ],
)
def test_sudo_that_refuses(programs, ops, script, says):
    programs.write("sudo", script)
    told = sudo.answer({"user": "root"}, ops)
    assert (told["needed"], told["allowed"], told["says"]) == (True, False, says)


def test_sudo_that_is_not_there_or_not_needed(ops, monkeypatch, context):
    assert sudo.answer({"user": "root"}, ops)["says"] == "there is no sudo on this node"
    assert sudo.answer({"user": "ops"}, ops)["needed"] is False
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert sudo.answer({"user": "root"}, context())["needed"] is False
