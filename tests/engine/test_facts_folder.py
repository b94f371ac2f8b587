"""A folder of recorded facts: whatever lies in it is named and never waited for, and doubts are notes."""

import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackplan.engine.facts_file import FORMAT
from stackplan.engine.facts_folder import LARGEST_BYTES, read_folder, read_recorded, remarks
from stackplan.model.diagnosis import Invalid

DIGEST = "a" * 64


def facts(node, **more):
    query = {"kind": "gpus", "arguments": {}, "user": None}
    return {
        "format": FORMAT,
        "node": node,
        "taken": "2026-12-01T00:00:00Z",
        "answers": [{"query": query, "answer": {"known": {"gpus": [node]}}}],
        "stackplan": "0.2.0",
        "playbook_sha256": DIGEST,
        **more,
    }


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "gpu-01.json").write_text(json.dumps(facts("gpu-01")))
    return tmp_path


def too_large(path):
    with path.open("wb") as file:
        file.truncate(LARGEST_BYTES + 1)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (os.mkfifo, "it is no file"),
        (lambda path: path.mkdir(), "Is a directory"),
        (lambda path: path.symlink_to("nowhere"), "No such file or directory"),
        (lambda path: path.symlink_to("/dev/zero"), "it is no file"),
        (lambda path: path.write_bytes(b"\xff\xfe\x00\x80"), "these are no recorded facts"),
        (lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n\xff"), "these are no recorded facts"),
        (lambda path: path.write_bytes(b""), "these are no recorded facts"),
        (lambda path: path.write_bytes(b"[" * 100_000), "nested too deeply"),
        (lambda path: path.write_text(json.dumps(facts("gpu-01"))), "two files hold facts of gpu-01"),
        (too_large, "it is larger than"),
    ],
    ids=["pipe", "folder", "dangling", "device", "bytes", "picture", "empty", "deep", "twice", "large"],
)
def test_a_file_that_is_no_recording_is_an_error_with_its_name(folder, make, said):
    make(folder / "gpu-02.json")
    with pytest.raises(Invalid, match=said) as caught:
        read_folder(folder)
    (diagnosis,) = caught.value.diagnoses
    assert "gpu-02.json" in f"{diagnosis.at} {diagnosis.observed}"


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = ("format", "node", "taken", "answers", "stackplan", "playbook_sha256")


@settings(max_examples=200, deadline=None)
@given(key=st.sampled_from(KEYS), inner=st.sampled_from(["", "query", "answer"]), value=ODD)
def test_facts_with_anything_in_the_place_of_a_field_are_read_or_refused(tmp_path_factory, key, inner, value):
    told = facts("gpu-01", stackplan="0.1.0", playbook_sha256=DIGEST)
    if inner:
        told["answers"][0][inner] = value
    else:
        told[key] = value
    path = tmp_path_factory.getbasetemp() / "odd"
    path.mkdir(exist_ok=True)
    (path / "gpu-01.json").write_text(json.dumps(told))
    said = ""
    found = {}
    try:
        found = read_recorded(path)
    except Invalid as invalid:
        said = str(invalid)
    assert said.startswith("these are no recorded facts") or [type(node) for node in found] == [str]


def test_answers_of_nodes_share_the_parts_that_are_alike(folder):
    for name in ("gpu-02", "gpu-03"):
        told = facts(name)
        told["answers"][0]["answer"] = {"known": {"path": f"/home/{name}", "gpus": [1, 2, {"three": 3.0}]}}
        (folder / f"{name}.json").write_text(json.dumps(told))
    found = read_folder(folder)
    (first,), (second,) = (found[name].answers.values() for name in ("gpu-02", "gpu-03"))
    assert first.value["path"] != second.value["path"]
    assert first.value["gpus"] is second.value["gpus"]


def test_what_python_calls_equal_is_not_shared(folder):
    for name, value in (("gpu-02", [1]), ("gpu-03", [True]), ("gpu-04", [1.0])):
        told = facts(name)
        told["answers"][0]["answer"] = {"known": {"gpus": value}}
        (folder / f"{name}.json").write_text(json.dumps(told))
    found = read_folder(folder)
    assert [repr(next(iter(found[f"gpu-0{it}"].answers.values())).value["gpus"]) for it in (2, 3, 4)] == [
        "[1]",
        "[True]",
        "[1.0]",
    ]


def said(folder, nodes, *, narrowed=False):
    recorded = read_recorded(folder)
    return [it.summary for it in remarks(recorded, nodes, DIGEST, "0.2.0", narrowed=narrowed)]


def test_facts_that_fit_are_not_remarked_upon(folder):
    assert said(folder, ["gpu-01"]) == []


@pytest.mark.parametrize("key", ["stackplan", "playbook_sha256"])
def test_facts_that_do_not_say_how_they_came_about_are_remarked_upon(folder, key):
    (folder / "gpu-01.json").write_text(json.dumps(facts("gpu-01", **{key: None})))
    (note,) = said(folder, ["gpu-01"])
    assert note.startswith("the facts of gpu-01 do not say for which playbook")


@pytest.mark.parametrize(
    ("key", "junk", "word"),
    [
        ("stackplan", [1], "`stackplan` is no version"),
        ("stackplan", " ", "`stackplan` is no version"),
        ("playbook_sha256", {"a": []}, "`playbook_sha256` is no digest"),
        ("playbook_sha256", "abc", "`playbook_sha256` is no digest"),
        ("taken", "yesterday", "`taken` is no time"),
    ],
)
def test_junk_in_what_facts_say_of_themselves_is_an_error(folder, key, junk, word):
    (folder / "gpu-01.json").write_text(json.dumps(facts("gpu-01", **{key: junk})))
    with pytest.raises(Invalid, match=word):
        read_recorded(folder)


def test_a_key_that_stands_twice_is_refused(folder):
    text = json.dumps(facts("gpu-01"))
    (folder / "gpu-01.json").write_text(text.replace("{", '{"answers": [], ', 1))
    with pytest.raises(Invalid, match='the key "answers" stands twice in one object'):
        read_recorded(folder)


def test_facts_of_many_other_nodes_are_one_note(folder):
    for number in range(2, 9):
        (folder / f"gpu-0{number}.json").write_text(json.dumps(facts(f"gpu-0{number}")))
    others = "facts of gpu-02, gpu-03, gpu-04, gpu-05 and 3 more nodes are recorded, and not planned here"
    assert said(folder, ["gpu-01"]) == [others]
    assert said(folder, ["gpu-01"], narrowed=True) == []
