"""What other repositories use of this one: the GitHub action, run as GitHub runs it, and the pre-commit hook."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
PLAYBOOK = """\
stackplan: 1
name: p
nodes: all
steps:
  - id: toolkit
    checkpoint: {}
    postconditions:
      - nvcc: {prefix: /usr/local/cuda-13.0, release: 13.0}
"""
ANNOTATION = re.compile(
    r"::(?P<kind>error|warning) file=playbooks/p\.yaml,line=(?P<line>\d+),endLine=\d+,col=\d+,endColumn=\d+,"
    r"title=(?P<code>[^:,]+)::(?P<text>.+)"
)
"""A workflow command as GitHub documents it: a name, properties, and a message in one line."""
STEPS = {step["id"]: step for step in ACTION["runs"]["steps"]}


def test_the_action_uses_nothing_but_its_own_checkout():
    assert ACTION["runs"]["using"] == "composite"
    for step in ACTION["runs"]["steps"]:
        assert "uses" not in step
        assert step["shell"] == "bash"
        # An expression in a script would let an input be run: inputs come through the environment alone.
        assert "${{" not in step["run"]
    assert STEPS["install"]["env"]["STACKPLAN_SOURCE"] == "${{ github.action_path }}"


def test_the_action_names_only_inputs_and_outputs_that_there_are():
    text = (ROOT / "action.yml").read_text("utf-8")
    assert set(re.findall(r"inputs\.(\w+)", text)) == set(ACTION["inputs"])
    used = {match for output in ACTION["outputs"].values() for match in re.findall(r"outputs\.(\w+)", output["value"])}
    assert all(f'echo "{name}=' in STEPS["review"]["run"] for name in used)
    for about in (*ACTION["inputs"].values(), *ACTION["outputs"].values()):
        assert about["description"]


@pytest.fixture
def repository(project, environment):
    """A repository whose last commit drops `release`, with facts of a node on which nvcc is of another one."""
    (project / ".git").rmdir()
    who = {f"GIT_{it}_{what}": "t@example.org" for it in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

    def git(*words):
        subprocess.run(["git", *words], cwd=project, env={**environment, **who}, check=True, capture_output=True)

    (project / "playbooks").mkdir()
    (project / "playbooks/p.yaml").write_text(PLAYBOOK)
    (project / "inventory.yaml").write_text("stackplan: 1\ngroups: {all_of_them: {nodes: {gpu-01: }}}\n")
    (project / "facts").mkdir()
    (project / "facts/gpu-01.json").write_text(
        '{"format": "stackplan.facts/1", "node": "gpu-01", "taken": "2026-12-01T08:30:00Z", '
        '"answers": [{"query": {"kind": "nvcc", '
        '"arguments": {"prefix": "/usr/local/cuda-13.0"}, "user": null}, "answer": {"known": {"path": "/x", '
        '"exists": true, "leads_to": null, "release": "12.8", "version": "12.8.1"}}}]}'
    )
    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "--message", "first")
    return project


@pytest.fixture
def review(repository, environment, tmp_path):
    """Run the script of the action's step `review` with these inputs; return how it ended, its outputs and files."""
    program = tmp_path / "bin" / "stackplan"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m stackplan "$@"\n')
    program.chmod(0o755)

    def run(**inputs):
        defaults = {name: about.get("default", "") for name, about in ACTION["inputs"].items()}
        values = {**defaults, "base": "HEAD", "playbook": "playbooks/p.yaml", **inputs}
        given = {
            name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda match: values[match[1]], value)
            for name, value in STEPS["review"]["env"].items()
        }
        outputs, summary = tmp_path / "outputs", tmp_path / "summary.md"
        for path in (outputs, summary):
            path.write_text("")
        where = {"RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(outputs), "GITHUB_STEP_SUMMARY": str(summary)}
        ended = subprocess.run(
            # As GitHub starts a step with `shell: bash`.
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS["review"]["run"]],
            cwd=repository,
            env={**environment, **given, **where, "STACKPLAN": str(program)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        told = dict(line.split("=", 1) for line in outputs.read_text().splitlines())
        assert Path(told["comment"]).read_text() == summary.read_text()
        return ended, told, summary.read_text()

    return run


STAND_IN = """\
#!/bin/sh
# A Python that makes an environment with itself in it, and notes what it was asked for; nothing is fetched.
printf '%s\\n' "$0" "$@" >> "$NOTES"
if [ "$2" = venv ]; then mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; fi
if [ "$2" = pip ]; then exit "$PIP_ENDS"; fi
"""


@pytest.mark.parametrize("ends", [0, 1])
def test_the_action_installs_its_own_checkout_and_nothing_else(environment, tmp_path, ends):
    runner, python, outputs, notes = (tmp_path / it for it in ("run ner", "python", "outputs", "notes"))
    python.write_text(STAND_IN)
    python.chmod(0o755)
    outputs.write_text("")
    given = {"STACKPLAN_SOURCE": "/the check/out", "STACKPLAN_PYTHON": str(python), "RUNNER_TEMP": str(runner)}
    told = {"GITHUB_OUTPUT": str(outputs), "NOTES": str(notes), "PIP_ENDS": str(ends)}
    ended = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS["install"]["run"]],
        env={**environment, **given, **told},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == ends
    venv = runner / "stackplan"
    first, second = [python, "-m", "venv", venv], [venv / "bin" / "python", "-m", "pip", "install"]
    words = notes.read_text().splitlines()
    assert words[: len(first) + len(second)] == [str(it) for it in (*first, *second)]
    assert words[-1] == "/the check/out"
    assert [it for it in words[8:-1] if not it.startswith("--")] == []
    # Where the installation failed there is no program to name.
    assert outputs.read_text() == ("" if ends else f"program={venv}/bin/stackplan\n")


def test_the_action_reviews_a_change(review, repository):
    (repository / "playbooks/p.yaml").write_text(PLAYBOOK.replace(", release: 13.0", ""))
    ended, told, comment = review(facts="facts")
    assert (ended.returncode, told["status"]) == (0, "0"), ended.stderr
    assert "### stackplan diff" in comment
    assert "`release: 13.0` is no longer asked for" in comment
    assert "### stackplan plan" in comment


def test_the_action_fails_where_something_is_predicted_to_fail(review):
    ended, told, comment = review(facts="facts", inventory="inventory.yaml")
    assert (ended.returncode, told["status"]) == (3, "3")
    assert "1 would stop" in comment


def test_the_action_without_facts_plans_nothing(review):
    ended, _, comment = review()
    assert ended.returncode == 0
    assert "### stackplan plan" not in comment


def test_the_action_says_what_lint_finds(review, repository):
    (repository / "playbooks/p.yaml").write_text(PLAYBOOK.replace("nvcc:", "nvc:"))
    ended, told, comment = review(facts="facts")
    assert (ended.returncode, told["status"]) == (2, "2")
    assert "has no key `nvc`" in comment
    assert ANNOTATION.fullmatch(ended.stdout.splitlines()[0])["kind"] == "error"
    assert "stackplan diff" not in comment


def test_a_warning_of_lint_is_an_annotation_and_fails_nothing(review, repository):
    (repository / "playbooks/p.yaml").write_text(PLAYBOOK.replace("nodes: all\n", "nodes: all\nvars: {unused: 1}\n"))
    ended, told, comment = review()
    assert (ended.returncode, told["status"]) == (0, "0"), ended.stderr
    found = ANNOTATION.fullmatch(ended.stdout.splitlines()[0])
    assert (found["kind"], found["line"], found["code"]) == ("warning", "4", "SP142")
    assert "stackplan lint" not in comment


def test_the_action_says_why_there_is_no_comparison(review):
    ended, told, comment = review(base="nowhere")
    assert (ended.returncode, told["status"]) == (2, "2")
    assert "git knows no revision `nowhere`" in comment


def test_arguments_are_words_and_never_run(review, repository):
    ended, _, _ = review(facts="facts", args="--var\n$(touch ran)`touch ran`;touch ran\n")
    assert ended.returncode == 2
    assert "sets no variable" in ended.stderr
    assert not (repository / "ran").exists()


def test_the_hook_names_a_command_that_there_is_and_playbooks_alone():
    assert HOOK["id"] == "stackplan-lint"
    assert HOOK["language"] == "python"
    assert re.search(HOOK["files"], "playbooks/cuda13.yaml")
    assert re.search(HOOK["files"], "a/playbooks/x.yml")
    assert not re.search(HOOK["files"], "playbooks/files/x.yaml")
    assert not re.search(HOOK["files"], "inventory.yaml")


def test_the_hook_refuses_a_staged_playbook_that_is_wrong(repository, stackplan):
    _, *words = HOOK["entry"].split()
    assert stackplan(*words, "playbooks/p.yaml").returncode == 0
    (repository / "playbooks/p.yaml").write_text(PLAYBOOK.replace("steps:", "stpes:"))
    ended = stackplan(*words, "playbooks/p.yaml", GIT_INDEX_FILE=os.fspath(repository / ".git/index"))
    assert ended.returncode == 2
    assert "stpes" in ended.stdout
