"""The links on the way along a path, against real ones."""

import os

import pytest

from stackplan.node.queries._trail import MOST_LINKS, trail


@pytest.fixture
def root(tmp_path):
    return os.path.realpath(tmp_path)


def test_every_link_on_the_way_and_the_end(root):
    os.mkdir(f"{root}/d")
    os.symlink("d", f"{root}/l")
    os.symlink("../l/m", f"{root}/d/n")
    os.symlink(f"{root}/l/n", f"{root}/a")
    assert trail(f"{root}/a") == [f"{root}/l", f"{root}/d/n", f"{root}/d/m"]
    assert trail(f"{root}/a")[-1] == os.path.realpath(f"{root}/a")
    assert trail(f"{root}/d/m") == [], "a path without links has no other name"
    assert trail(f"{root}/l/../x/./y") == [f"{root}/l", f"{root}/x/y"]


def test_a_circle_ends(root):
    os.symlink("b", f"{root}/a")
    os.symlink("a", f"{root}/b")
    assert len(trail(f"{root}/a")) <= MOST_LINKS
