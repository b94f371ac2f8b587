"""Standard streams that are closed, full or plain: words and the right exit status, never a bug."""

import os
import subprocess
import sys

import pytest

PLAYBOOK = """\
stackplan: 1
nodes: all
steps:
  - {id: held, checkpoint: {}, postconditions: [{file: {path: /, type: directory}}]}
  - {id: not-held, checkpoint: {}, postconditions: [{file: {path: /, type: file}}]}
"""


@pytest.fixture
def run(environment, project):
    (project / "p.yaml").write_text(PLAYBOOK)
    (project / "held.yaml").write_text("".join(PLAYBOOK.splitlines(keepends=True)[:-1]))

    def run(words, **changed):
        return subprocess.run(
            ["/bin/sh", "-c", f'exec "$0" -m stackplan {words}', sys.executable],
            env={**environment, **changed},
            cwd=project,
            capture_output=True,
            timeout=60,
            check=False,
        )

    return run


@pytest.mark.parametrize(
    "words", ["--version", "--help", "plan --help", "lint p.yaml --format json", "plan p.yaml --local"]
)
@pytest.mark.parametrize("where", [">&-", ">/dev/full"])
def test_standard_output_that_takes_nothing(run, words, where):
    ended = run(f"{words} {where}")
    assert ended.returncode == 2
    assert b"could not be written to standard output" in ended.stderr
    assert b"bug" not in ended.stderr


@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full"])
def test_standard_error_that_takes_nothing_is_not_missed(run, where):
    assert run(f"--bogus {where}").returncode == 2
    assert run(f"verify held.yaml --local {where}").returncode == 0


def test_standard_input_is_not_needed(run):
    ended = run("verify held.yaml --local <&-")
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_all_three_closed(run):
    assert run("verify p.yaml --local <&- >&- 2>&-").returncode == 2


def test_marks_that_cannot_be_shown_are_never_that_of_the_unknown(run):
    ended = run("verify p.yaml --local", PYTHONIOENCODING="ascii")
    lines = ended.stdout.decode("ascii").splitlines()
    assert any(line.strip().startswith("ok held") for line in lines)
    assert any(line.strip().startswith("x not-held") for line in lines)
    assert "?" not in ended.stdout.decode("ascii")


def test_help_into_a_pipe_that_nobody_reads_is_no_failure(environment):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        ended = subprocess.run(
            [sys.executable, "-m", "stackplan", "--help"],
            env=environment,
            stdout=pipe,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (0, b"")
