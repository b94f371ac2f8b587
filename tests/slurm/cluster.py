"""A Slurm of this machine's own programs: munged, slurmctld and one slurmd, on free ports of loopback.

They live in a process namespace of their own, and with it they end. `gpu-01` is this machine; `gpu-02` is a name to
which no slurmd belongs, so it is never up.
"""

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.node.isolated import IsolatedNode
from tests.node.waiting import wait_until

PROGRAMS = ("slurmctld", "slurmd", "munged", "scontrol", "squeue", "sbatch", "nsenter")
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
_CONFIGURATION = """
ClusterName=stackplan
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/saved
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=1
ReturnToService=1
MessageTimeout=5
KillWait=1
SlurmdParameters=config_overrides
NodeName=gpu-01 NodeHostName={host} NodeAddr=127.0.0.1 Port={node_port} CPUs=4 State=UNKNOWN
NodeName=gpu-02 NodeHostName=elsewhere NodeAddr=127.0.0.1 Port={dead_port} CPUs=4 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=debug Nodes=gpu-01 State=UP
"""
_START = """
set -e
mount -t proc proc /proc
head -c 128 /dev/urandom > "$1/munge.key"
chmod 400 "$1/munge.key"
munged --force --key-file="$1/munge.key" --socket="$1/munge.socket" --pid-file="$1/munge.pid" \\
  --log-file="$1/munge.log" --seed-file="$1/munge.seed" --num-threads=2
slurmctld -i
slurmd -N gpu-01
echo started
exec cat
"""


def missing() -> str | None:
    """Return what keeps a Slurm from running here, or None."""
    if os.geteuid() != 0:
        return "needs root"
    absent = [it for it in PROGRAMS if shutil.which(it, path=_PATH) is None]
    if absent:
        return f"Slurm is not installed: {', '.join(absent)}"
    argv = ["unshare", "--mount", "--pid", "--fork", "--propagation", "private", "mount", "-t", "proc", "proc", "/proc"]
    if subprocess.run(argv, check=False, capture_output=True).returncode != 0:
        return "process namespaces are not allowed here"
    return None


@dataclass
class Cluster(IsolatedNode):
    folder: Path = field(default_factory=Path)

    @property
    def environment(self) -> dict[str, str]:
        """What a login needs to reach it from outside its namespace."""
        return {"SLURM_CONF": f"{self.folder}/slurm.conf"}

    def line(self, node: str = "gpu-01") -> str:
        """Return what Slurm says of a node, once it says anything: a busy machine lets it wait."""
        argv = [*self.enter, "scontrol", "--oneliner", "show", "node", node]
        said: list[str] = []

        def answers() -> bool:
            done = subprocess.run(argv, check=False, capture_output=True, text=True)
            said.append(done.stdout)
            return done.returncode == 0

        wait_until(answers, 60)
        return said[-1]

    def state(self, node: str = "gpu-01") -> set[str]:
        """Return the words of the node's state; a slurmd that has just registered may not have answered a ping yet."""
        word = self.line(node).partition(" State=")[2].split()[0]
        return {*word.split("+")} - {"NOT_RESPONDING"}

    def reason(self, node: str = "gpu-01") -> str:
        return self.line(node).partition(" Reason=")[2].strip()

    def update(self, *what: str, node: str = "gpu-01") -> None:
        self.run("scontrol", "update", f"NodeName={node}", *what)

    def submit(self, script: str) -> str:
        """Start a job on gpu-01 and return its number once it runs."""
        argv = ["sbatch", "--parsable", "--chdir=/", "--output=/dev/null", "--nodelist=gpu-01", "--wrap", script]
        number = self.run(*argv).strip()
        wait_until(lambda: self.run("squeue", "--noheader", "--format=%T", f"--jobs={number}").strip() == "RUNNING", 60)
        # Slurm calls it running before its process is there; cancelled in between, that comes when nobody expects it.
        wait_until(lambda: any(it.startswith(f"slurmstepd: [{number}.") for it in _steps()), 60)
        return number

    def clear(self) -> None:
        """Make gpu-01 idle and empty again."""
        self.run("scancel", "--nodelist=gpu-01", "--user=root", "--signal=KILL", "--full")
        self.run("scancel", "--nodelist=gpu-01", "--user=root")
        wait_until(lambda: not self.run("squeue", "--noheader"), 60)
        if self.state() & {"DRAIN", "DOWN"}:
            self.update("State=RESUME")
        wait_until(lambda: self.state() == {"IDLE"}, 60)
        # A step's process outlives its job for a moment, and the node is not empty as long as it does.
        wait_until(lambda: not _steps(), 60)
        shutil.rmtree(self.folder / "state", ignore_errors=True)

    def stop_controller(self) -> None:
        """End it as an administrator does: it saves its state first."""
        pid = (self.folder / "slurmctld.pid").read_text().strip()
        self.run("kill", pid)
        wait_until(lambda: not self.inside(f"/proc/{pid}/exe").exists(), 60)

    def start_controller(self) -> None:
        self.run("slurmctld")
        self.line()


@contextlib.contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    """Yield a cluster whose node is idle."""
    (folder / "saved").mkdir()
    (folder / "spool").mkdir()
    folder.chmod(0o755)
    ports = _free_ports(3)
    text = _CONFIGURATION.format(
        host=os.uname().nodename.partition(".")[0],
        folder=folder,
        controller_port=ports[0],
        node_port=ports[1],
        dead_port=ports[2],
    )
    (folder / "slurm.conf").write_text(text)
    settings = {**os.environ, "PATH": _PATH, "SLURM_CONF": f"{folder}/slurm.conf"}
    argv = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]
    argv += ["/bin/sh", "-c", _START, "cluster", str(folder)]
    said = folder / "said"
    with (
        said.open("wb") as errors,
        subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=settings) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"started\n", said.read_text(errors="replace")
            first = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0]
            enter = ("nsenter", "--mount", "--pid", f"--target={first}", "--", "env", f"PATH={_PATH}")
            enter += (f"SLURM_CONF={folder}/slurm.conf", f"XDG_STATE_HOME={folder}/state")
            cluster = Cluster(process, enter, folder=folder)
            wait_until(lambda: cluster.state() == {"IDLE"}, 60)
            yield cluster
        finally:
            process.stdin.close()
            process.kill()
            process.wait(15)


def _steps() -> list[str]:
    """Return how the processes of the job steps are called, those of any Slurm on this machine."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(place.read_bytes().decode("utf-8", "replace"))
    return [it for it in found if it.startswith("slurmstepd: [")]


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [probe.getsockname()[1] for probe in probes]
