"""`reboot`: what it refuses, what it foretells, and what the node's question and task say."""

import json
from pathlib import Path

import pytest

from stackplan.actions.reboot import Reboot
from stackplan.model.arguments import Arguments
from stackplan.model.change import Change
from stackplan.model.diagnosis import Invalid
from stackplan.model.facts import Facts, Failed, Known, Origin, Query, Unknown
from stackplan.model.job import Exited, Job, NotRebooted
from stackplan.model.kind import CannotAct, Evidence, Prediction
from stackplan.model.location import Location
from stackplan.model.outcome import Reason
from stackplan.node.context import Context
from stackplan.node.queries import boot
from stackplan.node.tasks import reboot

AT = Location("p.yaml", 4, 7)
OLD = "1a2b3c4d-5e6f-7081-92a3-b4c5d6e7f809"
BOOT = Query("boot", {})
TOLD = {"id": OLD, "how": "systemctl", "busy": [], "logged_in": [], "uid": 0, "user": "root"}


def read(**values):
    return Reboot.read(Arguments(values, AT))


def facts(others=None, **told):
    return Facts("gpu-01", Origin.LIVE, "2026-12-01T03:10:22Z", {BOOT: Known({**TOLD, **told}), **(others or {})})


def test_the_job_names_the_boot_that_it_ends_and_how():
    job = read(timeout="10m", reason="new driver").job(facts())
    assert isinstance(job, Job)
    assert job.ends_boot == OLD
    assert job.display == "systemctl reboot  # new driver"
    assert read().job(facts(how="shutdown")).display == "shutdown -r now"
    (stage,) = job.stages
    assert stage.arguments == {"boot": OLD, "how": "systemctl", "reason": "new driver", "timeout_s": 540.0}
    assert read(timeout="10m").new_boot_within_s() == 600.0


@pytest.mark.parametrize(
    ("told", "summary"),
    [
        ({"uid": 1000, "user": "ops"}, "ops may not restart the node"),
        ({"id": None}, "the node's boot id cannot be read, so nothing could prove that it was restarted"),
        ({"how": None}, "there is no systemctl, shutdown or reboot on the node"),
        (
            {"busy": ["process 17 (dpkg) is at work with packages"]},
            "a restart would cut off what is at work: process 17 (dpkg) is at work with packages",
        ),
    ],
)
def test_what_may_not_be_restarted_is_left_alone(told, summary):
    refusal = read().job(facts(**told))
    assert isinstance(refusal, CannotAct)
    assert refusal.summary == summary
    assert refusal.remedy


def test_an_unanswered_question_starts_nothing():
    unknown = Facts("gpu-01", Origin.LIVE, "", {BOOT: Failed("no /proc")})
    assert read().job(unknown) == CannotAct("it is not known in which boot the node is: no /proc")


def test_what_a_restart_leaves_is_foretold_and_the_rest_is_unknown():
    kept = [Query("file", {"path": "/etc/motd"}), Query("torch", {"venv": "~/ml"}), Query("apt_package", {"name": "x"})]
    gone = [Query("os", {}), Query("service", {"name": "x"}), Query("file", {"path": "/run/x"}), BOOT]
    prediction = read().predict(facts({query: Known({}) for query in (*kept, *gone) if query != BOOT}))
    assert isinstance(prediction, Prediction)
    assert prediction.changes == (Change("node", "boot", "1a2b3c4d", "a new one"),)
    assert set(prediction.answers) == set(gone)
    assert all(isinstance(answer, Unknown) for answer in prediction.answers.values())


def test_who_is_logged_in_is_told_in_the_plan():
    (note,) = read().notes(facts(logged_in=["ops pts/0 2026-12-01 03:10 (10.0.4.2)"]))
    assert "ops pts/0" in note.summary
    assert read().notes(facts()) == ()


def test_another_boot_is_a_change_and_an_unreadable_one_is_none():
    before, after = read().state(facts()), read().state(facts(id="9f8e7d6c-1"))
    assert [held.text for held in (*before.values(), *after.values())] == ["1a2b3c4d", "9f8e7d6c"]
    assert read().state(facts(id=None)) == {}


@pytest.mark.parametrize("reason", ["", "two\nlines"])
def test_a_reason_is_one_line(reason):
    with pytest.raises(Invalid, match="`reason` is not one line of text"):
        read(reason=reason)


@pytest.mark.parametrize(
    ("ending", "output", "codes"),
    [
        (NotRebooted(OLD), "", ["SP281"]),
        (Exited(1), "$ reboot\nstackplan: the node is still up 540 s after `reboot`\n", ["SP281"]),
        (Exited(1), "$ reboot\nstackplan: reboot ended with exit status 1; the node was not restarted\n", []),
    ],
)
def test_a_node_that_stays_up_is_explained(ending, output, codes):
    evidence = Evidence(
        step="restart",
        at=AT,
        arguments=Arguments({}, AT),
        before=facts(),
        after=facts(),
        ending=ending,
        output=output,
        reason=Reason.TIMEOUT,
    )
    assert [it.code for it in read().diagnose(evidence)] == codes


def node(tmp_path: Path, *programs: str) -> Context:
    """A node with these programs, which say nothing."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for program in programs:
        (folder / program).write_text("#!/bin/sh\n")
        (folder / program).chmod(0o755)
    return Context(root=str(tmp_path), environment={"PATH": str(folder)})


def test_systemd_is_asked_where_it_runs_and_only_there(tmp_path):
    context = node(tmp_path, "systemctl", "reboot", "shutdown")
    assert boot.answer({}, context)["how"] == "shutdown"
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    assert boot.answer({}, context)["how"] == "systemctl"


def test_a_node_is_asked_for_its_boot_and_who_is_there(tmp_path):
    context = node(tmp_path, "reboot", "who")
    (tmp_path / "bin" / "who").write_text("#!/bin/sh\necho 'ops      pts/0        2026-12-01 03:10 (10.0.4.2)'\n")
    told = boot.answer({}, context)
    assert told["id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert told["logged_in"] == ["ops pts/0 2026-12-01 03:10 (10.0.4.2)"]
    assert (told["how"], told["busy"]) == ("reboot", [])


def test_only_who_forbids_a_shutdown_is_in_the_way():
    rows = [
        ["shutdown:sleep", "packagekit", "Package Update", "block", 0, 1719],
        ["sleep", "GNOME", "User session inhibited", "block", 1000, 4],
        ["shutdown", "Unattended Upgrades Shutdown", "Stop ongoing upgrades", "delay", 0, 5],
    ]
    text = json.dumps({"type": "a(ssssuu)", "data": [rows]})
    assert boot.parse_inhibitors(text) == ["process 1719 (packagekit) forbids a shutdown: Package Update"]
    assert boot.parse_inhibitors("Failed to connect") == []


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo no >&2; exit 1", "reboot ended with exit status 1; the node was not restarted"),
        ("exit 0", "the node is still up 0.2 s after `reboot`"),
    ],
)
def test_a_task_whose_node_does_not_go_down_fails_and_says_so(tmp_path, monkeypatch, capfd, script, said):
    (tmp_path / "reboot").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "reboot").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    current = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert reboot.perform({"boot": current, "how": "reboot", "timeout_s": 0.2}) == 1
    assert said in capfd.readouterr().out


def test_a_task_does_nothing_in_another_boot(tmp_path, monkeypatch, capfd):
    (tmp_path / "reboot").write_text(f"#!/bin/sh\ntouch {tmp_path}/restarted\n")
    (tmp_path / "reboot").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert reboot.perform({"boot": OLD, "how": "reboot", "timeout_s": 0.2}) == 1
    assert f"boot {OLD} is over already" in capfd.readouterr().out
    assert not (tmp_path / "restarted").exists()
