"""The question that `apply` asks on a terminal, and what a terminal is shown."""

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PLAYBOOK = """\
stackplan: 1
name: motd
nodes: all
steps:
  - id: greet
    file: {path: ~/motd, content: "hello\\n"}
    postconditions:
      - file: {path: ~/motd, content: {contains: hello}}
"""

DOOMED = f"""\
{PLAYBOOK.rstrip()}
  - id: part
    file: {{path: ~/bow, content: "bye\\n"}}
    postconditions:
      - file: {{path: ~/bow, content: {{contains: good}}}}
"""
"""Its plan says that the second step would write what its postcondition does not want."""


class Terminal:
    """A process on a terminal of its own; its standard output goes to a pipe."""

    def __init__(self, arguments, project, environment):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "stackplan", *arguments],
            cwd=project,
            env={**environment, "TERM": "xterm", "COLUMNS": "100", "LINES": "24"},
            stdin=slave,
            stderr=slave,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # A test runner in the background has SIGINT ignored, and that would be inherited.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - one call
        )
        os.close(slave)
        self.seen = ""

    def wait_for(self, text):
        while text not in self.seen:
            assert self._read(), f"{text!r} did not come; seen: {self.seen}"

    def answer(self, text):
        os.write(self.master, text.encode())

    def interrupt(self):
        """Send SIGINT until it has taken: Python loses one that comes just before it begins to read."""
        while self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=5)

    def end(self):
        """Read both streams to their ends; return the exit status and the standard output."""
        while self._read():
            pass
        os.close(self.master)
        out, _ = self.process.communicate(timeout=30)
        return self.process.returncode, out

    def _read(self):
        """Take in what comes next; return False at the end, which a terminal tells by an error."""
        ready, _, _ = select.select([self.master], [], [], 30)
        assert ready, f"nothing comes; seen: {self.seen}"
        try:
            chunk = os.read(self.master, 4096)
        except OSError:
            return False
        self.seen += chunk.decode(errors="replace")
        return bool(chunk)


@pytest.fixture
def terminal(project, environment):
    (project / "motd.yaml").write_text(PLAYBOOK)

    def start(*arguments):
        return Terminal(arguments, project, environment)

    return start


def test_yes_applies(terminal, environment):
    session = terminal("apply", "motd.yaml", "--local")
    session.wait_for("Apply this to 1 node? [y/N]")
    assert "Asking 1 node" in session.seen
    assert "would change" in session.seen, "the plan is shown before the question"
    session.answer("y\n")
    status, out = session.end()
    assert status == 0, session.seen
    assert "Done and proven on 1 node: 1 step changed." in out
    assert "\x1b" not in out, "the standard output is no terminal"
    assert (Path(environment["HOME"]) / "motd").exists()


def test_what_overrides_the_playbook_is_shown_before_the_question(terminal, project):
    varied = PLAYBOOK.replace("nodes: all\n", "nodes: all\nvars: {word: hello, file: motd}\n")
    (project / "varied.yaml").write_text(varied.replace("hello\\n", "{{ word }} {{ file }}\\n"))
    session = terminal("apply", "varied.yaml", "--local", "--var", "word=hello there", "--var", "file=motd")
    session.wait_for("[y/N]")
    session.answer("n\n")
    session.end()
    (row,) = re.findall(r"^  word +(.*?)\r?$", session.seen, re.MULTILINE)
    assert row.split("   ") == ["hello → hello there", "--var"]
    assert not re.search(r"^  file ", session.seen, re.MULTILINE), "it has the playbook's own value"


@pytest.mark.parametrize("answer", ["n\n", "\n"])
def test_no_does_nothing(terminal, environment, answer):
    session = terminal("apply", "motd.yaml", "--local")
    session.wait_for("[y/N]")
    session.answer(answer)
    status, out = session.end()
    assert (status, out) == (130, "")
    assert "Nothing was done." in session.seen
    assert not (Path(environment["HOME"]) / "motd").exists()


def test_ctrl_c_at_the_question_is_an_interruption(terminal, environment):
    session = terminal("apply", "motd.yaml", "--local")
    session.wait_for("[y/N]")
    session.interrupt()
    status, _ = session.end()
    assert status == 130
    assert "Interrupted." in session.seen
    assert not (Path(environment["HOME"]) / "motd").exists()


def test_nothing_is_asked_when_there_is_nothing_to_do(terminal, environment):
    (Path(environment["HOME"]) / "motd").write_text("hello\n")
    session = terminal("apply", "motd.yaml", "--local")
    status, out = session.end()
    assert status == 0
    assert "[y/N]" not in session.seen
    assert "Nothing to do: 1 step found satisfied on 1 node, nothing ran." in out


def test_a_terminal_sees_colour_and_a_moving_line(terminal):
    session = terminal("apply", "motd.yaml", "--local", "--yes")
    status, _ = session.end()
    assert status == 0
    assert re.search(r"\x1b\[\d+m", session.seen)
    assert "gpu" not in session.seen
    assert "greet: changed" in session.seen


FORETOLD = "`part` would fail on localhost: will not hold: ~/bow content contains"


def test_the_question_says_first_that_a_step_would_fail(terminal, project, environment):
    (project / "doomed.yaml").write_text(DOOMED)
    session = terminal("apply", "doomed.yaml", "--local")
    session.wait_for("Apply this to 1 node, although a step would fail? [y/N]")
    assert session.seen.index(FORETOLD) < session.seen.index("Apply this to")
    assert "What would run before it: `greet`." in session.seen
    session.answer("n\n")
    status, _ = session.end()
    assert status == 130
    assert not (Path(environment["HOME"]) / "motd").exists()


def test_yes_says_that_a_step_would_fail_before_anything_runs_and_a_saved_plan_is_refused(
    stackplan, project, environment
):
    (project / "doomed.yaml").write_text(DOOMED)
    home = Path(environment["HOME"])
    assert stackplan("plan", "doomed.yaml", "--local", "-o", "plan.json").returncode == 3
    refused = stackplan("apply", "plan.json", "--yes")
    assert refused.returncode == 3
    assert "nothing ran" in refused.stdout
    assert not (home / "motd").exists()
    ended = stackplan("apply", "doomed.yaml", "--local", "--yes")
    assert ended.returncode == 3
    assert ended.stderr.index(FORETOLD) < ended.stderr.index("started, wave 1")
    assert "`stackplan apply FILE` would refuse to start" in " ".join(ended.stderr.split())
    assert (home / "motd").exists(), "the step before it ran: a prediction proves nothing"
