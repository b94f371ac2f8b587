"""Ctrl-C before a command has begun, and after it is over: never a traceback, always an exit status of the list."""

import subprocess
import sys

import pytest

SENT = "import os, signal; os.kill(os.getpid(), signal.{})\n"


@pytest.fixture
def run(project, environment):
    def found(*arguments, modules):
        folder = project / "modules"
        folder.mkdir()
        for name, text in modules.items():
            (folder / f"{name}.py").write_text(text)
        path = f"{folder}:{environment['PYTHONPATH']}" if "PYTHONPATH" in environment else str(folder)
        return subprocess.run(
            [sys.executable, "-m", "stackplan", *arguments],
            cwd=project,
            env={**environment, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )

    return found


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_while_modules_are_imported_it_says_so_and_ends(run, name):
    ended = run("runs", modules={"click": SENT.format(name)})
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "Interrupted.\n")


def test_nothing_is_read_from_a_disk_before_ctrl_c_is_seen_to(environment):
    text = "import sys; before = {*sys.modules}; import stackplan.__main__; print(*sorted({*sys.modules} - before))"
    found = subprocess.run(
        [sys.executable, "-c", text], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    own = {"stackplan", "stackplan.__main__", "stackplan.cli", "stackplan.cli.signals"}
    assert {*found.stdout.split()} - {*sys.builtin_module_names} == own


def test_after_the_command_is_over_its_exit_status_stays(run):
    text = f"import atexit\ndef late():\n    {SENT.format('SIGINT')}atexit.register(late)\n"
    ended = run("schema", "no-such", modules={"sitecustomize": text})
    assert ended.returncode == 2
    assert "no-such" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Interrupted" not in ended.stderr


DROPPED = f"""\
import threading
import click
class Thing:
    def __del__(self):
        {SENT.format("SIGINT").strip()}
def invoke(*_):
    thing = Thing()
    del thing
    assert not threading.Event().wait(60), "nothing has ended it"
click.Group.invoke = invoke
"""


def test_an_interrupt_that_a_finalizer_drops_comes_again(run):
    ended = run("schema", modules={"sitecustomize": DROPPED})
    assert (ended.returncode, ended.stderr) == (130, "Interrupted.\n")
