"""`plan -o` and `apply PLANFILE`, with this machine as the node: a real node program in a process of its own."""

import base64
import io
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest

from stackplan.cli import failure, main

SCHEMAS = Path(__file__).parents[2] / "schemas"
SECRET = "correct-horse-battery"
PLAYBOOK = """\
stackplan: 1
name: motd
nodes: all
vars:
  greeting: hello
  token: {secret: true, env: TOKEN}
steps:
  - id: greet
    file: {path: ~/motd, template: greeting.txt, mode: 0644}
    postconditions:
      - file: {path: ~/motd, mode: 0644, content: {contains: "{{ greeting }}"}}
  - include: more/bow.yaml
"""
BOW = """\
- id: bow
  run: {script: "echo bowed >~/bow; printf %s \\"$TOKEN\\" >~/token"}
  env: {TOKEN: "{{ token }}"}
  postconditions:
    - file: {path: ~/bow}
"""


@dataclass
class Ended:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def stackplan(project, environment, monkeypatch, capsys):
    """Run `stackplan ARGUMENTS` in the project folder and in this process, which spares many starts."""
    for name in os.environ:
        monkeypatch.delenv(name)
    monkeypatch.chdir(project)

    def run(*arguments, **changes):
        with pytest.MonkeyPatch.context() as patch:
            for name, value in {**environment, **changes}.items():
                patch.setenv(name, value)
            patch.setattr("sys.stdin", io.StringIO())
            status = failure.guard(lambda shown: main.run(list(arguments), shown))
        return Ended(status, *capsys.readouterr())

    return run


@pytest.fixture
def playbook(project, environment):
    environment["TOKEN"] = SECRET
    (project / "more").mkdir()
    (project / "more" / "bow.yaml").write_text(BOW)
    (project / "greeting.txt").write_text("{{ greeting }} all\n")
    path = project / "motd.yaml"
    path.write_text(PLAYBOOK)
    return path


@pytest.fixture
def home(environment):
    return Path(environment["HOME"])


@pytest.fixture
def plan_file(stackplan, playbook, project):
    ended = stackplan("plan", "motd.yaml", "--local", "-o", "p.out")
    assert ended.returncode == 0, ended.stderr
    return project / "p.out"


def report(ended):
    document = json.loads(ended.stdout)
    jsonschema.Draft202012Validator(json.loads((SCHEMAS / "report.v1.json").read_text("utf-8"))).validate(document)
    return document


def outcomes(ended):
    (node,) = report(ended)["nodes"]
    return [step["outcome"] for step in node["steps"]]


def apply(stackplan, plan_file, *more, **changes):
    return stackplan("apply", str(plan_file), "--yes", "--format", "json", *more, **changes)


def leaks(text):
    """Return the forms of the secret that stand in a text, base64 at each alignment included."""
    forms = [SECRET, *(base64.b64encode(b"x" * lead + SECRET.encode())[4:-4].decode() for lead in range(3))]
    return [form for form in forms if form in text]


def test_what_was_planned_is_applied_whatever_has_become_of_the_working_tree(stackplan, plan_file, project, home):
    assert stat.S_IMODE(plan_file.stat().st_mode) == 0o600
    document = json.loads(plan_file.read_text())
    jsonschema.Draft202012Validator(json.loads((SCHEMAS / "plan.v1.json").read_text("utf-8"))).validate(document)
    assert {file["path"] for file in document["sources"]["files"]} == {"motd.yaml", "more/bow.yaml", "greeting.txt"}
    assert not (home / "motd").exists()
    for changed in (project / "motd.yaml", project / "more" / "bow.yaml", project / "greeting.txt"):
        changed.write_text("garbage")
    elsewhere = project.parent / "elsewhere"
    plan_file.rename(elsewhere)
    ended = apply(stackplan, elsewhere)
    assert ended.returncode == 0, ended.stderr
    assert outcomes(ended) == ["changed", "changed"]
    assert (home / "motd").read_text() == "hello all\n"
    assert (home / "token").read_text() == SECRET
    document = report(ended)
    assert document["playbook"]["path"] == "motd.yaml"
    assert document["nodes"][0]["steps"][1]["location"] == "more/bow.yaml:1:3"


def test_no_secret_is_in_a_plan(plan_file):
    text = plan_file.read_text()
    assert leaks(text) == []
    assert "TOKEN" in text, "where it is read from is in it"
    assert leaks(text + base64.b64encode(f"ab{SECRET}".encode()).decode()) != [], "the search would have found one"


def test_a_file_that_moved_makes_the_plan_stale_and_nothing_runs(stackplan, plan_file, home):
    (home / "bow").write_text("by hand\n")
    ended = apply(stackplan, plan_file)
    assert ended.returncode == 6, ended.stderr
    document = report(ended)
    assert (document["outcome"], document["run"]) == ("stale", None)
    (node,) = document["nodes"]
    assert (node["outcome"], node["steps"]) == ("stale", [])
    assert any(it["summary"].startswith("file ~/bow has moved") for it in node["diagnoses"])
    assert not (home / "motd").exists()
    ended = stackplan("apply", str(plan_file), "--yes")
    assert ended.returncode == 6
    assert "file ~/bow has moved since the plan was made" in ended.stdout
    assert "1 of 1 node no longer as planned." in ended.stdout
    (home / "bow").unlink()
    assert apply(stackplan, plan_file).returncode == 0, "the way it was, it is the plan's node again"


def test_a_plan_that_was_applied_is_stale(stackplan, plan_file, home):
    assert apply(stackplan, plan_file).returncode == 0
    (home / "token").unlink()
    again = apply(stackplan, plan_file)
    assert again.returncode == 6
    assert "every step of it is satisfied by now, so it was applied already" in report(again)["nodes"][0]["message"]
    assert not (home / "token").exists(), "it did not run a second time"


def test_a_step_that_was_planned_as_satisfied_does_not_run(stackplan, playbook, project, home):
    (home / "bow").write_text("by hand\n")
    assert stackplan("plan", "motd.yaml", "--local", "-o", "p.out").returncode == 0
    ended = apply(stackplan, project / "p.out")
    assert (ended.returncode, outcomes(ended)) == (0, ["changed", "satisfied"])
    assert (home / "bow").read_text() == "by hand\n"


def test_the_selected_steps_are_part_of_the_plan(stackplan, playbook, project, home):
    assert stackplan("plan", "motd.yaml", "--local", "--step", "bow", "-o", "p.out").returncode == 0
    ended = apply(stackplan, project / "p.out")
    assert (ended.returncode, outcomes(ended)) == (0, ["changed"])
    assert not (home / "motd").exists()
    assert stackplan("plan", "motd.yaml", "--local", "--from", "bow", "-o", "p.out").returncode == 0
    assert outcomes(apply(stackplan, project / "p.out")) == ["satisfied"]


def test_variables_are_those_of_the_plan_and_say_where_they_come_from(stackplan, playbook, project, home):
    (project / "more.yaml").write_text("greeting: 'hey {{ node.name }}'\n")
    assert stackplan("plan", "motd.yaml", "--local", "--vars", "more.yaml", "-o", "p.out").returncode == 0
    (project / "more.yaml").unlink()
    (node,) = json.loads((project / "p.out").read_text())["nodes"]
    greeting = node["variables"]["greeting"]
    assert (greeting["origin"], greeting["resolved"]) == ("--vars more.yaml", "hey localhost")
    assert apply(stackplan, project / "p.out").returncode == 0
    assert (home / "motd").read_text() == "hey localhost all\n"


INVENTORY = """\
stackplan: 1
defaults: {vars: {ansible_ssh_pass: t0psecret-1, greeting: "{{ hail }} and {{ crowd }}", hail: hey}}
groups:
  hosts:
    vars: {ansible_become_password: t0psecret-2, db_password: t0psecret-3, site: {api_key: t0psecret-4}}
    nodes: {gpu-01: {connection: local, vars: {crowd: you}}}
"""
ANSIBLE = {
    "hosts": {"hosts": ["gpu-01"], "vars": {"db_password": "t0psecret-3", "hail": "hey", "crowd": "you"}},
    "_meta": {
        "hostvars": {
            "gpu-01": {
                "ansible_connection": "local",
                "ansible_become_password": "t0psecret-2",
                "my_token": "t0psecret-5",
                "greeting": "{{ hail }} and {{ crowd }}",
            }
        }
    },
}


@pytest.mark.parametrize(("name", "text"), [("i.yaml", INVENTORY), ("i.json", json.dumps(ANSIBLE))])
def test_only_variables_that_the_playbook_uses_are_kept(stackplan, playbook, home, name, text):
    project = playbook.parent
    (project / name).write_text(text)
    (project / "greeting.txt").write_text("{{ greeting }} {{ inner }}\n")
    playbook.write_text(PLAYBOOK.replace("vars:\n", 'vars:\n  inner: "of {{ innermost }}"\n  innermost: all\n'))
    assert stackplan("plan", "motd.yaml", "-i", name, "-o", "p.out").returncode == 0
    (project / name).unlink()
    (node,) = json.loads((project / "p.out").read_text())["nodes"]
    assert {*node["variables"]} == {"greeting", "hail", "crowd", "inner", "innermost", "token"}
    assert apply(stackplan, project / "p.out").returncode == 0
    assert (home / "motd").read_text() == "hey and you of all\n"
    (project / name).write_text(text)
    (home / "motd").unlink()
    assert stackplan("apply", "motd.yaml", "-i", name, "--yes").returncode == 0
    kept = [project / "p.out", *(project.parent / "state").rglob("plan.json")]
    assert len(kept) == 3
    assert [path.name for path in kept if "t0psecret" in path.read_text()] == []


@pytest.mark.parametrize("used", ["{{ db_password }}", "{{ site.api_key }}", "{{ through }}"])
def test_a_variable_in_clear_that_is_a_secret_by_its_name_goes_into_no_plan(stackplan, playbook, project, used):
    (project / "i.yaml").write_text(INVENTORY.replace("crowd: you", "through: '{{ db_password }}'"))
    (project / "greeting.txt").write_text(f"hello {used}\n")
    playbook.write_text(PLAYBOOK)
    values = ["--var", "greeting=hello", "-i", "i.yaml"]
    ended = stackplan("plan", "motd.yaml", *values, "-o", "p.out")
    assert ended.returncode == 2
    name = "api_key" if "site" in used else "db_password"
    assert (
        f"i.yaml:5:{INVENTORY.splitlines()[4].index('t0psecret-3' if name == 'db_password' else '{api_key') + 1}"
        in (ended.stderr)
    )
    assert f"a plan carries the value of `{name}`, which by its name is a secret" in ended.stderr
    assert not (project / "p.out").exists()
    done = stackplan("apply", "motd.yaml", *values, "--yes", "--format", "json")
    assert done.returncode == 0
    assert "cannot be resumed" not in done.stderr
    assert [text for name, text in report(done)["variables"].items() if "t0psecret" in text and name != "through"] == []


def test_a_secret_that_is_missing_is_named_with_its_place(stackplan, plan_file, environment, home):
    del environment["TOKEN"]
    ended = apply(stackplan, plan_file)
    assert ended.returncode == 2
    assert "motd.yaml:6:10" in ended.stderr
    assert "TOKEN is not set" in ended.stderr
    assert not (home / "motd").exists()


def test_a_secret_may_have_another_value_when_the_plan_is_applied(stackplan, plan_file, home):
    assert apply(stackplan, plan_file, TOKEN="another-horse").returncode == 0
    assert (home / "token").read_text() == "another-horse"


def test_a_file_with_a_secret_is_looked_for_where_it_was_when_the_plan_was_made(
    stackplan, playbook, project, home, tmp_path
):
    playbook.write_text(PLAYBOOK.replace("env: TOKEN", "file: secret"))
    (project / "secret").write_text(SECRET)
    assert stackplan("plan", "motd.yaml", "--local", "-o", str(tmp_path / "p.out")).returncode == 0
    assert leaks((tmp_path / "p.out").read_text()) == []
    ended = stackplan("apply", "../p.out", "--yes")
    assert ended.returncode == 0, ended.stderr
    assert (home / "token").read_text() == SECRET


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--var", "greeting=hi"], "its variables are those that the plan was made with"),
        (["--vars", "more.yaml"], "its variables are those that the plan was made with"),
        (["-i", "inventory.yaml"], "how its nodes are reached is in the plan"),
        (["--local"], "how its nodes are reached is in the plan"),
        (["-n", "gpu-01"], "how its nodes are reached is in the plan"),
        (["--step", "bow"], "its steps are those that the plan was made for"),
        (["--from", "bow"], "its steps are those that the plan was made for"),
        (["-l", "gpu-9"], "there is no node or group `gpu-9`"),
    ],
)
def test_what_would_make_another_plan_of_it_is_refused(stackplan, plan_file, home, flags, said):
    ended = apply(stackplan, plan_file, *flags)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert not (home / "motd").exists()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda text: text[: len(text) // 2], "it ends early or is damaged"),
        (lambda text: text.replace("hello", "hullo"), "was changed after it was written"),
        (lambda text: text.replace("plan/1", "plan/2"), "this version of stackplan reads stackplan.plan/1"),
        (lambda text: text + "\x00", "it ends early or is damaged"),
    ],
)
def test_a_plan_that_was_damaged_is_refused(stackplan, plan_file, home, damage, said):
    plan_file.write_text(damage(plan_file.read_text()))
    ended = apply(stackplan, plan_file)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (home / "motd").exists()


def test_a_plan_with_a_secret_in_clear_is_not_written(stackplan, playbook, project):
    playbook.write_text(PLAYBOOK.replace("greeting: hello", f"greeting: {SECRET}"))
    ended = stackplan("plan", "motd.yaml", "--local", "-o", "p.out")
    assert ended.returncode == 2
    assert "motd.yaml:5:1" in ended.stderr
    assert leaks(ended.stdout + ended.stderr) == []
    assert not (project / "p.out").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "motd.yaml"], "motd.yaml, which is no plan"),
        (["-o", "more"], "more is no file"),
        (["-o", "nowhere/p.out"], "there is no folder"),
        (["-o", "p.out", "--facts", "more"], "`-o` cannot be used with `--facts`"),
    ],
)
def test_a_plan_takes_the_place_of_nothing_else(stackplan, playbook, words, said):
    ended = stackplan("plan", "motd.yaml", "--local", *words)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert playbook.read_text() == PLAYBOOK


@pytest.mark.parametrize("place", ["-", "/dev/stdout", "/dev/null", "/proc/self/fd/1"])
def test_a_plan_goes_to_a_file_of_its_own(stackplan, playbook, place):
    ended = stackplan("plan", "motd.yaml", "--local", "-o", place)
    assert ended.returncode == 2
    assert f"{place} is no file of its own" in ended.stderr
    assert ended.stdout == ""


def test_a_link_stays_and_what_it_leads_to_is_written(stackplan, playbook, project):
    (project / "plans").mkdir()
    (project / "p.out").symlink_to("plans/today")
    for _ in range(2):
        assert stackplan("plan", "motd.yaml", "--local", "-o", "p.out").returncode == 0
    assert (project / "p.out").is_symlink()
    assert stat.S_IMODE((project / "plans" / "today").stat().st_mode) == 0o600
    (project / "loop").symlink_to("loop")
    ended = stackplan("plan", "motd.yaml", "--local", "-o", "loop")
    assert (ended.returncode, ended.stdout) == (2, "")


def test_a_plan_takes_the_place_of_an_older_one_and_keeps_its_mode_narrow(stackplan, plan_file):
    before = plan_file.read_text()
    plan_file.chmod(0o644)
    assert stackplan("plan", "motd.yaml", "--local", "-o", "p.out", "--var", "greeting=hi").returncode == 0
    assert plan_file.read_text() != before
    assert stat.S_IMODE(plan_file.stat().st_mode) == 0o600
    assert [it.name for it in plan_file.parent.iterdir() if it.name.startswith(".plan-")] == []


def test_the_inventory_is_not_read_again_and_one_node_that_is_gone_holds_up_all(
    stackplan, playbook, project, home, tmp_path
):
    way = tmp_path / "way"
    way.write_text('#!/bin/sh\nexec "$@"\n')
    way.chmod(0o755)
    (project / "inventory.yaml").write_text(
        f"stackplan: 1\nnodes:\n  gpu-01: {{connection: local}}\n  gpu-02: {{connection: command, command: [{way}]}}\n"
    )
    ended = stackplan("plan", "motd.yaml", "-o", "p.out")
    assert ended.returncode == 0, ended.stderr
    (project / "inventory.yaml").unlink()
    way.unlink()
    ended = apply(stackplan, project / "p.out")
    assert ended.returncode == 4, ended.stderr
    assert [node["outcome"] for node in report(ended)["nodes"]] == ["skipped", "unreachable"]
    assert not (home / "motd").exists()
    ended = apply(stackplan, project / "p.out", "-l", "!gpu-02")
    assert ended.returncode == 0, ended.stderr
    assert [node["node"] for node in report(ended)["nodes"]] == ["gpu-01"]


def test_a_plan_is_complete_or_there_is_none(stackplan, playbook, project):
    (project / "inventory.yaml").write_text(
        "stackplan: 1\nnodes:\n  gpu-01: {connection: local}\n  gpu-02: {connection: command, command: [/no/such]}\n"
    )
    ended = stackplan("plan", "motd.yaml", "-o", "p.out")
    assert ended.returncode == 4
    assert "No plan was saved" in ended.stderr
    assert not (project / "p.out").exists()


def test_a_plan_that_says_that_it_fails_can_be_read_and_is_not_applied(stackplan, project, environment, home):
    text = PLAYBOOK.replace(
        "    postconditions:\n", "    preconditions: [{file: {path: ~/gone}}]\n    postconditions:\n"
    )
    (project / "p.yaml").write_text(
        text.replace("template: greeting.txt", "content: x").replace("  - include: more/bow.yaml\n", "")
    )
    ended = stackplan("plan", "p.yaml", "--local", "-o", "p.out")
    assert ended.returncode == 3, ended.stderr
    assert "greet" in (project / "p.out").read_text()
    ended = apply(stackplan, project / "p.out")
    assert ended.returncode == 3, ended.stderr
    assert "would fail on localhost" in report(ended)["diagnoses"][0]["summary"]
    assert not (home / "motd").exists()


def test_without_a_terminal_a_plan_wants_yes_too(stackplan, plan_file, home):
    ended = stackplan("apply", str(plan_file))
    assert ended.returncode == 2
    assert "--yes" in ended.stderr
    assert not (home / "motd").exists()


def test_no_path_of_a_plan_is_written_to(stackplan, plan_file, project):
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    assert apply(stackplan, plan_file).returncode == 0
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_plan_that_was_written_anew_in_another_encoding_is_named_for_it(stackplan, plan_file, home, encoding):
    plan_file.write_bytes(plan_file.read_text("utf-8").encode(encoding))
    ended = stackplan("apply", str(plan_file), "--yes")
    assert ended.returncode == 2
    assert f"the plan {plan_file} cannot be used: it is a text in {encoding[:6].upper()}" in ended.stderr
    assert "copy the file itself" in " ".join(ended.stderr.split())
    assert not (home / "motd").exists()
