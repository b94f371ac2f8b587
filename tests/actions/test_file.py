"""`file`: what is refused, what the node is told."""

import pytest

from stackplan.actions._target import target_query
from stackplan.actions.file import KIND
from stackplan.model.change import differences
from stackplan.model.diagnosis import Invalid
from stackplan.model.facts import Failed
from stackplan.model.kind import CannotAct
from stackplan.model.secret import Secret

PATH = "/etc/profile.d/cuda.sh"
PLACE = {"path": PATH, "user": "root", "folder": "/etc/profile.d", "folder_kind": "folder", "folder_owner": "root"}
MISSING = {**PLACE, "folder_writable": True, "kind": "missing"}
THERE = {**MISSING, "kind": "file", "size": 3, "mode": "0644", "owner": "root", "group": "root", "sha256": "a" * 64}


@pytest.fixture
def job(arguments, facts):
    def build(answer=MISSING, **values):
        kind = KIND.read(arguments(path=PATH, **values))
        return kind.job(facts(dict.fromkeys(kind.queries(), answer)))

    return build


def test_the_content_travels_in_the_arguments(job, secret):
    (task,) = job(content=secret, mode="0644", owner="root").stages
    assert task.kind == "file"
    assert task.arguments == {"path": PATH, "content": secret, "secret": True, "mode": "0644", "owner": "root"}
    assert task.display == f"write {PATH}, a secret, mode 0644, owner root"


def test_what_the_project_holds_is_content_by_then(job, arguments):
    (task,) = job(template="files/cuda.sh.j2", content="export A=1\n").stages
    assert task.arguments["content"] == "export A=1\n"
    assert KIND.read(arguments(path=PATH, source="files/cuda.sh")).describe() == f"write {PATH} from files/cuda.sh"
    refused = job(source="files/cuda.sh")
    assert isinstance(refused, CannotAct)
    assert "files/cuda.sh was not read" in refused.summary


@pytest.mark.parametrize(
    ("answer", "summary"),
    [
        ({**MISSING, "folder_kind": "missing"}, "the folder /etc/profile.d does not exist"),
        (
            {**MISSING, "folder_writable": False, "user": "ops"},
            "ops may not write into /etc/profile.d, which belongs to root",
        ),
        ({**MISSING, "kind": "folder"}, "is a folder; it is not replaced"),
        ({**MISSING, "kind": "other"}, "is no plain file; it is not replaced"),
        (
            Failed("Permission denied"),
            "it is not known what stands at /etc/profile.d/cuda.sh: Permission denied",
        ),
    ],
)
def test_a_place_that_cannot_take_it(job, answer, summary):
    refused = job(answer, content="x")
    assert isinstance(refused, CannotAct)
    assert summary in refused.summary


@pytest.mark.parametrize(
    ("values", "summary"),
    [
        ({"path": PATH}, "the file has no content"),
        ({"path": PATH, "template": "a", "source": "b"}, "two contents"),
        ({"path": "cuda.sh", "content": "x"}, "not a whole path"),
        ({"path": "/etc/", "content": "x"}, "names no file"),
        ({"path": PATH, "content": "x", "mode": "rw-r--r--"}, "not an octal mode"),
        ({"path": PATH, "content": "x", "mode": "0888"}, "not an octal mode"),
        ({"path": PATH, "content": "x" * (8 * 1024 * 1024 + 1)}, "larger than 8.0 MiB"),
    ],
)
def test_refused(arguments, values, summary):
    with pytest.raises(Invalid, match=summary):
        KIND.read(arguments(**values))


def test_a_rewritten_file_is_a_change_although_it_reads_alike(arguments, facts):
    kind = KIND.read(arguments(path=PATH, content="x"))
    query = target_query(PATH, follow=True)
    before, after = (kind.state(facts({query: {**THERE, "sha256": digest * 64}})) for digest in "ab")
    assert differences(before, before) == ()
    (change,) = differences(before, after)
    assert (change.kind, change.name) == ("file", PATH)
    assert "3 bytes, sha256 aaaaaaaaaaaa" in change.before
    assert kind.state(facts({query: MISSING})) == {}


def test_what_is_written_is_stated_without_being_written_down(arguments):
    made = KIND.read(arguments(path="~/a", content="hello\n", mode="0644", owner="ops"))
    (condition,) = made.implied()
    digest = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
    assert condition.kind == "file"
    assert condition.arguments.values == {"path": "~/a", "sha256": digest, "mode": "0644", "owner": "ops"}
    assert condition.arguments.place("mode") == made.arguments.place("mode")


def test_of_a_secret_not_even_the_digest_is_told(arguments):
    (condition,) = KIND.read(arguments(path="~/a", content=Secret("hello\n"))).implied()
    assert condition.arguments.values == {"path": "~/a"}


def test_a_change_of_a_secret_content_tells_neither_its_size_nor_its_digest(arguments, facts):
    about = {
        "kind": "file",
        "mode": "0644",
        "owner": "ops",
        "group": "ops",
        "size": 23,
        "sha256": "f0032ed94b7c" + "0" * 52,
    }
    told = {}
    for content in ("token=x", Secret("token=x")):
        kind = KIND.read(arguments(path="~/a", content=content))
        (held,) = kind.state(facts(dict.fromkeys(kind.queries(), about))).values()
        told[type(content)] = held.text
    assert told == {
        str: "mode 0644, ops:ops, 23 bytes, sha256 f0032ed94b7c",
        Secret: "mode 0644, ops:ops",
    }
