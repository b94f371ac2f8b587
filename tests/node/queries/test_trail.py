"""The links on the way along a path, against real ones."""

import os

import pytest

from stackplan.node.queries._trail import MOST_LINKS, trail


@pytest.fixture
def root(tmp_path):
    return tmp_path.resolve()


def test_every_link_on_the_way_and_the_end(root):
    (root / "d").mkdir()
    (root / "l").symlink_to("d")
    (root / "d/n").symlink_to("../l/m")
    (root / "a").symlink_to(f"{root}/l/n")
    assert trail(f"{root}/a") == [f"{root}/l", f"{root}/d/n", f"{root}/d/m"]
    assert trail(f"{root}/a")[-1] == os.path.realpath(f"{root}/a")
    assert trail(f"{root}/d/m") == [], "a path without links has no other name"
    assert trail(f"{root}/l/../x/./y") == [f"{root}/l", f"{root}/x/y"]


def test_a_circle_ends(root):
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    assert len(trail(f"{root}/a")) <= MOST_LINKS
