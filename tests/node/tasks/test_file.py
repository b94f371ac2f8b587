"""The task `file`: content, mode and owner in one move, on real files."""

import os

import pytest

from stackplan.node.tasks import file
from stackplan.node.tasks.file import perform


def write(path, content="new\n", **values):
    return perform({"path": str(path), "content": content, **values})


def mode(path):
    return f"{path.stat().st_mode & 0o7777:04o}"


def test_a_new_file(tmp_path, capsys):
    assert write(tmp_path / "a", "größe\n", mode="0640") == 0
    assert (tmp_path / "a").read_text("utf-8") == "größe\n"
    assert mode(tmp_path / "a") == "0640"
    assert "8 bytes, mode 0640" in capsys.readouterr().out


def test_of_a_secret_no_size_is_told(tmp_path, capsys):
    assert write(tmp_path / "a", "tr0ub4dor\n", mode="0600", secret=True) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'a'} written, mode 0600\n"


def test_a_new_file_without_a_mode_gets_the_usual_one(tmp_path):
    before = os.umask(0o027)
    try:
        assert write(tmp_path / "a") == 0
    finally:
        os.umask(before)
    assert mode(tmp_path / "a") == "0640"


def test_the_old_mode_stays_where_none_is_given(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o755)
    assert write(tmp_path / "a") == 0
    assert mode(tmp_path / "a") == "0755"


def test_another_file_takes_its_place(tmp_path):
    (tmp_path / "a").write_text("old")
    with (tmp_path / "a").open() as reader:
        assert write(tmp_path / "a") == 0
        assert reader.read() == "old", "who had it open still reads the whole old one"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_file_that_is_so_already_is_not_written(tmp_path, capsys):
    assert write(tmp_path / "a", mode="0600") == 0
    before = (tmp_path / "a").stat()
    assert write(tmp_path / "a", mode="0600") == 0
    assert (tmp_path / "a").stat().st_ino == before.st_ino
    assert "is so already" in capsys.readouterr().out
    assert write(tmp_path / "a", mode="0644") == 0
    assert mode(tmp_path / "a") == "0644"


def test_a_link_stays_and_its_end_is_written(tmp_path, capsys):
    (tmp_path / "end").write_text("old")
    (tmp_path / "a").symlink_to("end")
    assert write(tmp_path / "a") == 0
    assert (tmp_path / "a").is_symlink()
    assert (tmp_path / "end").read_text() == "new\n"
    assert f"leads to {tmp_path / 'end'}, which is written" in capsys.readouterr().out


def test_bytes_that_are_no_text_come_through(tmp_path):
    assert write(tmp_path / "a", b"\xff\x00a".decode("utf-8", "surrogateescape")) == 0
    assert (tmp_path / "a").read_bytes() == b"\xff\x00a"


@pytest.mark.parametrize(
    ("path", "values", "words"),
    [
        ("none/a", {}, "does not exist; make it in an earlier step"),
        ("folder", {}, "is a folder; it is not replaced by a file"),
        ("pipe", {}, "is not a plain file; it is not replaced"),
        ("a", {"owner": "nobody-here"}, "there is no user nobody-here on the node"),
        ("a", {"group": "nobody-here"}, "there is no group nobody-here on the node"),
    ],
)
def test_refused(tmp_path, capsys, path, values, words):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    assert write(tmp_path / path, **values) == 1
    assert words in capsys.readouterr().out
    assert {entry.name for entry in tmp_path.iterdir()} == {"folder", "pipe"}


def test_a_failure_on_the_way_leaves_no_draft(tmp_path, monkeypatch, capsys):
    def full(*_):
        raise OSError(28, "No space left on device", str(tmp_path / "a"))

    monkeypatch.setattr(file, "put", full)
    assert write(tmp_path / "a") == 1
    assert list(tmp_path.iterdir()) == []
    assert "No space left on device" in capsys.readouterr().out


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_owner_and_group_by_number(tmp_path):
    assert write(tmp_path / "a", owner="1234", group="4321") == 0
    assert ((tmp_path / "a").stat().st_uid, (tmp_path / "a").stat().st_gid) == (1234, 4321)
    assert write(tmp_path / "a", "newer\n") == 0
    assert (tmp_path / "a").stat().st_uid == 1234


def test_only_root_gives_files_away(tmp_path, monkeypatch, capsys):
    def refused(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(file.os, "chown", refused)
    assert write(tmp_path / "a", owner="1234") == 1
    assert "set `become: true` on the step" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
