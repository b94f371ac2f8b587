"""What files, links, downloads and toolkits are foretold to be, against what the node's own tasks and queries make."""

import hashlib
import http.server
import os
import pwd
import threading

import pytest

from stackplan.actions import checkpoint, cuda_toolkit, download, file, symlink
from stackplan.actions._foretold import WILL_HOLD
from stackplan.actions._target import target_query
from stackplan.actions._text_diff import MOST_LINES, diff
from stackplan.model.change import Change, differences
from stackplan.model.facts import Facts, Failed, Known, Origin, Query, Unknown, to_keep
from stackplan.model.kind import CannotAct
from stackplan.node.context import Context
from stackplan.node.queries import file as file_query
from stackplan.node.queries import offered_file, target, toolkit_build
from stackplan.node.tasks import download as download_task
from stackplan.node.tasks import file as file_task
from stackplan.node.tasks import symlink as symlink_task

QUERIES = {"target": target, "file": file_query, "toolkit_build": toolkit_build, "offered_file": offered_file}
TASKS = {"file": file_task, "symlink": symlink_task, "download": download_task}


class Node:
    """A folder as a home, asked by the true queries and changed by the true tasks."""

    def __init__(self, home):
        self.home = home
        self.context = Context(environment={"HOME": str(home), "PATH": "/usr/bin:/bin"})
        self.answers = {}

    def ask(self, *queries):
        for query in queries:
            self.answers[query] = self.look(query)
        return Facts("n", Origin.LIVE, "", dict(self.answers))

    def look(self, query):
        return Known(QUERIES[query.kind].answer(dict(query.arguments), self.context))

    def perform(self, job):
        for stage in job.stages:
            assert TASKS[stage.kind].perform(dict(stage.arguments)) == 0


@pytest.fixture
def node(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    return Node(tmp_path)


def about(path, *, sha256=False, content=False):
    return Query("file", {"path": path, "sha256": sha256, "content": content})


def foretell(node, kind, *others):
    """Return the prediction on what the node is asked: by the action, by its forecast, and `others`."""
    facts = node.ask(*kind.queries(), *others)
    return kind.predict(node.ask(*kind.forecast(facts))), facts


def prove(node, kind, *others):
    """Hold a prediction against what the action then does: its changes and each answer that it foretells."""
    prediction, facts = foretell(node, kind, *others)
    node.perform(kind.job(facts))
    after = Facts("n", Origin.LIVE, "", {query: node.look(query) for query in node.answers})
    assert prediction.changes == differences(kind.state(facts), kind.state(after))
    for query, told in prediction.answers.items():
        if isinstance(told, Known):
            foretold = _foretold(told)
            assert foretold == {name: after.answers[query].value[name] for name in foretold}
    return prediction


def _foretold(answer):
    """Return an answer without what is not foretold: it stands there as null."""
    # What a file will hold is told where it is foretold alone.
    return {name: it for name, it in answer.value.items() if it is not None and name != WILL_HOLD}


BOTH = (about("~/a"), about("~/a", content=True))


@pytest.mark.parametrize("mode", [None, "0600", "755"])
@pytest.mark.parametrize("before", [None, b"one\ntwo\n", b"", b"one\nthree\n"])
def test_a_file(node, arguments, before, mode):
    if before is not None:
        (node.home / "a").write_bytes(before)
        (node.home / "a").chmod(0o644)
    given = {} if mode is None else {"mode": mode}
    kind = file.KIND.read(arguments(path="~/a", content="one\nthree\n", **given))
    prediction = prove(node, kind, *BOTH)
    assert bool(prediction.changes) is (before != b"one\nthree\n" or mode is not None)
    assert set(prediction.answers) == ({*BOTH, target_query("~/a", follow=True)} if prediction.changes else set())


def test_a_file_behind_a_link_is_the_one_that_is_written(node, arguments):
    (node.home / "end").write_text("old\n")
    (node.home / "a").symlink_to("end")
    kind = file.KIND.read(arguments(path="~/a", content="new\n"))
    prediction = prove(node, kind, about("~/a", content=True), about("~/end"), about(str(node.home / "end")))
    assert len(prediction.answers) == 4


def test_the_diff_of_a_file(node, arguments):
    (node.home / "a").write_text("one\ntwo\n")
    (node.home / "a").chmod(0o644)
    prediction, _ = foretell(node, file.KIND.read(arguments(path="~/a", content="one\n  three\n")))
    assert prediction.details == ("--- ~/a", "+++ ~/a", "@@ -1,2 +1,2 @@", " one", "-two", "+  three")
    new, _ = foretell(node, file.KIND.read(arguments(path="~/b", content="one\n", mode="0644")))
    assert new.details == ("--- /dev/null", "+++ ~/b", "@@ -0,0 +1 @@", "+one")


def test_what_not_everybody_may_read_is_neither_asked_nor_shown(node, arguments, secret):
    (node.home / "a").write_text("password\n")
    (node.home / "a").chmod(0o600)
    closed = file.KIND.read(arguments(path="~/a", content="new\n"))
    prediction, facts = foretell(node, closed)
    assert prediction.details == ("not everybody may read it, so its content is not shown",)
    assert closed.forecast(facts) == ()
    (node.home / "a").chmod(0o644)
    hidden = file.KIND.read(arguments(path="~/a", content=secret))
    prediction, facts = foretell(node, hidden)
    assert prediction.details == ("its content holds a secret, so it is not shown",)
    assert hidden.forecast(facts) == ()
    later_closed = file.KIND.read(arguments(path="~/a", content="new\n", mode="0600"))
    assert foretell(node, later_closed)[0].details == ("not everybody may read it, so its content is not shown",)
    (node.home / "a").chmod(0o644)
    shown = file.KIND.read(arguments(path="~/a", content="new\n"))
    assert "-password" in foretell(node, shown)[0].details, "the negative control"


def test_an_owner_is_foretold_by_name_and_not_guessed_by_number(facts, arguments):
    there = {"path": "/etc/a", "kind": "missing", "new_file": {"mode": "0644", "owner": "ops", "group": "ops"}}
    query = target_query("/etc/a", follow=True, owner="root")
    named = file.KIND.read(arguments(path="/etc/a", content="x", owner="root", mode="640"))
    (change,) = named.predict(facts({query: there})).changes
    assert change.after.startswith("mode 0640, root:ops, 1 bytes")
    numbered = file.KIND.read(arguments(path="/etc/a", content="x", owner="0"))
    query = target_query("/etc/a", follow=True, owner="0")
    assert numbered.predict(facts({query: there})) == Unknown("whose number 0 is, only the node can tell")


@pytest.mark.parametrize(
    ("there", "why"),
    [
        ({"kind": "folder"}, "what stands there is not known"),
        ({"kind": "missing", "new_file": {"mode": None, "owner": "o", "group": "g"}}, "which mode and owner"),
        ({"kind": "missing"}, "which mode and owner"),
        ({"kind": "file", "mode": "0644", "owner": "o", "group": "g", "size": 1, "sha256": None}, "cannot be read"),
        (Failed("Permission denied"), "what stands there is not known"),
    ],
)
def test_a_file_of_which_too_little_is_known(facts, arguments, there, why):
    answer = there if isinstance(there, Failed) else {"path": "/etc/a", **there}
    kind = file.KIND.read(arguments(path="/etc/a", content="x"))
    prediction = kind.predict(facts({target_query("/etc/a", follow=True): answer}))
    assert isinstance(prediction, Unknown)
    assert why in prediction.why


def test_what_is_written_elsewhere_is_left_alone(node, arguments):
    others = (about("~/ab"), about("~"), target_query("~/other", follow=True))
    prediction, _ = foretell(node, file.KIND.read(arguments(path="~/a", content="x")), *others, about("~/a/b"))
    assert not set(others) & set(prediction.answers)
    assert prediction.answers[about("~/a/b")] == Unknown("a file is written there")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (Known({"content": "a\n", "content_fault": None, "utf8": True}), b"a", "only the line breaks change"),
        (Known({"content": "a\0", "content_fault": None, "utf8": True}), b"abc", "binary, 3 bytes"),
        (Known({"content": "\ufffd", "content_fault": None, "utf8": False}), b"abc", "binary, 3 bytes"),
        (None, b"\xff\xfe", "binary, 2 bytes"),
        (
            Known({"content": None, "content_fault": "it is larger"}),
            b"abc",
            "its content now is not shown: it is larger",
        ),
        (Unknown("not recorded"), b"abc", "its content now is not known: not recorded"),
    ],
)
def test_what_no_diff_can_show_is_said(before, after, expected):
    assert diff("a", before, after) == (expected,)


def test_a_very_long_diff_is_cut():
    lines = diff("a", None, b"x\n" * 1000)
    assert (len(lines), lines[-1]) == (MOST_LINES + 1, f"… {1000 + 3 - MOST_LINES} more lines")


# ---- symlink


@pytest.mark.parametrize(("before", "goal"), [(None, "~/end"), ("other", "end"), ("end", "end")])
def test_a_link(node, arguments, before, goal):
    (node.home / "end").mkdir()
    if before:
        (node.home / "a").symlink_to(before)
    kind = symlink.KIND.read(arguments(path="~/a", target=goal))
    below = about("~/a/bin/nvcc")
    prediction = prove(node, kind, about("~/a"), below)
    assert bool(prediction.changes) is (before != "end")
    if prediction.changes:
        assert prediction.answers[about("~/a")].value["exists"] is None, "what the link leads to may come and go"
        assert isinstance(prediction.answers[below], Unknown)


def test_a_link_of_which_too_little_is_known(facts, arguments):
    kind = symlink.KIND.read(arguments(path="/a", target="~other/end"))
    answer = {"path": "/a", "kind": "missing", "home": "/home/ops"}
    assert isinstance(kind.predict(facts({target_query("/a", follow=False): answer})), Unknown)


# ---- download


@pytest.fixture
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    (folder / "a").write_bytes(b"payload")

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(folder))

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/a"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("mode", [None, "0755"])
@pytest.mark.parametrize("before", [None, b"other", b"payload"])
def test_a_download(node, arguments, served, before, mode):
    if before is not None:
        (node.home / "a").write_bytes(before)
    given = {} if mode is None else {"mode": mode}
    digest = hashlib.sha256(b"payload").hexdigest()
    kind = download.KIND.read(arguments(path="~/a", url=served, sha256=digest, **given))
    prediction, facts = foretell(node, kind, about("~/a", sha256=True), about("~/a", content=True))
    node.perform(kind.job(facts))
    after = Facts("n", Origin.LIVE, "", {query: node.look(query) for query in node.answers})
    observed = differences(kind.state(facts), kind.state(after))
    # The size of what is fetched is all that its digest does not tell.
    assert prediction.changes == tuple(_without_size(change, fetched=before != b"payload") for change in observed)
    if prediction.changes:
        assert prediction.answers[about("~/a", sha256=True)].value["sha256"] == digest
        assert isinstance(prediction.answers[about("~/a", content=True)], Unknown)


def test_a_file_that_nobody_gives_out_is_foretold_to_fail_as_it_does(node, arguments, served, capfd):
    read = arguments(path="~/a", url=f"{served}-gone", sha256="a" * 64)
    kind = download.KIND.read(read)
    prediction, facts = foretell(node, kind)
    (failure,) = prediction.failures
    assert (prediction.changes, failure.code) == ((), "SP232")
    assert failure.summary == f"The address of the file, {served}-gone, answered 404 Not Found."
    assert download_task.perform(dict(kind.job(facts).stages[0].arguments)) == 1
    assert "answers HTTP 404 File not found" in capfd.readouterr().out


def test_a_file_that_is_there_is_not_asked_for(node, arguments):
    (node.home / "a").write_bytes(b"payload")
    digest = hashlib.sha256(b"payload").hexdigest()
    kind = download.KIND.read(arguments(path="~/a", url="http://192.0.2.1/a", sha256=digest, mode="0600"))
    assert kind.forecast(node.ask(*kind.queries())) == ()


def _without_size(change, *, fetched):
    after = change.after.replace(", 7 bytes", "") if fetched else change.after
    return Change(change.kind, change.name, change.before, after)


def test_a_large_file_that_is_there_may_be_the_one(facts, arguments):
    kind = download.KIND.read(arguments(path="/a", url="http://x/a", sha256="a" * 64))
    new = {"mode": "0644", "owner": "o", "group": "g"}
    answer = {"path": "/a", "kind": "file", "sha256": None, "size": 1 << 33, "new_file": new}
    prediction = kind.predict(facts({target_query("/a", follow=True): answer}))
    assert prediction == Unknown("the file that is there is too large, or closed, to be hashed ahead")


# ---- cuda_toolkit, checkpoint

PREFIX = "/usr/local/cuda-13.0"
LINK = "/usr/local/cuda"
BUILD = Query("toolkit_build", {"prefix": PREFIX, "link": LINK})
NVCC = Query("nvcc", {"prefix": PREFIX})
LINKED = Query("nvcc", {"prefix": LINK})
ABSENT = {"path": f"{PREFIX}/bin/nvcc", "exists": False, "leads_to": None, "release": None, "version": None}


@pytest.fixture
def toolkit(arguments, facts):
    """Return the prediction for a runfile of CUDA 13.0.1 where this is there."""

    def predict(nvcc=ABSENT, *, version=None, others=(), **values):
        link = {"path": LINK, "kind": "link", "target": "cuda-12.8", "leads_to": "/usr/local/cuda-12.8"}
        build = {"prefix": PREFIX, "exists": version is not None, "version": version, "link": link}
        given = {"version": "13.0.1", "method": "runfile", "url": "http://x/a.run", "sha256": "a" * 64, **values}
        kind = cuda_toolkit.KIND.read(arguments(**given))
        offer = Query("offered_file", {"url": "http://x/a.run"})
        return kind.predict(facts({BUILD: build, NVCC: nvcc, offer: {"offered": True, "why": None}, **dict(others)}))

    return predict


def test_a_toolkit_where_there_was_none(toolkit):
    inside, beside = about(f"{PREFIX}/bin/ptxas"), about(f"{PREFIX}9")
    path = Query("nvcc", {"path": f"{PREFIX}/bin/nvcc"})
    others = {LINKED: {**ABSENT, "path": f"{LINK}/bin/nvcc"}, inside: {"exists": False}, beside: {"exists": False},
              path: ABSENT}  # fmt: skip
    prediction = toolkit(others=others.items())
    assert prediction.changes == (Change("toolkit", PREFIX, None, "13.0"),)
    told = prediction.answers
    assert (told[NVCC].value["exists"], told[NVCC].value["release"], told[NVCC].value["version"]) == (
        True,
        "13.0",
        None,
    )
    assert told[path] == told[NVCC]
    assert told[BUILD].value["version"] == "13.0.1"
    assert isinstance(told[inside], Unknown)
    assert beside not in told
    assert LINKED not in told, "the common link is left alone"


def test_a_toolkit_that_the_common_link_shall_lead_to(toolkit):
    prediction = toolkit(default=True, others={LINKED: ABSENT}.items())
    assert prediction.changes == (
        Change("link", LINK, "/usr/local/cuda-12.8", PREFIX),
        Change("toolkit", PREFIX, None, "13.0"),
    )
    assert prediction.answers[LINKED].value["release"] == "13.0"


def test_another_toolkit_in_its_place(toolkit):
    old = {**ABSENT, "exists": True, "release": "13.0", "version": "13.0.48"}
    assert toolkit(old, version="13.0.0").changes == (Change("toolkit", PREFIX, "13.0", "13.0"),)


@pytest.mark.parametrize(
    ("nvcc", "values", "why"),
    [
        ({**ABSENT, "exists": True, "release": "13.0", "version": "13.0.88"}, {}, "is there already"),
        (Failed("nvcc died"), {}, "what is installed there is not known"),
    ],
)
def test_a_toolkit_of_which_nothing_is_foretold(toolkit, nvcc, values, why):
    prediction = toolkit(nvcc, version="13.0.1", **values)
    assert isinstance(prediction, Unknown)
    assert why in prediction.why


def test_a_checkpoint_changes_nothing(arguments, facts):
    prediction = checkpoint.KIND.read(arguments()).predict(facts({}))
    assert (prediction.changes, prediction.answers) == ((), {})


def test_what_a_new_file_gets_is_told_as_it_comes_about(node):
    made = node.home / "made"
    made.write_text("")
    told = node.look(target_query("~/none", follow=True)).value
    status = made.stat()
    new = told["new_file"]
    assert (new["mode"], new["uid"], new["gid"]) == (f"{status.st_mode & 0o7777:04o}", status.st_uid, status.st_gid)
    assert (new["owner"], new["group"], told["home"]) == (made.owner(), made.group(), str(node.home))


def test_a_kernel_that_tells_no_umask(node, arguments, monkeypatch):
    monkeypatch.setattr(target, "STATUS", str(node.home / "none"))
    kind = file.KIND.read(arguments(path="~/a", content="x"))
    facts = node.ask(*kind.queries())
    assert facts.answers[kind.queries()[0]].value["new_file"]["mode"] is None
    assert isinstance(kind.predict(facts), Unknown)
    assert not isinstance(kind.job(facts), CannotAct)


# ---- one place behind two names, and what others read of what is written


def test_a_file_is_foretold_under_every_name_that_leads_to_it(node, arguments):
    (node.home / "d").mkdir()
    (node.home / "l").symlink_to("d")
    (node.home / "n").symlink_to("l/m")
    kind = file.KIND.read(arguments(path="~/d/m", content="new\n", mode="0644"))
    names = [about("~/l/m", content=True), about("~/n"), about("~/d/m"), target_query("~/l/m", follow=True)]
    prediction = prove(node, kind, *names)
    assert set(names) <= set(prediction.answers)
    assert {prediction.answers[it].value["sha256"] for it in names} == {hashlib.sha256(b"new\n").hexdigest()}


def test_a_link_that_changes_takes_along_what_goes_through_it(node, arguments):
    (node.home / "d").mkdir()
    (node.home / "l").symlink_to("d")
    (node.home / "other").symlink_to("l")
    (node.home / "d" / "m").write_text("x")
    kind = symlink.KIND.read(arguments(path="~/l", target="elsewhere"))
    through = about("~/other/m")
    prediction, _ = foretell(node, kind, through)
    assert isinstance(prediction.answers[through], Unknown)


def test_the_link_by_which_a_file_is_written_stays(node, arguments):
    (node.home / "a").symlink_to("end")
    link = target_query("~/a", follow=False)
    assert prove(node, file.KIND.read(arguments(path="~/a", content="x")), link).answers[link].value["kind"] == "link"


def test_what_a_file_will_hold_is_told_to_those_that_read_it(node, arguments, secret):
    (node.home / "wheels").mkdir()
    folder = target_query("~/wheels", follow=True)
    reader = target_query("~/wheels/r.txt", follow=True)
    for content, text in (("aa<2\n", "aa<2\n"), (secret, None)):
        kind = file.KIND.read(arguments(path="~/wheels/r.txt", content=content))
        answers = foretell(node, kind, folder, reader)[0].answers
        assert answers[reader].value[WILL_HOLD] == text
        assert answers[folder].value[WILL_HOLD] is None, "what is in the folder is not what it was"


def test_the_diff_of_a_file_that_an_earlier_step_writes(node, arguments):
    (node.home / "a").write_text("live\n")
    (node.home / "a").chmod(0o644)
    first, facts = foretell(node, file.KIND.read(arguments(path="~/a", content="first\n")))
    second = file.KIND.read(arguments(path="~/a", content="second\n"))
    foreseen = facts.foreseen(first.answers)
    assert second.forecast(foreseen) == ()
    assert second.predict(foreseen).details[-2:] == ("-first", "+second")


# ---- whose a file will be


def test_a_user_that_the_node_does_not_know_is_told_before_anything_runs(node, arguments):
    for key, word in (("owner", "user"), ("group", "group")):
        kind = file.KIND.read(arguments(path="~/a", content="x", **{key: "nobody-of-that-name"}))
        refused = kind.job(node.ask(*kind.queries()))
        assert isinstance(refused, CannotAct)
        assert refused.summary == f"there is no {word} nobody-of-that-name on the node"
        assert f"Correct `{key}` at" in refused.remedy


def test_a_number_is_told_by_the_name_that_it_has(node, arguments):
    user = pwd.getpwuid(os.geteuid()).pw_name
    kind = file.KIND.read(arguments(path="~/a", content="x", owner=str(os.geteuid())))
    assert f", {user}:" in prove(node, kind).changes[0].after


def test_who_may_not_give_files_away_is_told(node, arguments):
    kind = file.KIND.read(arguments(path="~/a", content="x", owner="root"))
    (query,) = kind.queries()
    told = node.look(query).value
    facts = Facts("n", Origin.LIVE, "", {query: Known({**told, "may_give": False})})
    refused = kind.job(facts)
    assert isinstance(refused, CannotAct)
    assert refused.summary.startswith("only root can give ~/a to root:")
    assert "become: true" in refused.remedy


def test_a_file_that_stays_another_users_needs_root(node, arguments, monkeypatch):
    (node.home / "a").write_text("x")
    kind = file.KIND.read(arguments(path="~/a", content="new"))
    assert node.look(kind.queries()[0]).value["may_give"] is True, "the negative control"
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    assert node.look(kind.queries()[0]).value["may_give"] is False


def test_of_a_file_that_not_everybody_may_read_no_digest_is_kept(node, arguments):
    (node.home / "a").write_text("1234")
    (node.home / "a").chmod(0o600)
    query = target_query("~/a", follow=True)
    digest = hashlib.sha256(b"1234").hexdigest()
    for asked in (query, about("~/a", sha256=True, content=True)):
        answer = node.look(asked)
        assert answer.value["sha256"] == digest, "it may be used"
        assert digest not in str(to_keep(answer))
        assert "1234'" not in str(to_keep(answer))
    kind = file.KIND.read(arguments(path="~/a", content="12345", mode="0600"))
    (change,) = foretell(node, kind)[0].changes
    assert "sha256" not in str(change)
