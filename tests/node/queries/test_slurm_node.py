"""`slurm_node`: what scontrol's line and squeue's rows amount to. A real Slurm: tests/slurm."""

import os

import pytest

from stackplan.node.context import CannotTell, ProbeFailed
from stackplan.node.queries import _slurm, slurm_node

HOST = os.uname().nodename
# As scontrol 22.05 prints it; an OS's name and a reason may hold anything.
LINE = (
    "NodeName={name} Arch=x86_64 CoresPerSocket=1  CPUAlloc=0 CPUEfctv=2 CPUTot=2 CPULoad=10.01 Gres=(null) "
    "NodeAddr={host} NodeHostName={host} Version=22.05.8 OS=Linux 6.1.0 #1 SMP Debian  RealMemory=1 Sockets=2 "
    "State={state} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=main,debug  BootTime=None "
    "CfgTRES=cpu=2,mem=1M,billing=2 AllocTRES= ExtSensorsTemp=n/s{tail}"
)


def line(state="IDLE", name="gpu-01", host=HOST, reason="", tail=""):
    about = f" Reason={reason}" if reason else ""
    return LINE.format(name=name, host=host, state=state, tail=about + tail)


@pytest.fixture
def ask(programs, context, tmp_path, monkeypatch):
    """Return what the query answers where scontrol prints these lines and squeue these rows."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "root" / "proc").mkdir()

    def answer(*lines, jobs="", node=None, steps=()):
        (tmp_path / "lines").write_text("".join(f"{it}\n" for it in lines))
        (tmp_path / "jobs").write_text(jobs)
        programs.write("scontrol", f"cat {tmp_path}/lines")
        programs.write("squeue", f"cat {tmp_path}/jobs")
        for number, step in enumerate(steps, 100):
            folder = tmp_path / "root" / "proc" / str(number)
            folder.mkdir()
            (folder / "cmdline").write_bytes(f"slurmstepd: [{step}]".encode() + b"\0")
        return slurm_node.answer({} if node is None else {"node": node}, context())

    return answer


@pytest.mark.parametrize(
    ("text", "base", "flags"),
    [
        ("IDLE", "IDLE", []),
        ("MIXED+DRAIN", "MIXED", ["DRAIN"]),
        ("IDLE+DRAIN+NOT_RESPONDING", "IDLE", ["DRAIN", "NOT_RESPONDING"]),
        ("DOWN*", "DOWN", ["NOT_RESPONDING"]),
        ("DOWN*+DRAIN", "DOWN", ["DRAIN", "NOT_RESPONDING"]),
        ("IDLE~", "IDLE", ["POWERED_DOWN"]),
        ("IDLE+MAINTENANCE+RESERVED", "IDLE", ["MAINTENANCE", "RESERVED"]),
        ("ALLOCATED+COMPLETING", "ALLOCATED", ["COMPLETING"]),
        ("MIXED^", "MIXED", ["REBOOT_ISSUED"]),
        ("IDLE-", "IDLE", ["PLANNED"]),
    ],
)
def test_states(text, base, flags):
    assert _slurm.parse_state(text) == (base, flags)


def test_a_state_that_is_not_known_is_not_guessed():
    with pytest.raises(CannotTell, match="not known here: WEIRD"):
        _slurm.parse_state("WEIRD+DRAIN")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", (None, None, None)),
        ("Not responding", ("Not responding", None, None)),
        ("fan [3] = bad [ada@2026-12-02T00:40:08]", ("fan [3] = bad", "ada", "2026-12-02T00:40:08")),
        ("two [root@2026-12-02T00:42:45]        lines [x]", ("two\nlines [x]", "root", "2026-12-02T00:42:45")),
        (
            "CUDA 13 [stackplan 6b4c7ed9] [root@2026-12-02T00:40:08]",
            ("CUDA 13 [stackplan 6b4c7ed9]", "root", "2026-12-02T00:40:08"),
        ),
    ],
)
def test_reasons(text, reason):
    assert _slurm.parse_reason(text) == reason


def test_a_line(ask):
    found = ask(
        line(state="MIXED+DRAIN", reason="a State=IDLE [ada@2026-12-02T00:40:08]", tail=" Comment=State=DOWN"),
        jobs="12|RUNNING|ada|tra|in\n13_4|COMPLETING|bob|eval\n",
        steps=["12.batch", "9.0"],
    )
    assert found == {
        "node": "gpu-01",
        "state": "MIXED+DRAIN",
        "base": "MIXED",
        "flags": ["DRAIN"],
        "reason": "a State=IDLE",
        "reason_user": "ada",
        "reason_since": "2026-12-02T00:40:08",
        "partitions": ["main", "debug"],
        "draining": True,
        "available": False,
        "occupants": [
            "job 12 of ada (tra|in), running",
            "job 13_4 of bob (eval), completing",
            "job step 9.0, a process on the node",
        ],
        "ours": None,
        "mark": None,
        "user": found["user"],
    }


def test_jobs_that_this_user_may_not_see(ask):
    assert ask(line(state="ALLOCATED+DRAIN"))["occupants"] == ["jobs that squeue does not show to this user"]
    assert ask(line(state="IDLE+COMPLETING+DRAIN"))["occupants"] == ["a job that is completing"]


@pytest.mark.parametrize(
    ("state", "available"),
    [("IDLE", True), ("MIXED+PLANNED", True), ("IDLE+RESERVED", False), ("IDLE*", False), ("DOWN", False)],
)
def test_whether_new_jobs_can_start(ask, state, available):
    assert ask(line(state=state))["available"] is available


def test_which_node_this_machine_is(ask):
    here, other = line(), line(name="gpu-02", host="elsewhere")
    assert ask(other, here)["node"] == "gpu-01"
    assert ask(here, line(name="login", host=f"{HOST}.example.org"), node="login")["node"] == "login"
    with pytest.raises(CannotTell, match="none of Slurm's 1 nodes is on"):
        ask(other)
    with pytest.raises(CannotTell, match=r"several nodes .* gpu-01, gpu-03; name one by `node`"):
        ask(here, line(name="gpu-03"))


def test_no_controller(programs, context):
    programs.write("scontrol", "echo 'slurm_load_node error: Unable to contact slurm controller' >&2; exit 1")
    with pytest.raises(ProbeFailed, match="does not show gpu-01: slurm_load_node error: Unable to contact"):
        slurm_node.answer({"node": "gpu-01"}, context())


def test_no_slurm(context):
    with pytest.raises(CannotTell, match="there is no program scontrol"):
        slurm_node.answer({"node": "gpu-01"}, context("/nowhere"))


def test_squeue_that_fails_is_not_an_empty_node(programs, context, ask):
    ask(line())
    programs.write("squeue", "echo down >&2; exit 1")
    with pytest.raises(ProbeFailed, match="squeue ended with exit status 1"):
        slurm_node.answer({}, context())
