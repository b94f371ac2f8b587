"""The index speaks the simple repository API, with hashes that are true."""

import hashlib
import re
import threading
import urllib.error
import urllib.request

import pytest

from stackplan.lab import runfile
from stackplan.lab.index import Index, pages
from stackplan.lab.wheels import Wheel

WHEELS = (Wheel("torch", "2.10.0+cu128"), Wheel("torch", "2.11.0+cu130"), Wheel("sglang", "0.5.16"))


@pytest.fixture
def index():
    with Index(pages({"whl/cu130": WHEELS})) as running:
        yield running


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read()


def test_the_root_of_a_channel_names_its_projects(index):
    assert re.findall(r">([^<]+)</a>", get(f"{index.url}/whl/cu130/").decode()) == ["sglang", "torch"]


def test_a_project_page_links_every_file_with_its_digest(index):
    page = get(f"{index.url}/whl/cu130/torch/").decode()
    links = re.findall(r'href="([^"#]+)#sha256=([0-9a-f]{64})"', page)
    assert len(links) == 2
    for path, digest in links:
        assert "+" not in path
        assert hashlib.sha256(get(index.url + path)).hexdigest() == digest


def test_a_project_is_found_with_and_without_a_slash_at_the_end(index):
    assert get(f"{index.url}/whl/cu130/torch") == get(f"{index.url}/whl/cu130/torch/")


def test_the_runfile_is_served_and_the_requests_are_kept(index):
    assert get(f"{index.url}/files/{runfile.NAME}") == runfile.CONTENT
    assert index.requests == [f"/files/{runfile.NAME}"]


def test_what_is_not_there_is_404(index):
    with pytest.raises(urllib.error.HTTPError, match="404") as caught:
        get(f"{index.url}/whl/cu130/flashinfer-python/")
    caught.value.close()


def test_no_thread_is_left_when_the_index_ends():
    before = set(threading.enumerate())
    with Index(pages({})) as running:
        assert get(f"{running.url}/files/{runfile.NAME}")
    assert {thread for thread in threading.enumerate() if thread.is_alive()} - before == set()
