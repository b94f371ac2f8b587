"""What is removed is what was listed, whatever was put in its place meanwhile."""

import os

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
