"""The words of dpkg, apt and systemctl, and a node without them; the real ones are in test_apt and test_systemd."""

import fcntl

import pytest

from stackplan.node.context import CannotTell, ProbeFailed
from stackplan.node.queries import _apt, _dpkg, _foretold_status, _systemd, apt_package, apt_simulation, dpkg, service

# dpkg 1.21, with the format of _dpkg.
LISTING = """\
libc6\tamd64\tinstall ok installed\t2.36-9+deb12u10
libc6\ti386\tinstall ok installed\t2.36-9+deb12u10
libnccl2\tamd64\thold ok installed\t2.30.7-1+cuda13.3
cuda-keyring\tall\tinstall ok installed\t1.1-1
nvidia-kernel-dkms\tamd64\tinstall ok half-configured\t580.65.06-1
nvidia-old\tamd64\tdeinstall ok config-files\t570.1-1
nvidia-torn\tamd64\tinstall reinstreq half-installed\t580.65.06-1
man-db\tamd64\tinstall ok triggers-pending\t2.11.2-2
"""


@pytest.fixture
def debian(programs, context):
    (programs.folder / "listing").write_text(LISTING)
    programs.write("dpkg", "echo amd64")
    programs.write("dpkg-query", f"cat {programs.folder}/listing")
    return lambda: context(path=f"{programs.folder}:/bin:/usr/bin")


def test_all_packages(debian):
    told = dpkg.answer({}, debian())
    assert told["packages"]["libc6:i386"] == told["packages"]["libc6"] == "2.36-9+deb12u10"
    assert told["packages"]["cuda-keyring"] == "1.1-1"
    assert "nvidia-old" not in told["packages"]
    assert told["held"] == ["libnccl2"]
    assert told["unfinished"] == {"nvidia-kernel-dkms": "half-configured", "nvidia-torn": "half-installed"}
    assert (told["journal"], told["locked_by"]) == (0, None)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("libnccl2", {"version": "2.30.7-1+cuda13.3", "status": "installed", "held": True, "broken": False}),
        ("libnccl2:amd64", {"version": "2.30.7-1+cuda13.3", "status": "installed", "held": True, "broken": False}),
        ("libc6:i386", {"version": "2.36-9+deb12u10", "status": "installed", "held": False, "broken": False}),
        ("man-db", {"version": "2.11.2-2", "status": "triggers-pending", "held": False, "broken": False}),
        ("nvidia-torn", {"version": "580.65.06-1", "status": "half-installed", "held": False, "broken": True}),
        ("nvidia-old", {"version": None, "status": None, "held": False, "broken": False}),
        ("libnccl", {"version": None, "status": None, "held": False, "broken": False}),
    ],
)
def test_one_package(debian, name, told):
    assert apt_package.answer({"name": name}, debian()) == {"name": name, **told}


def test_several_packages_are_one_listing(debian, programs):
    programs.write("dpkg-query", f"echo asked >> {programs.folder}/count; cat {programs.folder}/listing")
    batch = debian()
    for name in ("libc6", "libnccl2", "man-db"):
        apt_package.answer({"name": name}, batch)
    assert (programs.folder / "count").read_text().split() == ["asked"]


def test_unfinished_changes_of_a_killed_dpkg_are_counted(debian, root):
    folder = root / "var/lib/dpkg/updates"
    folder.mkdir(parents=True)
    for name in ("0001", "0002", "tmp.i"):
        (folder / name).write_text("")
    assert dpkg.answer({}, debian())["journal"] == 2


def test_a_node_without_dpkg_is_unknown_and_not_empty(context, programs):
    for query, asked in ((dpkg, {}), (apt_package, {"name": "a1"}), (apt_simulation, {"install": ["a1"]})):
        with pytest.raises(CannotTell, match="there is no program dpkg on this node"):
            query.answer(asked, context(path=str(programs.folder)))


def test_a_dpkg_that_fails_is_failed(debian, programs):
    programs.write("dpkg-query", "echo 'error: Permission denied' >&2; exit 2")
    with pytest.raises(ProbeFailed, match="dpkg-query -W ended with exit status 2") as caught:
        dpkg.answer({}, debian())
    assert "Permission denied" in caught.value.stderr
    programs.write("dpkg-query", "echo odd")
    with pytest.raises(CannotTell, match="does not list packages as dpkg does"):
        dpkg.answer({}, debian())


def test_a_lock_that_nobody_holds_or_that_is_not_there(tmp_path):
    assert _dpkg.lock_holder(str(tmp_path / "none")) is None
    path = tmp_path / "lock"
    with path.open("w") as own:
        # A process never sees its own lock, as dpkg's would be for another one.
        fcntl.lockf(own, fcntl.LOCK_EX)
        assert _dpkg.lock_holder(str(path)) is None


@pytest.mark.parametrize(
    ("holder", "words"),
    [
        ({"pid": 1719, "name": "unattended-upgr"}, "process 1719 (unattended-upgr)"),
        ({"pid": 1719, "name": None}, "process 1719 (already gone)"),
        ({"pid": None, "name": None}, "a process of another container"),
    ],
)
def test_a_holder_in_words(holder, words):
    assert _dpkg.holder_text(holder) == words


# apt 2.6.
SIMULATION = """\
NOTE: This is only a simulation!
The following packages will be REMOVED:
  nvidia-driver-580-server
Remv nvidia-driver-580-server [580.65.06-0ubuntu1]
Inst libnccl2 [2.29.7-1+cuda13.2] (2.30.7-1+cuda13.3 NVIDIA CUDA:cuda [amd64]) []
Inst nvidia-open (580.126.09-1 NVIDIA CUDA:cuda [all])
Purg old-thing [1.0]
Conf libnccl2 (2.30.7-1+cuda13.3 NVIDIA CUDA:cuda [amd64])
"""


def test_the_changes_of_a_simulation():
    assert _apt.parse_changes(SIMULATION) == {
        "nvidia-driver-580-server": {"before": "580.65.06-0ubuntu1", "after": None},
        "libnccl2": {"before": "2.29.7-1+cuda13.2", "after": "2.30.7-1+cuda13.3"},
        "nvidia-open": {"before": None, "after": "580.126.09-1"},
        "old-thing": {"before": "1.0", "after": None},
    }


def test_what_is_on_offer():
    text = (
        "a1:\n  Installed: 1.0\n  Candidate: 2.0\n  Version table:\n     2.0 500\n        500 https://a ./ Packages\n"
    )
    text += " *** 1.0 100\n        100 /var/lib/dpkg/status\nb1:\n  Installed: (none)\n  Candidate: (none)\n"
    assert _apt.parse_policy(text) == {
        "a1": {"candidate": "2.0", "versions": ["2.0", "1.0"]},
        "b1": {"candidate": None, "versions": []},
    }


@pytest.mark.parametrize(
    ("code", "output", "found"),
    [
        (0, "Get:1 https://a x\n", []),
        (0, "W: Failed to fetch https://a/InRelease  403\nW: Some index files failed to download.\n", ["https://a"]),
        (0, "W: GPG error: https://a InRelease: NO_PUBKEY A4B469963BF863CC\n", ["NO_PUBKEY A4B469963BF863CC"]),
        (100, "E: The repository 'https://a Release' is not signed.\n", ["is not signed"]),
        (100, "E: Some index files failed to download.\n", ["Some index files"]),
        (100, "", ["exit status 100"]),
    ],
)
def test_what_went_wrong_with_the_lists_whatever_the_exit_status(code, output, found):
    told = apt_simulation.fetch_problems(code, output)
    assert len(told) == len(found)
    assert all(part in line for part, line in zip(found, told, strict=True))


def test_the_record_as_it_will_be(root, context, programs):
    status = root / "var/lib/dpkg/status"
    status.parent.mkdir(parents=True)
    stanza = "Package: {}\nStatus: {} ok installed\nArchitecture: amd64\nVersion: 1.0\n"
    status.write_text("\n".join([stanza.format("a1", "hold"), stanza.format("b1", "install")]))
    shown = "Package: b1\nArchitecture: all\nVersion: 2.0\nFilename: ./b1.deb\nSHA256: ab\nDepends: c1\n"
    programs.write("apt-cache", f"printf '%s' '{shown}'")
    after = {"changes": {"a1": None, "b1": "2.0"}, "held": ["b1"]}
    assert _foretold_status.foretold_status(context(), after, "amd64", []) == (
        "Package: b1\nStatus: hold ok installed\nArchitecture: all\nVersion: 2.0\nDepends: c1\n"
    )
    with pytest.raises(CannotTell, match="describes b1 3"):
        _foretold_status.foretold_status(context(), {"changes": {"b1": "3.0"}}, "amd64", [])


# systemd 252.
UNIT = """\
Type=simple
NRestarts=14
Result=exit-code
ExecMainCode=1
ExecMainStatus=78
Id=sglang.service
LoadState=loaded
ActiveState=activating
SubState=auto-restart
UnitFileState=enabled
NeedDaemonReload=yes
CanReload=no
LoadError=
"""


def test_a_unit(programs, context):
    programs.write("systemctl", f"cat <<'E'\n{UNIT}E")
    told = service.answer({"name": "sglang"}, context())
    wanted = {"active": "activating", "sub": "auto-restart", "restarts": 14, "exit": "exit status 78"}
    assert {key: told[key] for key in wanted} == wanted
    assert (told["needs_reload"], told["can_reload"], told["path"], told["load_error"]) == (True, False, None, None)


@pytest.mark.parametrize(
    ("code", "status", "words"),
    [("1", "0", None), ("2", "9", "signal 9"), ("3", "11", "signal 11, core dumped"), ("0", "", None)],
)
def test_how_the_main_process_ended(code, status, words):
    found = {"LoadState": "loaded", "ActiveState": "failed", "ExecMainCode": code, "ExecMainStatus": status}
    assert _systemd.told(found)["exit"] == words


def test_a_node_without_systemd_a_systemctl_that_fails_and_one_that_says_something_else(programs, context):
    with pytest.raises(CannotTell, match="there is no program systemctl"):
        service.answer({"name": "a"}, context(path=str(programs.folder)))
    said = "System has not been booted with systemd as init system (PID 1). Can't operate."
    programs.write("systemctl", f'echo "{said}" >&2; exit 1')
    with pytest.raises(CannotTell, match="systemd does not run on this node"):
        service.answer({"name": "a"}, context())
    programs.write("systemctl", "echo 'Access denied' >&2; exit 4")
    with pytest.raises(ProbeFailed, match="ended with exit status 4"):
        service.answer({"name": "a"}, context())
    programs.write("systemctl", "echo active")
    with pytest.raises(CannotTell, match="does not name a unit's state"):
        service.answer({"name": "a"}, context())
