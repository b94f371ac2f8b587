"""Plans of a restart whose postconditions hold: healthy, unless nothing tells that it is due."""

import pytest

from stackplan.engine.planner import Planner, drive
from stackplan.model.facts import Known, Origin, Unknown
from tests.engine.world import bound, condition, step

UNIT = {
    "id": "sglang.service",
    "load": "loaded",
    "load_error": None,
    "active": "active",
    "sub": "running",
    "result": "success",
    "exit": None,
    "file_state": "enabled",
    "path": "/etc/systemd/system/sglang.service",
    "type": "simple",
    "remains": False,
    "invocation": "5fb5",
    "restarts": 0,
    "changed": 41233511,
    "needs_reload": False,
    "can_start": True,
    "can_reload": True,
    "uid": 0,
    "user": "root",
}
LISTENING = {"open": True, "address": "127.0.0.1", "failure": None}
SERVED = {
    "status": 200,
    "reason": "OK",
    "leads_to": None,
    "failure": None,
    "body": "ready",
    "body_fault": None,
    "values": {"/version": "0.5.10"},
    "numbers": [],
    "json_fault": None,
}
ITSELF = condition("service", name="sglang", active=True)
OPEN = condition("port", port=30000)
HEALTH = condition("http", url="http://localhost:30000/health")
VERSION = condition("http", url="http://localhost:30000/get_server_info", json={"/version": "0.5.10"})
READY = condition("http", url="http://localhost:30000/ready", body="ready")


def planned(*post, always=False, **unit):
    """Return the report of a step that restarts sglang, on a node whose unit stands so and whose server answers."""
    answers = {"service": {**UNIT, **unit}, "port": LISTENING, "http": SERVED}
    restart = step("sglang", action="service", state="restarted", post=post, always=always)
    planner = Planner(node="gpu", playbook=bound(restart), origin=Origin.LIVE, taken="")

    def ask(queries):
        return {it: Known(answers[it.kind]) if it.kind in answers else Unknown("not of interest") for it in queries}

    (report,) = drive(planner, ask).report.steps
    return report


@pytest.mark.parametrize("post", [(VERSION,), (VERSION, HEALTH), (READY,), (OPEN, ITSELF, VERSION)])
def test_a_restart_that_is_not_due_alarms_nobody(post):
    report = planned(*post)
    assert (report.outcome.value, report.predicted, report.diagnoses) == ("satisfied", (), ())


@pytest.mark.parametrize("post", [(), (ITSELF,), (OPEN,), (HEALTH,), (HEALTH, OPEN)])
def test_that_something_is_alive_never_tells_that_a_restart_is_due(post):
    (warning,) = planned(*post).diagnoses
    assert warning.severity.value == "warning"
    assert "would still change sglang: they are too weak to tell" in warning.summary


def test_a_restart_that_is_due_is_foretold():
    assert planned(VERSION, always=True).outcome.value == "would-run"
    down = planned(VERSION, active="failed", sub="failed", result="exit-code")
    assert (down.outcome.value, down.diagnoses) == ("would-change", ())
