"""`slurm_node` against Debian's slurmctld and slurmd: what is drained, waited for, left alone and taken back."""

import pytest

from stackplan.model.change import Change
from stackplan.model.facts import Query
from stackplan.model.job import Exited
from tests.node.waiting import wait_until


def drain(cluster, **values):
    return cluster.act("slurm_node", **{"state": "drain", "reason": "CUDA 13", "timeout": "60s", **values})


def resume(cluster, **values):
    return cluster.act("slurm_node", **{"state": "resume", **values})


def test_an_idle_node_is_drained_and_given_back(cluster):
    ending, output, changes = drain(cluster)
    assert ending == Exited(0), output
    assert cluster.state() == {"IDLE", "DRAIN"}
    assert cluster.reason().startswith("CUDA 13 [stackplan ")
    assert changes == (Change("slurm", "gpu-01", "in service", "drained: CUDA 13 (stackplan)"),)
    (record,) = (cluster.folder / "state").glob("stackplan/*/drains/slurm-gpu-01.json")
    assert record.stat().st_mode & 0o777 == 0o600

    ending, output, changes = resume(cluster)
    assert ending == Exited(0), output
    assert cluster.state() == {"IDLE"}
    assert cluster.reason() == ""
    assert not record.exists()
    assert [change.before for change in changes] == ["drained: CUDA 13 (stackplan)"]


def said_by_then(cluster, name, words):
    """Return whether a job of stackplan's has printed some words by now."""
    return any(words in path.read_text() for path in (cluster.folder / "state").rglob("output") if name in path.parts)


def test_a_job_that_runs_is_waited_for(cluster):
    gate = cluster.folder / "gate"
    number = cluster.submit(f"while [ ! -e {gate} ]; do sleep 0.1; done")
    prediction = cluster.predict("slurm_node", state="drain", reason="CUDA 13")
    assert prediction.details == (f"waits for job {number} of root (wrap), running",)
    name, _ = cluster.start("slurm_node", state="drain", reason="CUDA 13", timeout="60s")
    # A job that ends before it was seen is not waited for.
    wait_until(lambda: said_by_then(cluster, name, f"job {number} of root"), 60)
    assert cluster.state() == {"MIXED", "DRAIN"}
    gate.touch()
    ending, output = cluster.watch(name)
    gate.unlink()
    assert ending == Exited(0), output
    assert f"job {number} of root (wrap), running" in output
    assert cluster.state() == {"IDLE", "DRAIN"}


def test_a_job_that_does_not_end_costs_the_wait_and_no_more(cluster):
    number = cluster.submit("sleep 600")
    ending, output, changes = drain(cluster, timeout="1s")
    assert ending == Exited(1)
    assert f"after 1s gpu-01 is not empty: job {number} of root (wrap), running" in output
    assert cluster.state() == {"MIXED"}, "the drain is taken back"
    assert changes == ()
    assert cluster.run("squeue", "--noheader", "--format=%T", f"--jobs={number}").strip() == "RUNNING"


def test_the_drain_stays_after_the_wait_where_the_playbook_says_so(cluster):
    cluster.submit("sleep 600")
    ending, output, _ = drain(cluster, timeout="1s", on_timeout="stay")
    assert ending == Exited(1), output
    assert cluster.state() == {"MIXED", "DRAIN"}


def test_a_wait_that_is_ended_takes_the_drain_back(cluster):
    cluster.submit("sleep 600")
    name, _ = cluster.start("slurm_node", state="drain", reason="CUDA 13", timeout="60s")
    wait_until(lambda: cluster.state() == {"MIXED", "DRAIN"})
    cluster.open().terminate(name, grace_s=30)
    cluster.watch(name)
    wait_until(lambda: cluster.state() == {"MIXED"})


def test_what_others_drained_stays_drained_with_the_same_reason(cluster):
    cluster.update("State=DRAIN", "Reason=broken fan, ask Ada")
    before = cluster.reason()
    for act in (drain, resume, drain, resume):
        ending, output, changes = act(cluster)
        assert ending == Exited(0), output
        assert changes == ()
    assert cluster.state() == {"IDLE", "DRAIN"}
    assert cluster.reason() == before
    assert before.startswith("broken fan, ask Ada [root@")


def test_jobs_under_a_drain_of_others_are_waited_for_and_the_drain_stays(cluster):
    cluster.submit("sleep 600")
    cluster.update("State=DRAIN", "Reason=broken fan")
    before = cluster.reason()
    ending, output, _ = drain(cluster, timeout="1s")
    assert ending == Exited(1), output
    assert "that drain is left as it is" in output
    assert (cluster.state(), cluster.reason()) == ({"MIXED", "DRAIN"}, before)


def test_a_drain_that_somebody_sets_anew_meanwhile_is_not_taken_back(cluster):
    drain(cluster)
    cluster.update("State=DRAIN", "Reason=broken fan")
    ending, output, _ = resume(cluster)
    assert ending == Exited(0), output
    assert "drained anew by root: broken fan" in output
    assert cluster.state() == {"IDLE", "DRAIN"}
    assert cluster.reason().startswith("broken fan [root@")


def test_a_node_that_is_down_is_down_again_with_its_reason(cluster):
    cluster.update("State=DOWN", "Reason=no GPU 3", node="gpu-02")
    ending, output, changes = drain(cluster, node="gpu-02")
    assert ending == Exited(0), output
    assert cluster.state("gpu-02") == {"DOWN", "DRAIN"}
    assert [change.before for change in changes] == ["down: no GPU 3 (root)"]
    ending, output, _ = resume(cluster, node="gpu-02")
    assert ending == Exited(0), output
    assert cluster.state("gpu-02") == {"DOWN"}
    assert cluster.reason("gpu-02").startswith("no GPU 3 [root@")


def test_a_node_that_goes_down_under_the_drain_is_given_back_up(cluster):
    """A reboot under the drain, where slurmctld waits for somebody to look at it (ReturnToService)."""
    drain(cluster)
    mine = cluster.reason().partition(" [root@")[0]
    cluster.update("State=DOWN", f"Reason={mine}")
    assert cluster.state() == {"DOWN", "DRAIN"}
    ending, output, _ = resume(cluster)
    assert ending == Exited(0), output
    wait_until(lambda: cluster.state() == {"IDLE"})


def test_two_runs_in_a_row_end_where_they_began(cluster):
    drain(cluster)
    ending, output, changes = drain(cluster)
    assert (ending, changes) == (Exited(0), ()), output
    resume(cluster)
    ending, output, changes = resume(cluster)
    assert (ending, changes) == (Exited(0), ()), output
    assert "has no drain on gpu-01 to take back" in output
    assert cluster.state() == {"IDLE"}


def test_a_controller_that_fails_over_is_waited_for(cluster):
    gate = cluster.folder / "gate"
    cluster.submit(f"while [ ! -e {gate} ]; do sleep 0.1; done")
    name, _ = cluster.start("slurm_node", state="drain", reason="CUDA 13", timeout="60s")
    wait_until(lambda: cluster.state() == {"MIXED", "DRAIN"})
    cluster.stop_controller()
    try:
        spool = next((cluster.folder / "state").glob(f"stackplan/*/spool/{name}"))
        wait_until(lambda: b"scontrol does not show" in (spool / "output").read_bytes(), 60)
    finally:
        cluster.start_controller()
    gate.touch()
    ending, output = cluster.watch(name)
    gate.unlink()
    assert ending == Exited(0), output
    assert cluster.state() == {"IDLE", "DRAIN"}
    ending, output, _ = resume(cluster)
    assert ending == Exited(0), output


def test_without_a_controller_nothing_is_started_and_nothing_claimed(cluster):
    cluster.stop_controller()
    try:
        refused = cluster.refusal("slurm_node", state="drain", reason="CUDA 13")
    finally:
        cluster.start_controller()
    assert "it is not known how the node stands in Slurm" in refused.summary
    assert "Unable to contact slurm controller" in refused.summary


@pytest.mark.parametrize(("name", "why"), [("gpu-09", "gpu-09 not found"), ("gpu-[01-02]", "has no node")])
def test_a_node_that_slurm_does_not_know(cluster, name, why):
    query = Query("slurm_node", {"node": name})
    assert why in cluster.ask(query)[query].why


def test_the_drain_is_kept_apart_by_user(cluster):
    drain(cluster)
    (record,) = (cluster.folder / "state").glob("stackplan/*/drains/slurm-gpu-01.json")
    kept = record.read_bytes()
    record.unlink()
    refused = cluster.refusal("slurm_node", state="resume")
    assert "has no record of it" in refused.summary
    record.write_bytes(kept)
    ending, output, _ = resume(cluster)
    assert ending == Exited(0), output
