"""The task `symlink`: only links are ever replaced."""

import pytest

from stackplan.node.tasks.symlink import perform


def make(path, target):
    return perform({"path": str(path), "target": str(target)})


def test_a_new_link(tmp_path, capsys):
    assert make(tmp_path / "cuda", "cuda-13.0") == 0
    assert str((tmp_path / "cuda").readlink()) == "cuda-13.0"
    assert f"{tmp_path / 'cuda'} -> cuda-13.0\n" == capsys.readouterr().out


def test_a_link_is_replaced_and_says_what_it_was(tmp_path, capsys):
    (tmp_path / "cuda-12.8").mkdir()
    (tmp_path / "cuda").symlink_to("cuda-12.8")
    assert make(tmp_path / "cuda", "cuda-13.0") == 0
    assert str((tmp_path / "cuda").readlink()) == "cuda-13.0"
    assert list((tmp_path / "cuda-12.8").iterdir()) == []
    assert "(was cuda-12.8)" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"cuda", "cuda-12.8"}


def test_a_link_that_is_right_is_left_alone(tmp_path, capsys):
    (tmp_path / "cuda").symlink_to("cuda-13.0")
    before = (tmp_path / "cuda").lstat().st_ino
    assert make(tmp_path / "cuda", "cuda-13.0") == 0
    assert (tmp_path / "cuda").lstat().st_ino == before
    assert "leads to cuda-13.0 already" in capsys.readouterr().out


@pytest.mark.parametrize(("kind", "words"), [("file", "is a file, not a link"), ("folder", "is a folder, not a link")])
def test_what_is_no_link_stays(tmp_path, capsys, kind, words):
    (tmp_path / "file").write_text("precious")
    (tmp_path / "folder").mkdir()
    assert make(tmp_path / kind, "elsewhere") == 1
    assert words in capsys.readouterr().out
    assert not (tmp_path / kind).is_symlink()


def test_no_folder(tmp_path, capsys):
    assert make(tmp_path / "none" / "cuda", "x") == 1
    assert "does not exist; make it in an earlier step" in capsys.readouterr().out
