"""The task `download`: a file in place, or nothing touched."""

import hashlib

import pytest

from stackplan.node.tasks.download import perform

BODY = b"{}\n"
DIGEST = hashlib.sha256(BODY).hexdigest()


@pytest.fixture
def download(web, tmp_path):
    def run(path="t.json", **values):
        return perform({"url": web.url("/t"), "sha256": DIGEST, "path": str(tmp_path / path), **values})

    return run


def test_it_is_put_in_place_with_its_mode(web, download, tmp_path):
    web.answers["/t"] = [{"body": BODY}]
    assert download(mode="0640") == 0
    assert (tmp_path / "t.json").read_bytes() == BODY
    assert (tmp_path / "t.json").stat().st_mode & 0o7777 == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["t.json"]


def test_nothing_is_fetched_when_it_is_there(web, download, tmp_path, capsys):
    (tmp_path / "t.json").write_bytes(BODY)
    assert download(mode="0600") == 0
    assert web.requests == []
    assert (tmp_path / "t.json").stat().st_mode & 0o777 == 0o600
    assert "is the file already" in capsys.readouterr().out


def test_a_wrong_file_leaves_the_old_one(web, download, tmp_path, capsys):
    (tmp_path / "t.json").write_bytes(b"old")
    web.answers["/t"] = [{"body": b"evil"}]
    assert download() == 1
    assert (tmp_path / "t.json").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["t.json"]
    assert "differs" in capsys.readouterr().out


def test_the_part_of_an_earlier_attempt_is_continued(web, download, tmp_path):
    (tmp_path / f".t.json.{DIGEST[:16]}.part").write_bytes(BODY[:1])
    web.answers["/t"] = [{"body": BODY}]
    assert download() == 0
    assert web.requests[0][1]["Range"] == "bytes=1-"


@pytest.mark.parametrize(
    ("path", "words"), [("none/t.json", "does not exist; make it in an earlier step"), ("folder", "is a folder")]
)
def test_a_place_that_cannot_take_it(download, tmp_path, capsys, path, words):
    (tmp_path / "folder").mkdir()
    assert download(path) == 1
    assert words in capsys.readouterr().out
