"""Snapshots and what is put back from them, on trees of this machine; and faults at every step of both."""

import base64
import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
from pathlib import Path

import pytest

from stackplan.node import clone, left, reserve, restoration, snapshot, supervisor
from stackplan.node.context import Context
from stackplan.node.queries import snapshot_room, snapshots
from stackplan.node.snapshot import ENVIRONMENT, FILE, Refused, Snapshot, all_snapshots, prune
from stackplan.node.spool import Spool
from stackplan.node.tasks import release, restore
from stackplan.node.tasks import snapshot as snapshot_task

CODE = "lib/python3.11/site-packages/torch/__init__.py"
LIBRARY = "lib/python3.11/site-packages/torch/lib/libtorch.so"
RECORD = "lib/python3.11/site-packages/torch-2.10.0+cu128.dist-info/RECORD"
METADATA = "lib/python3.11/site-packages/torch-2.10.0+cu128.dist-info/METADATA"


class Killed(BaseException):
    """What a process that is killed does: nothing more."""


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(snapshot.manifest, "DIGEST_LIMIT", 4096)
    return snapshot.state_of_node()


@pytest.fixture
def venv(tmp_path):
    """An environment as uv leaves it: files that RECORD names, a script, a link, a compiled file."""
    root = tmp_path / "ml-env"
    contents = {
        CODE: "__version__ = '2.10.0+cu128'\n",
        LIBRARY: "x" * (snapshot.manifest.DIGEST_LIMIT + 5),
        METADATA: "Name: torch\nVersion: 2.10.0+cu128\n",
        "bin/torchrun": "#!/bin/sh\n",
        "pyvenv.cfg": "version = 3.11.2\n",
        "lib/python3.11/site-packages/own.pth": "/opt/own\n",
        "lib/python3.11/site-packages/torch/__pycache__/__init__.cpython-311.pyc": "compiled",
    }
    rows = []
    for name, text in contents.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if name in (CODE, LIBRARY, METADATA):
            rows.append(_row(name, text))
    (root / RECORD).write_text("\n".join([*rows, "torch-2.10.0+cu128.dist-info/RECORD,,"]) + "\n")
    (root / "bin/torchrun").chmod(0o755)
    (root / "bin/python").symlink_to("/usr/bin/python3")
    os.utime(root / CODE, ns=(1, 1_000_000_007))
    return root


def _row(name, text):
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    return f"{name.removeprefix('lib/python3.11/site-packages/')},sha256={digest},{len(text)}"


def upgrade(venv, *made):
    """Do what an installer does: remove the files of the old version, make those of the new one; note what it left."""
    for name in (CODE, LIBRARY):
        (venv / name).unlink()
        (venv / name).write_text("new")
    shutil.rmtree((venv / METADATA).parent)
    (venv / "lib/python3.11/site-packages/torch-2.11.0+cu130.dist-info").mkdir()
    (venv / "bin/new").write_text("new")
    for it in made:
        left.note(it)


def tree(root):
    """Return everything below a folder: mode, time, and content or target."""
    found = {}
    for path in sorted(Path(root).rglob("*")):
        status = path.lstat()
        about = path.readlink() if path.is_symlink() else None if path.is_dir() else path.read_bytes()
        found[str(path.relative_to(root))] = (status.st_mode, None if path.is_dir() else status.st_mtime_ns, about)
    return found


def taken(state, path, kind=ENVIRONMENT, run="R1"):
    made = Snapshot(state, run, kind, str(path))
    made.take("torch")
    return made


def strays(folder):
    return [path for path in Path(folder).iterdir() if "stackplan" in path.name]


def test_an_environment_is_put_back_as_it_was(state, venv):
    before = tree(venv)
    made = taken(state, venv)
    assert made.told()["way"] in (clone.LINK, clone.REFLINK)
    upgrade(venv, made)
    assert "as it was before run R1" in restoration.restore(made)
    assert tree(venv) == before
    assert strays(venv.parent) == []


def test_only_what_installers_replace_is_linked(state, venv, monkeypatch):
    monkeypatch.setattr(clone.fcntl, "ioctl", _not_shared)
    made = taken(state, venv)
    copy = Path(made.told()["clone"])
    linked = {name for name in tree(venv) if (copy / name).is_file() and not (copy / name).is_symlink()
              and (copy / name).stat().st_ino == (venv / name).stat().st_ino}  # fmt: skip
    assert linked == {LIBRARY, "lib/python3.11/site-packages/torch/__pycache__/__init__.cpython-311.pyc"}


def _not_shared(*_):
    raise OSError(errno.EOPNOTSUPP, "not supported")


def test_blocks_are_shared_where_the_filesystem_can(state, venv, monkeypatch):
    def share(target, request, source):
        assert request == clone.FICLONE
        os.sendfile(target, source, 0, os.fstat(source).st_size)

    monkeypatch.setattr(clone.fcntl, "ioctl", share)
    before = tree(venv)
    made = taken(state, venv)
    assert made.told()["way"] == clone.REFLINK
    (venv / CODE).write_text("in place")
    restoration.restore(made)
    assert tree(venv) == before


def test_where_nothing_can_be_linked_bytes_are_copied(state, venv, monkeypatch):
    def no_link(*_, **__):
        raise OSError(errno.EPERM, "not permitted")

    monkeypatch.setattr(clone.fcntl, "ioctl", _not_shared)
    monkeypatch.setattr(clone.os, "link", no_link)
    before = tree(venv)
    made = taken(state, venv)
    assert made.told()["way"] == clone.COPY
    upgrade(venv, made)
    restoration.restore(made)
    assert tree(venv) == before


def test_a_clone_that_was_written_into_is_named_and_not_trusted(state, venv, monkeypatch):
    monkeypatch.setattr(clone.fcntl, "ioctl", _not_shared)
    made = taken(state, venv)
    # An installer that writes into the file that is there, and so into both.
    (venv / LIBRARY).write_text("written in place")
    (row,) = snapshots.answer({"run": "R1", "things": True}, Context())
    assert LIBRARY in row["clone_fault"]
    state_now = tree(venv)
    with pytest.raises(Refused, match=f"not trusted: {LIBRARY}"):
        restoration.restore(made)
    assert tree(venv) == state_now
    assert Path(made.told()["clone"]).is_dir()


def test_a_clone_of_another_content_under_the_same_time_is_not_trusted(state, venv):
    made = taken(state, venv)
    copy = Path(made.told()["clone"]) / METADATA
    times = copy.stat()
    copy.write_text(copy.read_text().replace("2.10.0", "2.10.1"))
    os.utime(copy, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(Refused, match="METADATA: another content"):
        restoration.restore(made)


def test_a_large_file_that_is_not_what_its_record_says_is_put_back_but_not_proven(state, venv):
    (venv / LIBRARY).write_text("y" * (snapshot.manifest.DIGEST_LIMIT + 5))
    before = tree(venv)
    made = taken(state, venv)
    upgrade(venv, made)
    with pytest.raises(Refused, match=r"was put back, but is not what its RECORDs say: .*libtorch\.so"):
        restoration.restore(made)
    assert tree(venv) == before


def test_a_snapshot_of_the_run_is_never_taken_anew_from_what_it_has_half_changed(state, venv):
    before = tree(venv)
    taken(state, venv)
    upgrade(venv)
    again = Snapshot(state, "R1", ENVIRONMENT, str(venv))
    assert "stays" in again.take("sglang")
    assert again.steps() == ["torch", "sglang"]
    restoration.restore(again)
    assert tree(venv) == before


def test_an_environment_that_was_not_there_is_removed(state, venv, tmp_path):
    made = taken(state, tmp_path / "new-env")
    shutil.copytree(venv, tmp_path / "new-env", symlinks=True)
    left.note(made)
    restoration.restore(made)
    assert not (tmp_path / "new-env").exists()
    assert strays(tmp_path) == []


def test_where_the_folder_above_may_not_be_written_the_clone_lies_inside(state, venv, monkeypatch):
    monkeypatch.setattr(snapshot, "may_stand_beside", lambda path: False)
    before = tree(venv)
    made = taken(state, venv)
    assert Path(made.told()["clone"]).parent == venv
    upgrade(venv, made)
    (venv / "share").mkdir()
    left.note(made)
    restoration.restore(made)
    assert tree(venv) == before


def test_one_that_was_put_back_is_proven_again_and_told_when_it_has_changed_since(state, venv):
    made = taken(state, venv)
    upgrade(venv, made)
    restoration.restore(made)
    assert "put back already" in restoration.restore(made)
    (venv / CODE).write_text("later")
    with pytest.raises(Refused, match="has changed since"):
        restoration.restore(made)


@pytest.mark.parametrize("was", ["file", "link", "absent"])
def test_files_and_links_are_put_back(state, tmp_path, was):
    path = tmp_path / "settings.ini"
    if was == "file":
        path.write_text("old")
        path.chmod(0o640)
        os.utime(path, ns=(1, 1_000_000_007))
    elif was == "link":
        path.symlink_to("/nowhere")
    before = tree(tmp_path)
    made = taken(state, path, FILE)
    path.unlink(missing_ok=True)
    path.write_text("new")
    left.note(made)
    restoration.restore(made)
    assert {name: it for name, it in tree(tmp_path).items() if "state" not in name} == before
    assert "as it was before run R1" in restoration.restore(made)


def test_a_file_is_not_put_back_over_a_folder(state, tmp_path):
    made = taken(state, tmp_path / "a", FILE)
    (tmp_path / "a").mkdir()
    with pytest.raises(Refused, match="is a folder by now"):
        restoration.restore(made)


def test_what_was_not_changed_leaves_no_snapshot(state, venv):
    things = [{"kind": ENVIRONMENT, "path": str(venv)}]
    arguments = {"state": state, "run": "R1", "step": "torch", "things": things}
    assert snapshot_task.perform(arguments) == 0
    assert len(strays(venv.parent)) == 1
    # Python compiles what is imported, whoever imports it.
    (venv / "lib/python3.11/site-packages/torch/__pycache__/new.cpython-311.pyc").write_text("compiled")
    assert release.perform(arguments) == 0
    assert strays(venv.parent) == []
    assert list(all_snapshots(state)) == []


def test_the_oldest_snapshots_of_a_thing_are_removed(state, venv, tmp_path, monkeypatch):
    for number in range(1, 6):
        monkeypatch.setattr(snapshot.time, "strftime", lambda *_, number=number: f"2026-12-0{number}T00:00:00Z")
        made = taken(state, venv, run=f"R{number}")
        prune(made)
    other = taken(state, tmp_path / "file", FILE, run="R1")
    assert sorted(it.run for it in all_snapshots(state) if it.path == str(venv)) == ["R3", "R4", "R5"]
    assert other.told() is not None
    assert len(strays(venv.parent)) == 3


def test_runs_within_a_second_stand_in_their_order(state, tmp_path, monkeypatch):
    moments = iter([1_765_000_000_000_001_000, 1_765_000_000_000_002_000])
    monkeypatch.setattr(snapshot.time, "time_ns", lambda: next(moments))
    for run in ("R1", "R2"):
        taken(state, tmp_path / "file", FILE, run=run)
    answers = [snapshots.answer({"run": run}, Context()) for run in ("R1", "R2")]
    assert [(about["later"], about["taken"]) for (about,) in answers] == [
        (["R2"], "2025-12-06T05:46:40.000001Z"),
        ([], "2025-12-06T05:46:40.000002Z"),
    ]


def test_room_is_told_without_writing_anything(state, venv, monkeypatch):
    before = tree(venv.parent)
    told = snapshot_room.answer({"run": "R1", "kind": ENVIRONMENT, "path": str(venv)}, Context())
    assert tree(venv.parent) == before
    assert told["size_bytes"] == sum(
        it.lstat().st_size for it in venv.rglob("*") if it.is_file() and not it.is_symlink()
    )
    (room,) = told["rooms"]
    assert 0 < room["needed_bytes"] < room["free_bytes"]
    monkeypatch.setattr(snapshot_room, "_way", lambda *_: clone.COPY)
    copied = snapshot_room.answer({"run": "R1", "kind": ENVIRONMENT, "path": str(venv)}, Context())
    assert copied["rooms"][0]["needed_bytes"] > room["needed_bytes"]
    taken(state, venv)
    assert snapshot_room.answer({"run": "R1", "kind": ENVIRONMENT, "path": str(venv)}, Context())["kept"] is True


# What changes the disk, or is between two changes; `utime` is not among them because shutil asks what it is.
FUNCTIONS = ("mkdir", "link", "symlink", "rename", "unlink", "rmdir", "open", "chmod")


@pytest.fixture
def fast(monkeypatch):
    """Have nobody wait for a disk that others write to: what is on it after a power cut is not what is tested."""
    monkeypatch.setattr(snapshot, "flush", lambda path: None)
    monkeypatch.setattr(restoration, "flush", lambda path: None)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@contextlib.contextmanager
def killed_at(number, monkeypatch):
    """Kill the process, as far as it can tell, at its `number`th change of the disk; yield whether it came to that."""
    count = 0
    came = []

    def counted(function):
        def call(*positional, **named):
            nonlocal count
            count += 1
            if count == number:
                came.append(True)
            if count >= number:
                raise Killed
            return function(*positional, **named)

        return call

    with monkeypatch.context() as patch:
        for name in FUNCTIONS:
            patch.setattr(os, name, counted(getattr(os, name)))
        patch.setattr(restoration, "exchange", counted(restoration.exchange))
        yield came


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("way", ["exchange", "renames", "inside"])
def test_killed_anywhere_while_it_is_put_back_nothing_is_lost(state, venv, monkeypatch, way):
    if way == "renames":
        monkeypatch.setattr(restoration, "exchange", lambda one, other: False)
    if way == "inside":
        monkeypatch.setattr(snapshot, "may_stand_beside", lambda path: False)
    before = tree(venv)
    rounds = 0
    while True:
        rounds += 1
        run = f"R{rounds}"
        made = taken(state, venv, run=run)
        upgrade(venv, made)
        with killed_at(rounds, monkeypatch) as came, contextlib.suppress(Killed):
            restoration.restore(made)
        assert "as it was before" in restoration.restore(Snapshot(state, run, ENVIRONMENT, str(venv)))
        assert tree(venv) == before
        assert strays(venv.parent) == []
        made.discard()
        if not came:
            break
    assert rounds > 5


@pytest.mark.usefixtures("fast")
def test_killed_anywhere_while_it_is_taken_the_thing_is_untouched_and_the_next_one_is_whole(state, venv, monkeypatch):
    before = tree(venv)
    rounds = 0
    while True:
        rounds += 1 if rounds < 12 else 2
        made = Snapshot(state, f"R{rounds}", ENVIRONMENT, str(venv))
        with killed_at(rounds, monkeypatch) as came, contextlib.suppress(Killed):
            made.take("torch")
        assert tree(venv) == before
        again = Snapshot(state, f"R{rounds}", ENVIRONMENT, str(venv))
        again.take("torch")
        upgrade(venv, again)
        restoration.restore(again)
        assert tree(venv) == before
        assert strays(venv.parent) == []
        again.discard()
        if not came:
            break
    assert rounds > 20


def test_what_was_being_put_back_is_put_back_to_the_end_before_anything_is_written_there(state, venv, monkeypatch):
    monkeypatch.setattr(restoration, "exchange", lambda one, other: False)
    before = tree(venv)
    made = taken(state, venv)
    upgrade(venv, made)
    with monkeypatch.context() as patch:
        rename = os.rename
        patch.setattr(os, "rename", lambda one, other: _killed() if other == str(venv) else rename(one, other))
        with pytest.raises(Killed):
            restoration.restore(made)
    assert not venv.exists()
    # A later run must not take the gap for what was there, nor prune what is all that is left.
    prune(Snapshot(state, "R9", ENVIRONMENT, str(venv)))
    things = [{"kind": ENVIRONMENT, "path": str(venv)}]
    assert snapshot_task.perform({"state": state, "run": "R1", "step": "torch", "things": things}) == 0
    assert tree(venv) == before


def _killed():
    raise Killed


def test_the_task_puts_back_what_it_can_and_fails_for_the_rest(state, venv, tmp_path, capsys):
    taken(state, tmp_path / "file", FILE)
    (tmp_path / "file").write_text("new")
    made = taken(state, venv)
    shutil.rmtree(made.told()["clone"])
    assert restore.perform({"run": "R1"}) == 1
    assert not (tmp_path / "file").exists()
    assert "is gone; nothing was touched" in capsys.readouterr().out


def test_snapshots_are_held_while_they_are_worked_on(state):
    with snapshot.held(state):
        lock = os.open(Path(state, "snapshots", ".lock"), os.O_RDWR)
        with pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(lock)


def told_of(run="R1"):
    (row,) = snapshots.answer({"run": run, "things": True}, Context())
    return row


def test_what_people_did_since_the_run_is_told_and_kept(state, venv):
    before = tree(venv)
    made = taken(state, venv)
    upgrade(venv, made)
    assert told_of()["since"] == {"count": 0, "first": []}
    (venv / "models").mkdir()
    (venv / "models/weights").write_text("precious")
    (venv / CODE).write_text("edited by hand")
    (venv / "bin/new").unlink()
    since = told_of()["since"]
    assert since["count"] == 4
    assert {line.rpartition("/")[2] for line in since["first"]} == {
        "new is gone", "__init__.py: another size", "models is new", "weights is new",
    }  # fmt: skip
    by_hand = tree(venv)
    (kept,) = [restoration.restore(made).rpartition(" ")[2]]
    assert tree(venv) == before
    assert tree(kept) == by_hand
    assert told_of()["kept"] == [kept]
    # It goes with the snapshot.
    made.discard()
    assert strays(venv.parent) == []


@pytest.mark.parametrize("was", ["file", "link", "absent"])
def test_a_file_that_was_edited_since_is_kept_beside(state, tmp_path, was):
    path = tmp_path / "serve.conf"
    if was == "file":
        path.write_text("old")
    elif was == "link":
        path.symlink_to("/nowhere")
    made = taken(state, path, FILE)
    path.unlink(missing_ok=True)
    path.write_text("model=NEW")
    left.note(made)
    path.write_text("edited by hand")
    (line,) = told_of()["since"]["first"]
    assert line.startswith(f"{path}: another ")
    restoration.restore(made)
    (kept,) = made.kept()
    assert Path(kept).read_text() == "edited by hand"
    assert (path.is_symlink(), path.exists()) == (was == "link", was == "file")
    # An action of the run that writes there again takes another snapshot, and what is kept stays.
    made.take("again")
    assert Path(kept).read_text() == "edited by hand"


def test_what_an_action_that_never_ended_left_is_not_known_and_so_it_is_kept(state, venv):
    made = taken(state, venv)
    upgrade(venv, made)
    made.take("next")
    assert told_of()["since"] is None
    restoration.restore(made)
    assert len(made.kept()) == 1


def test_what_a_later_run_wrote_is_not_taken_for_what_people_did(state, venv, monkeypatch):
    moments = iter(range(1, 9))
    monkeypatch.setattr(snapshot.time, "strftime", lambda *_: f"2026-12-0{next(moments)}T00:00:00Z")
    first = taken(state, venv)
    upgrade(venv, first)
    second = taken(state, venv, run="R2")
    (venv / "bin/second").write_text("of the second run")
    left.note(second)
    assert told_of()["since"] == {"count": 0, "first": []}
    (venv / "bin/hand").write_text("by hand")
    assert told_of()["since"] == {"count": 1, "first": ["bin/hand is new"]}
    (venv / "bin/hand").unlink()
    # What was done between the two is what the second one found.
    third = taken(state, venv, run="R3")
    left.note(third)
    (venv / "bin/between").write_text("x")
    taken(state, venv, run="R4").take("left unknown")
    assert told_of()["since"] is None
    left.note(Snapshot(state, "R4", ENVIRONMENT, str(venv)))
    assert told_of()["since"] == {"count": 1, "first": ["bin/between is new"]}


def test_a_full_disk_stops_nothing_that_needs_no_room(state, tmp_path, monkeypatch, capsys):
    (tmp_path / "old").write_text("old")
    with snapshot.held(state):
        pass  # as whoever takes a snapshot does
    for name in ("old", "new"):
        made = taken(state, tmp_path / name, FILE)
        (tmp_path / name).write_text("of the run")
        left.note(made)
    with monkeypatch.context() as patch:
        real = os.open

        def full(path, flags, *rest, **named):
            if flags & os.O_CREAT and not os.path.lexists(path):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
            return real(path, flags, *rest, **named)

        patch.setattr(os, "open", full)
        patch.setattr(clone.Cloner, "_share", lambda *_: False)
        assert restore.perform({"run": "R1"}) == 0, capsys.readouterr().out
    assert (tmp_path / "old").read_text() == "old"
    assert not (tmp_path / "new").exists()


def test_what_stands_in_the_way_of_putting_back_is_named_with_its_remedy(state, tmp_path, monkeypatch, capsys):
    path = tmp_path / "serve.conf"
    path.write_text("old")
    made = taken(state, path, FILE)
    path.write_text("new")

    def full(source, target, *_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), target)

    monkeypatch.setattr(os, "rename", full)
    monkeypatch.setattr(clone.Cloner, "file", full)
    assert restore.perform({"run": "R1"}) == 1
    said = capsys.readouterr().out
    assert said.startswith(f"{path} was not put back: ")
    assert "No space left on device; make room in /" in said
    assert not made.restored


def test_what_people_edit_in_place_is_copied_and_its_snapshot_stays_good(state, venv, monkeypatch):
    monkeypatch.setattr(clone.fcntl, "ioctl", _not_shared)
    before = tree(venv)
    made = taken(state, venv)
    with (venv / CODE).open("a") as file:
        file.write("# x")
    assert told_of()["clone_fault"] is None
    restoration.restore(made)
    assert tree(venv) == before


def test_a_full_disk_is_told_with_the_snapshot(state, venv, monkeypatch):
    taken(state, venv)
    assert told_of()["full"] is None
    monkeypatch.setattr(snapshots, "NO_ROOM", 1 << 80)
    assert told_of()["full"] == str(venv.parent)


def test_taking_back_begins_on_a_full_disk_in_the_room_that_was_set_aside(state, venv, monkeypatch):
    things = [{"kind": ENVIRONMENT, "path": str(venv)}]
    assert snapshot_task.perform({"state": state, "run": "R1", "step": "torch", "things": things}) == 0
    reserved = Path(state, "reserve")
    assert reserved.stat().st_size == reserve.SIZE
    made = []

    def make(job):
        if reserved.exists():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "spool")
        made.append(job)

    spool = Spool("R1.node._restore0.1")
    monkeypatch.setattr(spool, "make", make)
    with pytest.raises(OSError, match="No space left"):
        supervisor._make(spool, {"stages": [{"argv": ["sh"]}]})
    assert reserved.exists()
    supervisor._make(spool, {"stages": [{"task": "restore"}]})
    assert len(made) == 1
