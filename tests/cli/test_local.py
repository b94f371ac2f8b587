"""From end to end on this machine as the node: lint, plan, apply, verify, facts, with a real node program."""

import functools
import json
from pathlib import Path

import jsonschema
import pytest

from stackplan.cli import failure
from stackplan.cli.main import run

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "report.v1.json").read_text(encoding="utf-8"))
PLAYBOOK = """\
stackplan: 1
name: motd
nodes: all
vars:
  greeting: hello
steps:
  - id: greet
    why: people want to be greeted
    file: {path: ~/motd, content: "{{ greeting }}\\n", mode: 0644}
    postconditions:
      - file: {path: ~/motd, mode: 0644, content: {contains: "{{ greeting }}"}}
  - id: bow
    file: {path: ~/bow, content: "bowed\\n"}
    postconditions:
      - file: {path: ~/bow}
"""
BROKEN = PLAYBOOK.replace("content: {contains: ", "content: {equals: farewell, contains: ", 1)


@pytest.fixture
def playbook(project):
    path = project / "motd.yaml"
    path.write_text(PLAYBOOK)
    return path


@pytest.fixture
def here(project, monkeypatch, capsys, environment):
    """Run a command line in this process, for what ends before a node is asked."""
    monkeypatch.chdir(project)
    monkeypatch.setenv("STACKPLAN_STATE", environment["STACKPLAN_STATE"])

    def call(*words):
        status = failure.guard(lambda shown: run(list(words), shown))
        said = capsys.readouterr()
        return status, said.out, said.err

    return call


@pytest.fixture
def home(environment):
    return Path(environment["HOME"])


def report(ended):
    document = json.loads(ended.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    return document


def outcomes(document):
    (node,) = document["nodes"]
    return [step["outcome"] for step in node["steps"]]


def test_the_whole_way(stackplan, playbook, home):
    stackplan = functools.partial(stackplan, anew=True)
    ended = stackplan("lint", "motd.yaml")
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr

    ended = stackplan("plan", "motd.yaml", "--local", "--format", "json")
    assert ended.returncode == 0, ended.stderr
    assert outcomes(report(ended)) == ["would-change", "would-change"]
    assert not (home / "motd").exists(), "a plan changes nothing"

    ended = stackplan("verify", "motd.yaml", "--local", "--format", "json")
    assert ended.returncode == 3, ended.stderr
    assert outcomes(report(ended)) == ["not-held", "not-held"]

    ended = stackplan("apply", "motd.yaml", "--local", "--yes", "--format", "json")
    assert ended.returncode == 0, ended.stderr
    assert outcomes(report(ended)) == ["changed", "changed"]
    assert (home / "motd").read_text() == "hello\n"
    assert (home / "motd").stat().st_mode & 0o777 == 0o644

    ended = stackplan("apply", "motd.yaml", "--local", "--yes", "--format", "json")
    assert ended.returncode == 0, ended.stderr
    assert outcomes(report(ended)) == ["satisfied", "satisfied"]

    ended = stackplan("verify", "motd.yaml", "--local")
    assert ended.returncode == 0, ended.stderr
    assert "Proven on 1 node" in ended.stdout


def test_a_condition_that_does_not_hold_stops_and_says_where(stackplan, project, home):
    (project / "motd.yaml").write_text(BROKEN)
    ended = stackplan("apply", "motd.yaml", "--local", "--yes", "--format", "json")
    assert ended.returncode == 3, ended.stderr
    document = report(ended)
    (node,) = document["nodes"]
    assert (node["stopped_at"], node["reason"]) == ("greet", "postcondition")
    assert outcomes(document) == ["failed", "not-reached"]
    assert node["steps"][0]["conditions"][0]["location"].startswith("motd.yaml:11:")
    assert not (home / "bow").exists(), "nothing after it ran"

    ended = stackplan("apply", "motd.yaml", "--local", "--yes")
    assert ended.returncode == 3
    assert "1 of 1 node stopped at greet. Nothing after it ran." in ended.stdout


def test_without_a_terminal_apply_wants_yes_and_does_nothing(stackplan, playbook, home):
    ended = stackplan("apply", "motd.yaml", "--local")
    assert ended.returncode == 2
    assert "--yes" in ended.stderr
    assert not (home / "motd").exists()


def test_variables_and_steps_from_the_command_line(stackplan, playbook, home, project):
    (project / "more.yaml").write_text("greeting: hey\n")
    ended = stackplan("apply", "motd.yaml", "--local", "--yes", "--step", "greet", "--vars", "more.yaml")
    assert ended.returncode == 0, ended.stderr
    assert (home / "motd").read_text() == "hey\n"
    assert not (home / "bow").exists()
    ended = stackplan("apply", "motd.yaml", "--local", "--yes", "--from", "bow", "--var", "greeting=hi")
    assert ended.returncode == 0, ended.stderr
    assert (home / "motd").read_text() == "hey\n"
    assert (home / "bow").exists()


@pytest.mark.parametrize("command", ["plan", "apply", "verify"])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--var", "greting=hi"], "did you mean `greeting`"),
        (["--vars", "nowhere.yaml"], "nowhere.yaml"),
        (["-i", "nowhere.yaml"], "cannot be used together"),
        (["-n", "gpu-01"], "cannot be used together"),
        (["-l", "gpu-*"], "no node or group matches `gpu-*`"),
        (["--parallel", "0"], "0 is not in the range"),
    ],
)
def test_wrong_flags_are_exit_status_2(here, playbook, command, arguments, said):
    yes = ["--yes"] if command == "apply" else []
    status, _, err = here(command, "motd.yaml", "--local", *yes, *arguments)
    assert status == 2
    assert said in err


@pytest.mark.parametrize("command", ["plan", "apply"])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--step", "great"], "did you mean `greet`"), (["--step", "greet", "--from", "bow"], "cannot be used together")],
)
def test_wrong_steps_are_exit_status_2(here, playbook, command, arguments, said):
    yes = ["--yes"] if command == "apply" else []
    status, _, err = here(command, "motd.yaml", "--local", *yes, *arguments)
    assert status == 2
    assert said in err


def test_no_inventory_is_said_with_the_ways_out(here, playbook):
    status, out, err = here("plan", "motd.yaml")
    assert (status, out) == (2, "")
    assert "there is no inventory" in err
    assert "--local" in err


def test_lint_names_every_mistake_with_its_place(here, project):
    wrong = PLAYBOOK.replace("name: motd", "nmae: motd").replace("mode: 0644, content: {", "mood: 0644, content: {")
    wrong = (
        wrong.replace("id: bow", "id: greet").replace("why:", "whi:").replace("file: {path: ~/bow}", "fil: {path: x}")
    )
    (project / "motd.yaml").write_text(wrong)
    status, out, err = here("lint", "motd.yaml")
    assert status == 2
    assert len([line for line in out.splitlines() if line.startswith("motd.yaml:")]) == 5
    assert err == "5 problems in 1 playbook.\n"
    status, out, _ = here("lint", "motd.yaml", "--format", "json")
    assert status == 2
    assert [it["location"].split(":")[0] for it in json.loads(out)["diagnoses"]] == ["motd.yaml"] * 5


def test_lint_reads_arguments_that_no_template_will_change_as_the_kinds_do(here, project):
    (project / "motd.yaml").write_text(
        "stackplan: 1\nnodes: all\nsteps:\n"
        "  - id: greet\n"
        '    file: {path: ~/motd, content: hello, mode: "999"}\n'
        "    postconditions:\n"
        '      - any: [{package: {venv: ~/env, name: torch, version: ">>1"}}, {file: {path: "{{ later }}"}}]\n'
    )
    status, out, _ = here("lint", "motd.yaml", "--format", "json")
    assert status == 2
    told = [(it["location"], it["summary"]) for it in json.loads(out)["diagnoses"]]
    assert told == [
        ("motd.yaml:5:48", "`mode` is not an octal mode"),
        ("motd.yaml:7:61", "`version` is not a version specifier such as >=2.11.0.dev0"),
    ]


def test_a_playbook_that_is_wrong_gives_a_document_of_diagnoses(here, project):
    (project / "motd.yaml").write_text("stackplan: 1\nsteps: []\n")
    status, out, err = here("plan", "motd.yaml", "--local", "--format", "json")
    assert status == 2
    assert json.loads(out)["format"] == "stackplan.diagnoses/1"
    assert "motd.yaml:" in err


def test_a_node_that_cannot_be_reached_is_in_the_document(stackplan, playbook, project):
    (project / "inventory.yaml").write_text(
        "stackplan: 1\ngroups:\n  all-of-them:\n    nodes:\n"
        "      gpu-01: {connection: command, command: [/nonexistent/kubectl]}\n"
    )
    for command in (["plan"], ["verify"], ["apply", "--yes"]):
        ended = stackplan(*command, "motd.yaml", "--format", "json")
        assert ended.returncode == 4, ended.stderr
        (node,) = report(ended)["nodes"]
        assert node["outcome"] == "unreachable"
        assert node["message"]


def test_facts_are_recorded(stackplan, playbook, project):
    ended = stackplan("facts", "motd.yaml", "--local", "-o", "facts")
    assert ended.returncode == 0, ended.stderr
    (recorded,) = (project / "facts").glob("*.json")
    assert recorded.stat().st_mode & 0o777 == 0o600
    assert "motd" in recorded.read_text()


def test_a_secret_is_nowhere_to_be_seen(stackplan, project, home, tmp_path):
    secret = "s3cr3t-greeting-XYZ"
    text = PLAYBOOK.replace("greeting: hello", "greeting: {secret: true, env: GREETING}")
    text = text.replace(', content: {contains: "{{ greeting }}"}', "")
    (project / "motd.yaml").write_text(text)
    for command in (["plan"], ["apply", "--yes"], ["verify", "--format", "json"]):
        ended = stackplan(*command, "motd.yaml", "--local", GREETING=secret)
        assert ended.returncode == 0, ended.stderr
        assert secret not in ended.stdout + ended.stderr
    assert secret in (home / "motd").read_text(), "the search would find it"
    kept = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert kept
    assert [path for path in kept if secret.encode() in path.read_bytes()] == []


def test_a_password_in_an_address_is_a_secret_though_nobody_said_so(stackplan, project, home, tmp_path):
    script = "echo https://ops:s3cr3t-pass@mirror/simple; touch ~/done; echo s3cr3t-pass > ~/kept"
    (project / "p.yaml").write_text(
        f"stackplan: 1\nnodes: all\nsteps:\n  - id: a\n    run: {{script: {script!r}}}\n"
        "    postconditions:\n      - file: {path: ~/done, content: full}\n"
    )
    for command, status in ((["plan"], 0), (["apply", "--yes"], 3), (["apply", "--yes", "--format", "json"], 3)):
        ended = stackplan(*command, "p.yaml", "--local")
        assert ended.returncode == status, ended.stderr
        assert "s3cr3t" not in ended.stdout + ended.stderr
        assert "mirror/simple" in ended.stdout + ended.stderr
    assert "s3cr3t-pass" in (home / "kept").read_text(), "the search would find it"
    kept = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert kept
    assert [path for path in kept if b"s3cr3t" in path.read_bytes()] == []
