"""The stand-ins of a node's systemd and servers: told apart are what runs, what was stopped, and what died."""

import json
import shutil
import socket
import subprocess
import sys

import pytest

from stackplan.lab import systemctl
from stackplan.lab.sandbox import Sandbox, plain_python
from stackplan.lab.services import add_services, add_unit, end_services
from stackplan.node.queries._systemd import parse_properties
from tests.node.waiting import wait_until


@pytest.fixture
def node(tmp_path):
    sandbox = Sandbox(tmp_path / "node")
    for folder in (sandbox.home, sandbox.programs):
        folder.mkdir(parents=True)
    (sandbox.programs / "python3").symlink_to(plain_python())
    add_services(sandbox)
    add_unit(sandbox, "long", [sys.executable, "-c", "import time; time.sleep(600)"])
    add_unit(sandbox, "short", [sys.executable, "-c", "raise SystemExit(3)"])
    add_unit(sandbox, "alone", [])
    yield sandbox
    end_services(sandbox)


def call(node, *words, check=0, program="systemctl"):
    done = subprocess.run(
        [node.programs / program, *words], env=node.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == check, done.stderr
    return done


def unit(node, name):
    words = "--property=LoadState,ActiveState,SubState,UnitFileState,InvocationID,MainPID"
    return parse_properties(call(node, "show", words, "--", name).stdout)


def test_a_unit_is_started_once_restarted_and_stopped(node):
    assert unit(node, "long")["ActiveState"] == "inactive"
    call(node, "--no-ask-password", "start", "--", "long.service")
    first = unit(node, "long")
    assert (first["ActiveState"], first["SubState"]) == ("active", "running")
    call(node, "start", "long")
    assert unit(node, "long") == first
    call(node, "restart", "long")
    second = unit(node, "long")
    assert second["ActiveState"] == "active"
    assert second["InvocationID"] != first["InvocationID"]
    call(node, "stop", "long")
    assert unit(node, "long")["ActiveState"] == "inactive"


def test_one_that_dies_has_failed_and_one_without_a_process_lives(node):
    call(node, "start", "short")
    wait_until(lambda: unit(node, "short")["ActiveState"] == "failed")
    call(node, "start", "alone")
    assert (unit(node, "alone")["ActiveState"], unit(node, "alone")["SubState"]) == ("active", "exited")


def test_a_unit_whose_program_is_not_there_has_failed_and_its_journal_says_why(node):
    call(node, "start", "vllm")
    assert unit(node, "vllm")["ActiveState"] == "failed"
    said = call(node, "--unit=vllm", program="journalctl").stdout
    assert said.startswith("vllm.service: Unable to locate executable")
    assert said.endswith("vllm-env/bin/python': No such file or directory\n")


def test_enabling_and_what_is_not_known(node):
    call(node, "disable", "long")
    assert unit(node, "long")["UnitFileState"] == "disabled"
    call(node, "enable", "long")
    assert unit(node, "long")["UnitFileState"] == "enabled"
    assert unit(node, "nobody")["LoadState"] == "not-found"
    assert "Unit nobody.service not found" in call(node, "start", "nobody", check=5).stderr
    assert "does not know: isolate x" in call(node, "isolate", "x", check=1).stderr


def test_a_number_that_another_process_has_now_is_not_taken_for_the_unit():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        assert not systemctl.lives({"pid": process.pid, "since": "1"})
    finally:
        process.kill()
        process.wait()


def server_of(node, port):
    """Return the arguments by which a server of the lab starts that needs no environment."""
    (node.home / "module").mkdir()
    (node.home / "module" / "served.py").write_text("__version__ = '1.2'\n")
    server = f"import sys; sys.path.insert(0, {str(node.home / 'module')!r}); sys.argv[0] = {str(node.programs)!r}"
    run = f"{server}; import runpy; runpy.run_path({str(node.programs / 'inference_server.py')!r}, run_name='__main__')"
    return [sys.executable, "-c", run, str(port), str(node.units), "served"]


def test_a_server_whose_port_is_taken_says_so_in_its_journal(node):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        add_unit(node, "server", server_of(node, port))
        call(node, "start", "server")
        wait_until(lambda: unit(node, "server")["ActiveState"] == "failed")
    words = ["--no-pager", "--quiet", "--output=cat", "--lines=20", "--unit=server.service"]
    assert call(node, *words, program="journalctl").stdout == (
        "ERROR:    [Errno 98] error while attempting to bind on address "
        f"('127.0.0.1', {port}): address already in use\n"
    )


def test_the_journal_has_the_last_lines_of_a_unit(node):
    add_unit(node, "talker", [sys.executable, "-c", "[print(it) for it in range(30)]"])
    call(node, "start", "talker")
    wait_until(lambda: unit(node, "talker")["ActiveState"] == "failed")
    assert call(node, "--lines=2", "--unit=talker", program="journalctl").stdout == "28\n29\n"
    assert len(call(node, "--unit=talker", program="journalctl").stdout.splitlines()) == 10
    assert call(node, "--lines=0", "--unit=talker", program="journalctl").stdout == ""
    assert call(node, "--unit=nobody", program="journalctl").stdout == ""
    assert "does not know: -k" in call(node, "-k", program="journalctl", check=1).stderr


def test_a_server_ends_with_its_node(node, tmp_path):
    process = subprocess.Popen(server_of(node, 0))
    try:
        shutil.rmtree(node.units)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        node.units.mkdir()


def test_people_ask_how_a_unit_stands_and_what_it_wrote(node):
    assert call(node, "is-active", "long", check=3).stdout == "inactive\n"
    assert call(node, "is-active", "nobody.service", check=4).stdout == "inactive\n"
    assert call(node, "is-enabled", "long").stdout == "enabled\n"
    call(node, "start", "long")
    assert call(node, "is-active", "long").stdout == "active\n"
    assert call(node, "is-active", "--quiet", "long").stdout == ""
    told = call(node, "status", "long").stdout
    assert "Active: active (running)" in told
    assert f"Main PID: {json.loads((node.units / 'long.json').read_text())['pid']} (" in told
    assert "could not be found" in call(node, "status", "nobody", check=4).stderr
    call(node, "start", "vllm")
    assert call(node, "is-failed", "vllm").stdout == "failed\n"
    assert "Unable to locate executable" in call(node, "status", "vllm.service", check=3).stdout
    lines = [line.split() for line in call(node, "list-units").stdout.splitlines()]
    assert ["long.service", "loaded", "active", "running"] in lines
    assert ["vllm.service", "loaded", "failed", "failed"] in lines


@pytest.mark.parametrize(
    "words",
    [("-u", "talks", "-n", "2"), ("-utalks", "-n2"), ("--no-pager", "-u", "talks.service", "--lines", "2", "-b")],
)
def test_the_last_lines_of_a_unit_however_they_are_asked_for(node, words):
    (node.units / "talks.log").write_text("one\ntwo\nthree\n")
    assert call(node, *words, program="journalctl").stdout == "two\nthree\n"


def test_what_journalctl_does_not_know_it_says(node):
    said = call(node, "-f", "-u", "long", check=1, program="journalctl").stderr
    assert said.startswith("this stand-in for journalctl does not know: -f -u long\n")
    assert "this stand-in for systemctl does not know: mask long" in call(node, "mask", "long", check=1).stderr
