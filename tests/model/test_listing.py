"""The modules of a package: a folder that cannot be listed is no empty one."""

import pytest

from stackplan.model.listing import module_names


def test_modules_are_named_in_order_without_those_of_the_inside(tmp_path):
    for name in ("zebra.py", "ant.py", "_inside.py", "__init__.py", "notes.txt"):
        (tmp_path / name).write_text("", encoding="utf-8")
    (tmp_path / "examples").mkdir()
    assert module_names([str(tmp_path)]) == ("ant", "zebra")


def test_a_folder_that_cannot_be_listed_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        module_names([str(tmp_path / "missing")])
