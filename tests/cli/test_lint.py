"""`stackplan lint`: forms, exit status, and what it costs."""

import json
import re
import sys
import time

import jsonschema
import pytest

from stackplan.engine.bind import faults
from stackplan.language import linting, playbook, schema
from stackplan.language.alone import render_alone
from stackplan.language.template import as_written

HEAD = "stackplan: 1\nnodes: all\n"
WARNS = HEAD + "vars: {a: 1}\nsteps:\n  - id: one\n    checkpoint: {}\n    postconditions:\n      - file: {path: /x}\n"
FAILS = HEAD + (
    "steps:\n  - id: one\n    run: {script: reboot}\n    postconditions:\n      - file: {path: /x}\n"
    "  - id: two  # stackplan: ignore[SP174] of the lab\n    run: {script: reboot}\n"
    "    postconditions:\n      - file: {path: /x}\n"
)


@pytest.fixture
def lint(stackplan, project):
    def run(*options, **files):
        for name, text in files.items():
            (project / f"{name}.yaml").write_text(text, encoding="utf-8")
        return stackplan("lint", *(f"{name}.yaml" for name in files), *options)

    return run


def test_warnings_are_told_and_do_not_fail(lint):
    ended = lint(w=WARNS)
    assert ended.returncode == 0
    assert "w.yaml:3:11  warning: nothing uses the variable `a`" in ended.stdout
    assert "SP142  take it out" in ended.stdout
    assert ended.stderr == "1 problem in 1 playbook, no error among them.\n"


def test_strict_fails_for_warnings(lint):
    assert lint("--strict", w=WARNS).returncode == 2


def test_errors_fail_and_what_is_answered_is_counted(lint):
    ended = lint(w=WARNS, f=FAILS)
    assert ended.returncode == 2
    assert "(step `one`)" in ended.stdout
    assert "(step `two`)" not in ended.stdout
    assert ended.stderr == "2 problems in 2 playbooks, 1 warning among them. Comments answer 1 more finding.\n"


def test_json_holds_what_is_answered_apart(lint):
    ended = lint("--format", "json", f=FAILS)
    assert ended.returncode == 2
    document = json.loads(ended.stdout)
    jsonschema.Draft202012Validator(schema.bundled("diagnoses")).validate(document)
    assert [(it["code"], it["step"], it["location"]) for it in document["diagnoses"]] == [
        ("SP174", "one", "f.yaml:5:19")
    ]
    (ignored,) = document["ignored"]
    assert (ignored["step"], ignored["reason"], ignored["ignored_at"]) == ("two", "of the lab", "f.yaml:8:14")


def test_sarif_is_a_log_of_all_rules(lint):
    ended = lint("--format", "sarif", f=FAILS)
    assert ended.returncode == 2
    (run,) = json.loads(ended.stdout)["runs"]
    assert {it.code for it in linting.rules()} < {it["id"] for it in run["tool"]["driver"]["rules"]}
    assert ["suppressions" in it for it in run["results"]] == [False, True]


def test_github_annotations_are_one_line_each(lint):
    ended = lint("--format", "github", f=FAILS, w=WARNS)
    error, warning = ended.stdout.splitlines()
    assert error.startswith("::error file=f.yaml,line=5,endLine=5,col=19,endColumn=25,title=SP174 (one)::")
    assert warning.startswith("::warning file=w.yaml,line=3,")


@pytest.mark.parametrize("form", ["json", "sarif", "github"])
def test_every_form_tells_of_a_file_that_cannot_be_read(stackplan, form):
    ended = stackplan("lint", "missing.yaml", "--format", form)
    assert ended.returncode == 2
    assert "missing.yaml" in ended.stdout


PAIR = """  - id: p{n}
    python_packages: {{venv: "{{{{ venv }}}}", packages: [numpy==2.{n}.0]}}
    postconditions:
      - package: {{venv: "{{{{ venv }}}}", name: numpy, version: "==2.{n}.0"}}
  - id: r{n}
    run:
      script: |
        /opt/x --number {n} | tee /srv/x{n}
        test -e /srv/x{n} && cp /srv/x{n} "/srv/y {n}"
    postconditions:
      - file: {{path: /srv/y{n}}}
"""


@pytest.fixture
def long_playbook(tmp_path):
    """Write a playbook of so many steps, and return its path."""

    def write(steps):
        path = tmp_path / f"{steps}.yaml"
        pairs = "".join(PAIR.format(n=number) for number in range(steps // 2))
        path.write_text(f"{HEAD}vars: {{venv: ~/e}}\nsteps:\n{pairs}", encoding="utf-8")
        return path

    return write


def reviewing_s(path):
    """Return what it costs to read a playbook as lint did before it had rules, and what the rules cost, in CPU time."""
    start = time.process_time()
    read = playbook.read(path)
    rendered = render_alone(read).playbook
    assert faults(rendered, as_written) == ()
    between = time.process_time()
    assert linting.review(read, rendered).findings == ()
    return between - start, time.process_time() - between


def test_the_rules_cost_at_most_twice_what_reading_does_and_no_more_a_step_in_a_long_playbook(long_playbook):
    reviewing_s(long_playbook(20))  # what is loaded at first use is not meant
    _, short = min(reviewing_s(long_playbook(100)) for _ in range(3))
    reading, long = reviewing_s(long_playbook(800))
    assert long < 2 * reading
    assert long < 24 * short, "eight times as much is to take about eight times as long, not sixty-four"


def test_no_rule_is_loaded_by_another_command(environment):
    import subprocess  # noqa: PLC0415 - of this test alone

    code = (
        "import sys, stackplan.cli.main; print([it for it in sys.modules if it.startswith('stackplan.language.lint')])"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert re.fullmatch(r"\[\]\s*", done.stdout)


def test_a_plan_says_in_a_line_what_lint_would_find(stackplan, project):
    (project / "f.yaml").write_text(FAILS + "vars: {a: 1}\n", encoding="utf-8")
    ended = stackplan("plan", "f.yaml", "--local")
    line = "lint: 1 error (SP174); 1 warning (SP142). `stackplan lint f.yaml` tells more."
    assert ended.stderr.splitlines().count(line) == 1
    (project / "f.yaml").write_text(WARNS.replace("vars: {a: 1}\n", ""), encoding="utf-8")
    assert "lint:" not in stackplan("plan", "f.yaml", "--local").stderr


def test_a_plan_on_recorded_facts_leaves_lint_to_the_review(stackplan, project):
    (project / "f.yaml").write_text(FAILS + "vars: {a: 1}\n", encoding="utf-8")
    stackplan("facts", "f.yaml", "--local", "-o", "facts")
    planned = stackplan("plan", "f.yaml", "--local", "--facts", "facts")
    assert planned.returncode in (0, 3)
    assert "Plan" in planned.stdout
    assert "lint:" not in planned.stderr
