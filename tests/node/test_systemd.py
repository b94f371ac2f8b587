"""A real systemd: the action `service` believes none of what systemctl says, and the condition sees the unit itself."""

import json

import pytest

from stackplan.actions import service
from stackplan.model.change import Change
from stackplan.model.facts import Query
from stackplan.model.job import Exited
from stackplan.model.kind import Evidence, Prediction
from stackplan.model.outcome import Reason
from stackplan.model.room import CONDITIONS
from stackplan.model.verdict import Status
from tests.node.isolated import AT, arguments
from tests.node.systemd import missing, systemd_node, write_unit
from tests.node.waiting import wait_until

INSTALL = "[Install]\nWantedBy=multi-user.target\n"
SERVICES = {
    "up": "[Service]\nExecStart=/bin/sleep 1000\n" + INSTALL,
    "reloads": "[Service]\nExecStart=/bin/sleep 1000\nExecReload=/bin/true\n",
    "dies": "[Service]\nExecStart=/bin/sh -c 'echo no such model; sleep 0.5; exit 3'\n" + INSTALL,
    "refuses": "[Service]\nType=notify\nExecStart=/bin/sh -c 'echo port taken; exit 1'\n",
    "flaps": "[Service]\nExecStart=/bin/false\nRestart=always\nRestartSec=1000\n",
    "hasty": "[Unit]\nStartLimitIntervalSec=1000\nStartLimitBurst=1\n[Service]\nExecStart=/bin/false\n",
    "once": "[Service]\nType=oneshot\nExecStart=/bin/true\n",
    "stays": "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n",
    "edited": "[Service]\nExecStart=/bin/sleep 1000\n",
    "wrong": "[Service]\nType=nonsense\n",
}


@pytest.fixture(scope="module")
def node():
    if (why := missing()) is not None:
        pytest.skip(why)
    with systemd_node() as running:
        for name, text in SERVICES.items():
            write_unit(running, f"{name}.service", text)
        running.run("systemctl", "daemon-reload")
        yield running


@pytest.fixture(autouse=True)
def _watched_for_a_moment(monkeypatch):
    """What dies in these tests does so within half a second."""
    monkeypatch.setattr(service, "SETTLE_S", 1.5)


def verdict(node, **values):
    condition = CONDITIONS.find("service").read(arguments(values))
    return condition.evaluate(node.ask(*condition.queries()))


def failed(node, **values):
    """Have the action done that will fail; return its output and the diagnosis."""
    before = node.ask(Query("service", {"name": values["name"]}))
    ending, output, changes = node.act("service", **values)
    assert ending == Exited(1), output
    (found,) = service.KIND.read(arguments(values)).diagnose(
        Evidence(
            step="serve",
            at=AT,
            arguments=arguments(values),
            before=before,
            after=node.ask(Query("service", {"name": values["name"]})),
            ending=ending,
            output=output,
            reason=Reason.ACTION,
            changes=changes,
        )
    )
    return output, found


def test_started_enabled_restarted_and_stopped_as_foretold(node):
    steps = (
        ({"state": "started", "enabled": True}, "inactive (dead), disabled", "active (running), enabled"),
        ({"state": "restarted"}, "active (running), enabled", "active (running), enabled"),
        ({"state": "stopped", "enabled": False}, "active (running), enabled", "inactive (dead), disabled"),
    )
    for values, before, after in steps:
        foretold = node.predict("service", name="up", **values)
        ending, output, changes = node.act("service", name="up", **values)
        assert ending == Exited(0), output
        assert isinstance(foretold, Prediction)
        assert foretold.changes == changes == (Change("service", "up", before, after),)
        running = values["state"] != "stopped"
        assert verdict(node, name="up", active=running).status is Status.HELD
        assert verdict(node, name="up", enabled=running).status is Status.HELD


def test_a_reload_is_seen_though_the_state_reads_alike(node):
    node.run("systemctl", "start", "reloads")
    foretold = node.predict("service", name="reloads", state="reloaded")
    ending, _, changes = node.act("service", name="reloads", state="reloaded")
    text = "active (running), static"
    assert ending == Exited(0)
    assert foretold.changes == changes == (Change("service", "reloads", text, text),)


def test_a_service_that_dies_after_systemctl_was_content_is_told_with_its_last_words(node):
    output, diagnosis = failed(node, name="dies", state="started")
    assert "systemctl ended" not in output
    assert "dies did not stay up: it is failed (failed), result exit-code, exit status 3" in output
    assert (diagnosis.code, diagnosis.observed) == ("SP242", "failed (failed), result exit-code, exit status 3")
    assert "no such model" in diagnosis.causes
    assert verdict(node, name="dies").status is Status.NOT_HELD


def test_a_service_that_systemctl_fails_to_start(node):
    output, diagnosis = failed(node, name="refuses", state="started")
    assert "systemctl ended with exit status 1" in output
    assert diagnosis.code == "SP242"
    assert "port taken" in diagnosis.causes


def test_a_service_that_systemd_will_start_again_is_not_up(node):
    _, diagnosis = failed(node, name="flaps", state="started")
    assert diagnosis.observed.startswith("activating (auto-restart), result exit-code")
    assert verdict(node, name="flaps").status is Status.NOT_HELD
    assert verdict(node, name="flaps", active=False).status is Status.NOT_HELD


def test_a_start_that_systemd_refuses_for_its_limit(node):
    node.run("systemctl", "start", "hasty")
    wait_until(lambda: verdict(node, name="hasty", active=False).observed.startswith("failed"))
    _, diagnosis = failed(node, name="hasty", state="started")
    assert diagnosis.code == "SP243"
    assert "reset-failed hasty" in diagnosis.remedy


def test_a_oneshot_that_remains_is_active(node):
    ending, _, changes = node.act("service", name="stays", state="started")
    assert (ending, changes[0].after) == (Exited(0), "active (exited), static")


@pytest.mark.parametrize(
    ("values", "summary"),
    [
        ({"name": "nowhere", "state": "started"}, "there is no unit nowhere.service"),
        ({"name": "stopped-for-good", "state": "started"}, "is masked"),
        ({"name": "wrong", "state": "started"}, "systemd cannot load service wrong (bad-setting)"),
        ({"name": "once", "state": "started"}, "runs to its end"),
        ({"name": "reloads", "enabled": True}, "cannot be enabled: its unit file is static"),
        ({"name": "stays", "state": "reloaded"}, "reloaded"),
        ({"name": "edited", "state": "restarted"}, "was changed since systemd read it"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_tried(node, values, summary):
    node.run("systemctl", "mask", "stopped-for-good")
    node.run("systemctl", "start", "edited")
    if values["name"] == "edited":
        write_unit(node, "edited.service", SERVICES["edited"].replace("1000", "2000"))
    refused = node.refusal("service", **values)
    assert summary in refused.summary
    assert json.dumps(refused.remedy) != "null" or values["name"] == "wrong"


def test_the_condition_sees_what_enabling_is_worth(node):
    assert verdict(node, name="reloads", enabled=True).observed.startswith("static: it has no [Install] section")
    node.run("systemctl", "enable", "--runtime", "dies")
    for enabled in (True, False):
        found = verdict(node, name="dies", enabled=enabled)
        assert (found.status, found.observed) == (Status.NOT_HELD, "enabled-runtime: until the next restart only")
    assert verdict(node, name="nowhere", active=False).status is Status.HELD
    assert verdict(node, name="nowhere").observed == "there is no such unit"
