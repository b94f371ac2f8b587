"""Commands that are forked from a process that is ready are the command line all the same."""

import json
import subprocess

import pytest

from tests import command_line

PLAYBOOK = """\
stackplan: 1
nodes: all
vars: {word: hello}
steps:
  - id: one
    file: {path: ~/motd, content: "{{ word }}\\n"}
    postconditions:
      - file: {path: ~/motd, content: {contains: "{{ word }}"}}
      - file: {path: /, type: directory}
"""


@pytest.fixture
def plan(stackplan, project):
    (project / "p.yaml").write_text(PLAYBOOK)
    return lambda *words, **how: stackplan("plan", "p.yaml", "--local", "--format", "json", *words, **how)


def steps(ended):
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)["nodes"][0]["steps"]


def test_it_says_what_one_says_that_was_started_anew(plan):
    forked, anew = plan(), plan(anew=True)
    assert steps(forked) == steps(anew)
    assert forked.stderr == anew.stderr
    for ended in (plan("--no-such"), plan("--no-such", anew=True)):
        assert ended.returncode == 2
        assert "--no-such" in ended.stderr


def test_nothing_of_one_is_left_in_the_next(plan, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "motd").write_text("hello\n")
    assert [it["outcome"] for it in steps(plan(HOME=str(other)))] == ["satisfied"]
    assert [it["outcome"] for it in steps(plan())] == ["would-change"]


def test_what_is_said_to_the_interpreter_itself_is_heard(stackplan):
    assert "import 'stackplan.cli" in stackplan("--version", PYTHONVERBOSE="1").stderr
    assert stackplan("--version").stderr == ""


def test_one_that_takes_too_long_is_ended_and_the_next_one_runs(environment, project):
    with pytest.raises(subprocess.TimeoutExpired, match="timed out after 0 seconds"):
        command_line.run("explain", environment=environment, folder=project, timeout_s=0)
    assert command_line.run("--version", environment=environment, folder=project).returncode == 0
