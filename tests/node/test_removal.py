"""What is removed is what was listed, whatever was put in its place meanwhile."""

import errno
import os
import re
from pathlib import Path

import pytest

from stackplan.node import removal
from stackplan.node.queries._kernel_cache_listing import Listing


@pytest.fixture
def tree(tmp_path):
    """A cache with one entry, two folders deep, and beside it a place of the same shape with somebody's own files."""
    for root in ("cache", "precious"):
        folder = tmp_path / root / "versions/entry/below"
        folder.mkdir(parents=True)
        (folder / "kernel.so").write_bytes(b"kernel")
        (folder.parent / "lock").write_bytes(b"")
    return tmp_path


@pytest.fixture
def listing(tree):
    found = Listing(str(tree / "cache/versions/entry"))
    assert found.complete(lambda: True, lambda: False)
    return found


@pytest.fixture
def take(tree, listing):
    """Remove what was listed, from the folder that the cache's path leads to by now."""

    def remove():
        root = removal.open_folder(str(tree / "cache"))
        try:
            removal.remove(root, "versions/entry", listing)
        finally:
            os.close(root)

    return remove


def everything(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


WHOLE = ["versions", "versions/entry", "versions/entry/below", "versions/entry/below/kernel.so", "versions/entry/lock"]


def test_the_tree_goes_and_what_is_beside_it_stays(tree, take):
    (tree / "cache/versions/other").mkdir()
    take()
    assert everything(tree / "cache") == ["versions", "versions/other"]
    assert everything(tree / "precious") == WHOLE


def test_links_in_it_go_and_lead_nowhere(tree):
    (tree / "cache/versions/entry/out").symlink_to(tree / "precious")
    listing = Listing(str(tree / "cache/versions/entry"))
    assert listing.complete(lambda: True, lambda: False)
    root = removal.open_folder(str(tree / "cache/versions"))
    removal.remove(root, "entry", listing)
    os.close(root)
    assert everything(tree / "cache") == ["versions"]
    assert everything(tree / "precious") == WHOLE


@pytest.mark.parametrize("place", ["versions", "versions/entry", "versions/entry/below"])
@pytest.mark.parametrize("how", ["link", "rename"])
def test_a_folder_that_was_exchanged_is_left(tree, take, place, how):
    """Whoever may write above puts another tree, or a link to it, where the judged one was."""
    (tree / "cache" / place).rename(tree / "aside")
    if how == "link":
        (tree / "cache" / place).symlink_to(tree / "precious" / place)
    else:
        (tree / "precious" / place).rename(tree / "cache" / place)
    before = everything(tree)
    with pytest.raises((removal.Changed, OSError), match=r"cache/versions|Not a directory|Too many levels"):
        take()
    assert everything(tree) == before
    assert (tree / "cache/versions/entry/below/kernel.so").read_bytes() == b"kernel"


def test_a_cache_that_became_a_link_is_not_opened(tree, take):
    (tree / "cache").rename(tree / "aside")
    (tree / "cache").symlink_to(tree / "precious")
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        take()
    assert everything(tree / "precious") == WHOLE


def test_what_was_exchanged_between_the_look_and_the_removal_is_left(tree, take, monkeypatch):
    """At the last moment, when all has been compared already."""
    real = os.unlink
    taken = []

    def swap_first(name, *, dir_fd):
        if not taken:
            (tree / "cache/versions/entry").rename(tree / "aside")
            (tree / "cache/versions/entry").symlink_to(tree / "precious/versions/entry")
        taken.append(name)
        real(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", swap_first)
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        take()
    assert taken == ["kernel.so"], "which was held by its folder's descriptor, and was judged"
    assert everything(tree / "precious") == WHOLE


@pytest.mark.parametrize("change", ["added", "written", "replaced", "link"])
def test_nothing_goes_where_something_changed(tree, take, change):
    kernel = tree / "cache/versions/entry/below/kernel.so"
    if change == "added":
        (kernel.parent.parent / "notes.txt").write_text("mine")
    elif change == "written":
        kernel.write_bytes(b"a longer kernel")
    else:
        kernel.rename(tree / "old")
        if change == "link":
            kernel.symlink_to(tree / "old")
        else:
            kernel.write_bytes(b"kernel")
    before = everything(tree)
    with pytest.raises(removal.Changed, match="notes.txt" if change == "added" else "kernel.so"):
        take()
    assert everything(tree) == before


def test_what_is_gone_as_a_whole_is_removed(tree, take):
    (tree / "cache/versions/entry").rename(tree / "aside")
    take()
    assert everything(tree / "cache") == ["versions"]


def test_what_is_gone_in_part_has_changed(tree, take):
    (tree / "cache/versions/entry/below/kernel.so").unlink()
    with pytest.raises(removal.Changed, match=r"kernel\.so"):
        take()
    assert (tree / "cache/versions/entry/lock").exists()


def test_a_file_that_is_exchanged_under_the_hand_of_the_reader_is_not_read(tree, listing):
    (tree / "cache/versions/entry/below/kernel.so").write_bytes(b"another one")
    with pytest.raises(OSError, match="it changed meanwhile"):
        listing.read("below/kernel.so", 100)
    assert listing.read("lock", 100) == b""
    with pytest.raises(OSError, match="not a regular file"):
        listing.read("below", 100)


def folder_of(descriptor):
    return str(Path(f"/proc/self/fd/{descriptor}").readlink())


@pytest.fixture
def unlinked(monkeypatch):
    """Note the name of every file that is removed."""
    real = os.unlink
    names = []

    def unlink(name, *, dir_fd):
        real(name, dir_fd=dir_fd)
        names.append(name)

    monkeypatch.setattr(os, "unlink", unlink)
    return names


@pytest.mark.parametrize("place", ["versions", "versions/entry", "versions/entry/below"])
def test_a_folder_that_may_not_be_written_keeps_all_of_the_tree(tree, take, monkeypatch, unlinked, place):
    """Root may write anywhere, so what the kernel says of the folder is put into its mouth."""
    asked = []

    def access(path, mode, *, dir_fd, effective_ids):
        asked.append((path, mode, effective_ids))
        return folder_of(dir_fd) != str(tree / "cache" / place)

    monkeypatch.setattr(os, "access", access)
    before = everything(tree)
    with pytest.raises(PermissionError, match=re.escape(f"Permission denied: '{tree / 'cache' / place}'")) as refused:
        take()
    assert not isinstance(refused.value, removal.Partly)
    assert unlinked == []
    assert everything(tree) == before
    assert set(asked) == {(".", os.W_OK | os.X_OK, True)}, "of the folder itself, as whoever acts"


def test_an_empty_folder_needs_no_right_to_write_in_it(tree, monkeypatch):
    (tree / "cache/versions/entry/empty").mkdir()
    listing = Listing(str(tree / "cache/versions/entry"))
    assert listing.complete(lambda: True, lambda: False)
    monkeypatch.setattr(os, "access", lambda *_, dir_fd, **__: not folder_of(dir_fd).endswith("/empty"))
    root = removal.open_folder(str(tree / "cache"))
    removal.remove(root, "versions/entry", listing)
    os.close(root)
    assert everything(tree / "cache") == ["versions"]


def test_what_lies_on_another_device_keeps_all_of_the_tree(tree, listing, take, monkeypatch, unlinked):
    """A mount needs more rights than tests have: the folder has another device in the listing and by its descriptor."""
    real = os.fstat
    mounted = str(tree / "cache/versions/entry/below")

    def fstat(descriptor):
        status = real(descriptor)
        if folder_of(descriptor) != mounted:
            return status
        return os.stat_result([*status[:2], status.st_dev + 1, *status[3:]])

    seen = listing.folders["below"]
    listing.folders["below"] = seen._replace(device=seen.device + 1)
    monkeypatch.setattr(os, "fstat", fstat)
    before = everything(tree)
    with pytest.raises(OSError, match=re.escape(f"another file system is mounted there: '{mounted}'")) as refused:
        take()
    assert refused.value.errno == errno.EXDEV
    assert not isinstance(refused.value, removal.Partly)
    assert unlinked == []
    assert everything(tree) == before


def before_each_file(monkeypatch, act):
    """Have `act(how many are gone)` done right before each file is removed."""
    real = os.unlink
    gone = []

    def unlink(name, *, dir_fd):
        act(len(gone))
        real(name, dir_fd=dir_fd)
        gone.append(name)

    monkeypatch.setattr(os, "unlink", unlink)


def test_half_a_removal_says_how_much_is_gone(tree, take, monkeypatch):
    def fail(gone):
        if gone == 1:
            raise OSError(errno.EROFS, "Read-only file system", "lock")

    before_each_file(monkeypatch, fail)
    with pytest.raises(removal.Partly, match="Read-only file system") as half:
        take()
    assert (half.value.errno, half.value.gone) == (errno.EROFS, 1)
    assert half.value.filename == str(tree / "cache/versions/entry")
    assert everything(tree / "cache") == [name for name in WHOLE if not name.endswith("kernel.so")]


def test_what_fails_before_the_first_file_is_gone_is_not_half_done(tree, take, monkeypatch):
    def fail(_):
        raise OSError(errno.EROFS, "Read-only file system", "kernel.so")

    before_each_file(monkeypatch, fail)
    before = everything(tree)
    with pytest.raises(OSError, match="Read-only file system") as refused:
        take()
    assert not isinstance(refused.value, removal.Partly)
    assert everything(tree) == before


@pytest.mark.parametrize("change", ["written", "gone"])
def test_what_changes_once_the_removal_has_begun_is_left_and_half_of_it_is_told(tree, take, monkeypatch, change):
    """`lock` is the last of the files: between the first and it somebody writes into it, or takes it away."""
    entry = tree / "cache/versions/entry"

    def interfere(_):
        if change == "gone":
            (entry / "lock").unlink()
        else:
            (entry / "lock").write_bytes(b"mine")

    first = removal._compare_file

    def compare(descriptor, name, seen, path):
        if name == "lock" and not (entry / "below/kernel.so").exists():
            interfere(name)
        first(descriptor, name, seen, path)

    monkeypatch.setattr(removal, "_compare_file", compare)
    with pytest.raises(removal.Partly, match="it changed after it was looked at") as half:
        take()
    assert (half.value.errno, half.value.gone) == (errno.ESTALE, 1)
    assert half.value.filename == str(entry / "lock" if change == "written" else entry)
    assert (entry / "lock").exists() is (change == "written")


def test_what_somebody_else_takes_away_whole_meanwhile_is_removed(tree, take, monkeypatch):
    def interfere(gone):
        if gone == 1:
            (tree / "cache/versions/entry").rename(tree / "aside")
            (tree / "aside/lock").rename(tree / "lock")

    before_each_file(monkeypatch, interfere)
    take()
    assert everything(tree / "cache") == ["versions"]
