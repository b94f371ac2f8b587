"""Runs on this machine as the node, and all that can be read of them afterwards: runs, show, report, history."""

import json
import os
import re
import stat
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from stackplan.cli import failure
from stackplan.cli.main import run
from stackplan.engine.journal import Journal, journal_path
from stackplan.language import schema
from stackplan.model.event import RunStarted
from stackplan.model.report import PlaybookIdentity
from tests import command_line

ROOT = Path(__file__).parents[2]
SECRET = "hunter2-correct-horse"
PLAYBOOK = """\
stackplan: 1
name: greet
nodes: all
vars:
  greeting: hello
  token: {secret: true, env: TOKEN}
steps:
  - id: greet
    why: people want to be greeted
    run:
      script: |
        echo $TOKEN; echo '<script>alert(1)</script>'; printf 'a\\342\\200\\256b\\n'
        echo {{ greeting }} > ~/motd
    env: {TOKEN: "{{ token }}"}
    postconditions:
      - file: {path: ~/motd, content: {contains: "{{ greeting }}"}}
  - id: bow
    run: {script: "seq 1 100000"}
    postconditions:
      - file: {path: ~/bow}
"""


class Kept:
    """A home and a state folder with two runs: the first went through, the second stopped at `bow`."""

    def __init__(self, folder):
        self.folder = folder / "project"
        self.home = folder / "home"
        self.state = folder / "state"
        (self.folder / ".git").mkdir(parents=True)
        self.home.mkdir()
        (self.folder / "greet.yaml").write_text(PLAYBOOK)
        kept = {name: value for name, value in os.environ.items() if name in {"PATH", "LD_LIBRARY_PATH"}}
        self.environment = {**kept, "HOME": str(self.home), "STACKPLAN_STATE": str(self.state),
                            "PYTHONPATH": str(ROOT), "TOKEN": SECRET, "LC_ALL": "C.UTF-8"}  # fmt: skip

    def call(self, *words):
        return command_line.run(*words, environment=self.environment, folder=self.folder)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    kept = Kept(tmp_path_factory.mktemp("kept"))
    through = kept.call("apply", "greet.yaml", "--local", "--yes", "--step", "greet")
    assert through.returncode == 0, through.stderr
    kept.stopped = kept.call("apply", "greet.yaml", "--local", "--yes", "--format", "json")
    assert kept.stopped.returncode == 3, kept.stopped.stderr
    kept.second, kept.first = sorted((it.name for it in (kept.state / "runs").iterdir()), reverse=True)
    if kept.second != json.loads(kept.stopped.stdout)["run"]:  # both within one second
        kept.first, kept.second = kept.second, kept.first
    return kept


@pytest.fixture
def here(kept, monkeypatch, capsys):
    """Call a command line in this process and return its status, standard output and standard error."""
    for name, value in kept.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.chdir(kept.folder)

    def call(*words):
        status = failure.guard(lambda shown: run(list(words), shown))
        said = capsys.readouterr()
        return status, said.out, said.err

    return call


def valid(name, text):
    document = json.loads(text)
    jsonschema.Draft202012Validator(schema.bundled(name)).validate(document)
    return document


def test_runs_lists_what_was_run(kept, here):
    status, out, _ = here("runs")
    assert status == 0
    head, *rows = out.splitlines()
    assert head.split() == ["run", "started", "(UTC)", "playbook", "nodes", "by", "outcome"]
    by_run = {row.split()[0]: row for row in rows}
    assert by_run[kept.first].endswith("done and proven")
    assert by_run[kept.second].endswith("stopped at bow")


def test_runs_as_json_is_what_its_schema_says(kept, here):
    document = valid("runs", here("runs", "--format", "json")[1])
    found = {it["run"]: it for it in document["runs"]}
    assert (found[kept.second]["outcome"], found[kept.second]["stopped_at"]) == ("failed", ["bow"])
    assert found[kept.first]["nodes"] == ["localhost"]


@pytest.mark.parametrize(("pattern", "count"), [("localhost", 2), ("local*", 2), ("gpu-01", 0)])
def test_runs_of_a_node_alone(here, pattern, count):
    assert len(json.loads(here("runs", "-n", pattern, "--format", "json")[1])["runs"]) == count


def test_runs_beyond_the_last_ones_are_counted(here):
    status, out, _ = here("runs", "--last", "1")
    assert (status, out.splitlines()[-1]) == (0, "… and 1 older run; `--all` shows them.")
    assert "older" not in here("runs", "--last", "1", "--all")[1]


def test_without_any_run_there_is_none_to_show(here, monkeypatch, tmp_path):
    monkeypatch.setenv("STACKPLAN_STATE", str(tmp_path / "empty"))
    assert here("runs")[:2] == (0, "There is no run to show.\n")
    assert valid("runs", here("runs", "--format", "json")[1])["runs"] == []
    status, _, err = here("show", "last")
    assert (status, "there is no run in" in err) == (2, True)


def test_a_run_that_goes_on_and_one_that_was_cut_off_and_a_broken_one(here, monkeypatch, tmp_path):
    monkeypatch.setenv("STACKPLAN_STATE", str(tmp_path))
    journals = [Journal(journal_path(tmp_path, f"20261201T03102{number}Z-4f2a")) for number in range(2)]
    for journal in journals:
        identity = PlaybookIdentity(name="p", path="p.yaml", sha256="0" * 64)
        journal.append(RunStarted(run=journal.path.parent.name, command="apply", playbook=identity, nodes=("a",),
                                  steps=("s",), time="2026-12-01T03:10:22Z", operator="ops"))  # fmt: skip
    journals[0].close()
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / "events.jsonl").write_bytes(b"\x1b[2J\n")
    status, out, _ = here("runs")
    assert status == 0
    out = " ".join(out.split())
    assert "unreadable: its journal is damaged" in out
    assert "going on" in out
    assert "ops ended without a word `stackplan resume 20261201T031020Z-4f2a` takes up a run" in out
    states = {it["state"] for it in valid("runs", here("runs", "--format", "json")[1])["runs"]}
    assert states == {"unreadable", "running", "cut-off"}
    status, out, err = here("show", "20261201T031021Z")
    assert (status, "its turn is still to come" in out, "--follow" in err) == (0, True, True)
    status, out, _ = here("show", "20261201T031020Z")
    assert (status, "the rollout ended before its turn" in out) == (0, True)
    status, _, err = here("show", "broken")
    assert (status, "the journal is damaged" in err) == (2, True)
    journals[1].close()


def test_show_tells_what_apply_told(kept, here):
    status, out, _ = here("show", kept.second, "--format", "json")
    assert (status, json.loads(out)) == (0, json.loads(kept.stopped.stdout))
    document = valid("report", out)
    assert document["variables"] == {"greeting": "hello", "token": "***"}
    status, out, _ = here("show", kept.second[-8:])
    assert (status, "bow     action" in out or "bow     no-op" in out) == (0, True)
    assert here("show", kept.second, "--format", "markdown")[1].startswith("### stackplan apply: `greet`")


def test_show_of_a_word_that_is_no_run(here):
    status, out, err = here("show", "zzz")
    assert (status, out) == (2, "")
    assert "there is no run `zzz`" in err


def test_output_of_an_action_as_kept(kept, here):
    status, out, err = here("show", kept.first, "--output", "greet")
    assert (status, out) == (0, "***\n<script>alert(1)</script>\na\u202eb\n")
    assert f"spool/{kept.first}.localhost.greet.1" in err
    folder = kept.home / ".local/state/stackplan" / os.uname().nodename / "spool" / f"{kept.first}.localhost.greet.1"
    assert folder.is_dir()


def test_output_that_was_too_much_has_its_head_and_its_tail(kept, here):
    status, out, _ = here("show", kept.second, "--node", "localhost", "--step", "bow")
    lines = out.splitlines()
    assert (status, lines[0], lines[-1]) == (0, "1", "100000")
    assert lines.count("[stackplan: here the middle of the output is not in the journal]") == 1
    assert len(lines) < 100_000


def test_output_of_what_did_not_run(kept, here):
    status, _, err = here("show", kept.second, "--output", "greet")
    assert (status, "no action of a step `greet` ran" in err) == (2, True)
    status, _, err = here("show", kept.second, "--node", "localhost")
    assert (status, "`--node` goes with `--output STEP`" in err) == (2, True)


def test_report_writes_a_page_of_its_owner_alone(kept, here, tmp_path):
    page = tmp_path / "page.html"
    status, out, err = here("report", kept.second, "-o", str(page))
    assert (status, out, err) == (0, "", f"Wrote {page}\n")
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [page]
    text = page.read_text("utf-8")
    ET.fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    assert "stopped at bow" in text


def test_report_masks_secrets_and_what_is_hostile(kept, here):
    status, page, _ = here("report", kept.first)
    assert status == 0
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "\u202e" not in page


def test_report_as_junit(kept, here):
    status, out, _ = here("report", kept.second, "--format", "junit")
    suites = ET.fromstring(out)
    assert (status, suites.get("tests"), suites.get("failures")) == (0, "2", "1")


def test_a_page_that_cannot_be_written_says_so(kept, here, tmp_path):
    status, _, err = here("report", kept.first, "-o", str(tmp_path / "none" / "page.html"))
    assert (status, "cannot write" in err, "No such file" in err) == (2, True, True)


def test_history_is_what_the_node_remembers(kept, here):
    status, out, _ = here("history", "--local", "--format", "json")
    (node,) = valid("history", out)["nodes"]
    latest, first = node["runs"]
    assert (status, latest["run"], first["run"]) == (0, kept.second, kept.first)
    assert (latest["outcome"], latest["stopped_at"]) == ("failed", "bow")
    assert latest["steps"] == {"greet": "satisfied", "bow": "failed"}
    assert first["steps"] == {"greet": "changed"}
    assert first["playbook"]["name"] == "greet"
    status, out, _ = here("history", "--local", "--last", "1")
    assert (status, "… and 1 older run; `--all` shows them." in out) == (0, True)
    assert "older" not in here("history", "--local", "--all")[1]


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        ((), 2, "no node is named"),
        (("--local", "-n", "x"), 2, "leave `-n` and `-i` away"),
        (("-n", "ops@127.0.0.1:1"), 4, "cannot be reached"),
    ],
)
def test_history_of_what_cannot_be_asked(here, words, status, told):
    found, out, err = here("history", *words)
    assert (found, told in out + err) == (status, True)


def test_history_takes_patterns_of_an_inventory(kept, here):
    (kept.folder / "inventory.yaml").write_text(
        "stackplan: 1\ngroups:\n  gpus:\n    nodes:\n"
        "      gpu-01: {connection: local}\n      gpu-02: {connection: local}\n"
    )
    try:
        for words in (("-n", "gpu-*"), ("-n", "gpus"), ("-i", "inventory.yaml"), ("-n", "gpu-01", "-n", "gpu-02")):
            found = valid("history", here("history", *words, "--format", "json")[1])
            assert [it["node"] for it in found["nodes"]] == ["gpu-01", "gpu-02"]
            assert found["nodes"][0]["runs"][0]["node"] == "localhost", "the same machine under another name"
        assert "(as localhost)" in here("history", "-n", "gpu-01")[1]
        status, _, err = here("history", "-n", "gpu-1")
        assert (status, "did you mean `gpu-01`" in err) == (2, True)
    finally:
        (kept.folder / "inventory.yaml").unlink()


def test_every_line_of_a_journal_is_what_its_schema_says(kept):
    validator = jsonschema.Draft202012Validator(schema.bundled("events"))
    for path in kept.state.rglob("events.jsonl"):
        lines = path.read_text("ascii").splitlines()
        assert len(lines) > 6
        for line in lines:
            validator.validate(json.loads(line))


def test_the_secret_is_nowhere(kept, here):
    spoken = [here(*words)[1] for words in (
        ("runs",), ("show", kept.first), ("show", kept.first, "--output", "greet"), ("report", kept.first),
        ("report", kept.first, "--format", "junit"), ("history", "--local", "--format", "json"),
    )]  # fmt: skip
    files = [path for folder in (kept.state, kept.home) for path in folder.rglob("*") if path.is_file()]
    assert any(path.name == "history.jsonl" for path in files)
    written = [path.read_text("utf-8", "replace") for path in files]
    assert all(re.search(SECRET, text) is None for text in (*spoken, *written))
    assert any("***" in text for text in spoken)
