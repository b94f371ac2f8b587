"""Fetching a file: whole, resumed, refused; against a real server on loopback."""

import hashlib
from typing import NamedTuple

import pytest

from stackplan.node.tasks import _fetch
from stackplan.node.tasks._fetch import NotFetched, fetch, shown

BODY = bytes(range(256)) * 40
DIGEST = hashlib.sha256(BODY).hexdigest()


class Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.fixture
def part(tmp_path):
    return tmp_path / "x.part"


def get(web, path, part, digest=DIGEST, user=""):
    fetch(web.url(path, user), str(part), digest, pauses_s=())


def test_a_whole_file(web, part):
    web.answers["/x"] = [{"body": BODY}]
    get(web, "/x", part)
    assert part.read_bytes() == BODY
    assert part.stat().st_mode & 0o777 == 0o600


def test_a_transfer_that_is_cut_goes_on_where_it_stopped(web, part, capsys):
    web.answers["/x"] = [{"body": BODY, "cut": 1000}, {"body": BODY}]
    get(web, "/x", part)
    assert part.read_bytes() == BODY
    assert [headers.get("Range") for _, headers in web.requests] == [None, "bytes=1000-"]
    assert "from byte 1000 on" in capsys.readouterr().out


def test_what_an_earlier_attempt_left_is_continued(web, part):
    part.write_bytes(BODY[:5000])
    web.answers["/x"] = [{"body": BODY}]
    get(web, "/x", part)
    assert part.read_bytes() == BODY
    assert web.requests[0][1]["Range"] == "bytes=5000-"


def test_a_whole_part_needs_nothing_more(web, part):
    part.write_bytes(BODY)
    web.answers["/x"] = [{"body": BODY}]
    get(web, "/x", part)
    assert part.read_bytes() == BODY


def test_a_server_without_ranges_sends_all_of_it_again(web, part):
    part.write_bytes(BODY[:5000])
    web.answers["/x"] = [{"body": BODY, "ranges": False}]
    get(web, "/x", part)
    assert part.read_bytes() == BODY


def test_a_part_of_another_file_is_given_up(web, part):
    part.write_bytes(b"z" * 5000)
    web.answers["/x"] = [{"body": BODY}]
    get(web, "/x", part)
    assert part.read_bytes() == BODY
    assert len(web.requests) == 2


def test_another_file_is_refused_and_removed(web, part):
    web.answers["/x"] = [{"body": b"evil"}]
    with pytest.raises(NotFetched, match=f"expected  {DIGEST}\n  observed  {hashlib.sha256(b'evil').hexdigest()}"):
        get(web, "/x", part)
    assert not part.exists()


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_an_answer_that_is_no_file_is_told_at_once(web, part, status):
    web.answers["/x"] = [{"status": status}]
    with pytest.raises(NotFetched, match=f"answers HTTP {status}"):
        get(web, "/x", part)
    assert len(web.requests) == 1


def test_a_server_that_is_busy_is_asked_again(web, part):
    web.answers["/x"] = [{"status": 503}, {"status": 503}, {"body": BODY}]
    get(web, "/x", part)
    assert part.read_bytes() == BODY


def test_asking_again_has_an_end(web, part):
    web.answers["/x"] = [{"status": 503}]
    with pytest.raises(NotFetched, match="could not be fetched: HTTP 503"):
        get(web, "/x", part)
    assert len(web.requests) == _fetch.ATTEMPTS


def test_no_server(web, part):
    gone = web.url("/x")
    web.server_close()
    with pytest.raises(NotFetched, match=r"could not be fetched: 127\.0\.0\.1: .*refused"):
        fetch(gone, str(part), DIGEST, pauses_s=())


def test_redirects_are_followed_without_the_password(web, part):
    web.answers["/x"] = [{"status": 302, "headers": {"Location": web.url("/y").replace("127.0.0.1", "localhost")}}]
    web.answers["/y"] = [{"body": BODY}]
    get(web, "/x", part, user="ops:hunter%402@")
    assert part.read_bytes() == BODY
    (_, first), (_, second) = web.requests
    assert first["Authorization"] == "Basic b3BzOmh1bnRlckAy"
    assert "Authorization" not in second


@pytest.mark.parametrize("elsewhere", ["file:///etc/passwd", "ftp://127.0.0.1/x"])
def test_redirects_lead_to_the_web_alone(web, part, elsewhere):
    web.answers["/x"] = [{"status": 302, "headers": {"Location": elsewhere}}]
    with pytest.raises(NotFetched, match=r"neither http nor https|answers HTTP 302"):
        get(web, "/x", part)
    assert not part.exists()


def test_no_other_scheme(part):
    with pytest.raises(NotFetched, match="file:///etc/passwd is neither http nor https"):
        fetch("file:///etc/passwd", str(part), DIGEST)


def test_room_is_looked_at_before_anything_is_written(web, part, monkeypatch):
    monkeypatch.setattr(_fetch.shutil, "disk_usage", lambda _: Usage(0, 0, 100))
    web.answers["/x"] = [{"body": BODY}]
    with pytest.raises(NotFetched, match=f"{len(BODY)} bytes are needed, 100 are free"):
        get(web, "/x", part)
    assert not part.exists()


def test_a_part_is_never_written_through_a_link(web, part, tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"")
    part.symlink_to(victim)
    web.answers["/x"] = [{"body": BODY}]
    with pytest.raises(OSError, match="symbolic link"):
        get(web, "/x", part)
    assert victim.read_bytes() == b""


def test_a_password_is_not_printed(web, part, capsys):
    web.answers["/x"] = [{"status": 404}]
    with pytest.raises(NotFetched, match=r"http://\*\*\*@127") as caught:
        get(web, "/x", part, user="ops:hunter2@")
    assert "hunter2" not in str(caught.value) + capsys.readouterr().out
    assert shown("https://a.example/x") == "https://a.example/x"
