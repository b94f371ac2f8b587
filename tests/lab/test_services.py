"""The stand-ins of a node's systemd and servers: told apart are what runs, what was stopped, and what died."""

import shutil
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


def call(node, *words, check=0):
    done = subprocess.run(
        [node.programs / "systemctl", *words], env=node.environment, capture_output=True, text=True, check=False
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


def test_a_server_ends_with_its_node(node, tmp_path):
    (node.home / "module").mkdir()
    (node.home / "module" / "served.py").write_text("__version__ = '1.2'\n")
    server = f"import sys; sys.path.insert(0, {str(node.home / 'module')!r}); sys.argv[0] = {str(node.programs)!r}"
    run = f"{server}; import runpy; runpy.run_path({str(node.programs / 'inference_server.py')!r}, run_name='__main__')"
    process = subprocess.Popen([sys.executable, "-c", run, "0", str(node.units), "served"])
    try:
        shutil.rmtree(node.units)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        node.units.mkdir()
