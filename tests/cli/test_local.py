"""From end to end on this machine as the node: lint, plan, apply, verify, facts, with a real node program."""

import json
from pathlib import Path

import jsonschema
import pytest

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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--var", "greting=hi"], "did you mean `greeting`"),
        (["--step", "great"], "did you mean `greet`"),
        (["--step", "greet", "--from", "bow"], "cannot be used together"),
        (["--vars", "nowhere.yaml"], "nowhere.yaml"),
        (["-i", "nowhere.yaml"], "cannot be used together"),
        (["-n", "gpu-01"], "cannot be used together"),
    ],
)
@pytest.mark.parametrize("command", ["plan", "apply", "verify"])
def test_wrong_flags_are_exit_status_2(stackplan, playbook, command, arguments, said):
    if command == "verify" and arguments[0] == "--step":
        pytest.skip("verify proves every step")
    yes = ["--yes"] if command == "apply" else []
    ended = stackplan(command, "motd.yaml", "--local", *yes, *arguments)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_lint_names_every_mistake_with_its_place(stackplan, project):
    wrong = PLAYBOOK.replace("name: motd", "nmae: motd").replace("mode: 0644, content: {", "mood: 0644, content: {")
    wrong = (
        wrong.replace("id: bow", "id: greet").replace("why:", "whi:").replace("file: {path: ~/bow}", "fil: {path: x}")
    )
    (project / "motd.yaml").write_text(wrong)
    ended = stackplan("lint", "motd.yaml")
    assert ended.returncode == 2
    places = [line for line in ended.stdout.splitlines() if line.startswith("motd.yaml:")]
    assert len(places) == 5
    assert "5 problems in 1 playbook." in ended.stderr
    document = json.loads(stackplan("lint", "motd.yaml", "--format", "json").stdout)
    assert [it["location"].split(":")[0] for it in document["diagnoses"]] == ["motd.yaml"] * 5


def test_a_playbook_that_is_wrong_gives_a_document_of_diagnoses(stackplan, project):
    (project / "motd.yaml").write_text("stackplan: 1\nsteps: []\n")
    ended = stackplan("plan", "motd.yaml", "--local", "--format", "json")
    assert ended.returncode == 2
    assert json.loads(ended.stdout)["format"] == "stackplan.diagnoses/1"
    assert "motd.yaml:" in ended.stderr


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
    (project / "motd.yaml").write_text(text)
    for command in (["plan"], ["apply", "--yes"], ["verify"]):
        ended = stackplan(*command, "motd.yaml", "--local", GREETING=secret)
        assert ended.returncode in (0, 3), ended.stderr
        assert secret not in ended.stdout + ended.stderr
    assert secret in (home / "motd").read_text(), "the search would find it"
    kept = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert kept
    assert [path for path in kept if secret.encode() in path.read_bytes()] == []
