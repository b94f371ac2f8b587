"""What can go wrong between here and a node, each by its own name.

ConnectionFailure
    NodeUnreachable         no way to the node: name, address, port, time limit; trying again may help
        ConnectingCut       something answered and then closed the connection; trying again at once may help
    PackageMissing          a Python package of this machine that the way to the node needs cannot be imported
    HostKeyUnknown          nobody has vouched for the key that it shows
    HostKeyChanged          it shows another key than the one on record
    AuthenticationRefused
    NodeProgramMissing      the login works, the node program does not answer
        PythonTooOld
        PythonUnusable      there is none, or it may not be executed
        SudoRefused
        ShellEnded          with an exit status, for a reason that is not known
        ProgramSilent       within the time that it had
    ConnectionLost          it was there and is gone
    NodeProgramFailed       the node program could not do what it was asked
    Locked                  another run holds the node
        LeftOver            what an earlier run started lives on without it
        RunGoesOn           the run that is to be taken up again still has a controller
    LockBroken              somebody broke the lock of this run while it was away
"""

from collections.abc import Mapping

from stackplan.connection.holders import LivingJob
from stackplan.connection.lock_owner import LockOwner
from stackplan.model.quantity import duration_text

_MOST_PRINTED = 2000
_MOST_PROCESSES = 5


def bounded(printed: str) -> str:
    """Return the end of what a node printed, as much of it as a message may hold."""
    left_out = len(printed) - _MOST_PRINTED
    return printed if left_out <= 0 else f"[{left_out} characters before this]\n{printed[-_MOST_PRINTED:]}"


class ConnectionFailure(Exception):
    """`summary` says what was expected and what was seen, `remedy` what to do about it (None rather than a guess)."""

    def __init__(self, summary: str, remedy: str | None = None) -> None:
        super().__init__(summary)
        self.summary = summary
        self.remedy = remedy


class NodeUnreachable(ConnectionFailure):
    pass


class ConnectingCut(NodeUnreachable):
    pass


class PackageMissing(ConnectionFailure):
    pass


class HostKeyUnknown(ConnectionFailure):
    pass


class HostKeyChanged(ConnectionFailure):
    pass


class AuthenticationRefused(ConnectionFailure):
    pass


class NodeProgramMissing(ConnectionFailure):
    """`printed` is the end of what came instead of the node program's answer: profiles, shells and sudo speak there.

    `what` is the summary without it.
    """

    def __init__(self, summary: str, remedy: str | None = None, *, printed: str = "") -> None:
        shown = bounded(printed)
        super().__init__(f"{summary}; the node printed:\n{shown}" if shown else summary, remedy)
        self.what = summary
        self.printed = shown


class PythonTooOld(NodeProgramMissing):
    pass


class PythonUnusable(NodeProgramMissing):
    pass


class SudoRefused(NodeProgramMissing):
    pass


class ShellEnded(NodeProgramMissing):
    def __init__(self, status: int, printed: str) -> None:
        super().__init__(
            f"the login works, but instead of the node program the shell ended with exit status {status}",
            "look at the login's shell and profile: they must let `/bin/sh -c …` run",
            printed=printed,
        )
        self.status = status


class ProgramSilent(NodeProgramMissing):
    pass


class ConnectionLost(ConnectionFailure):
    pass


class NodeProgramFailed(ConnectionFailure):
    pass


class Locked(ConnectionFailure):
    """`owner` None: the node does not say who holds it. `jobs` are what runs there of that run.

    Not `attended`: its controller is gone, and only what it had started holds the node.
    """

    def __init__(
        self,
        owner: LockOwner | None,
        *,
        age_s: float | None = None,
        attended: bool = True,
        jobs: tuple[LivingJob, ...] = (),
    ) -> None:
        self.owner = owner
        self.attended = attended
        self.jobs = jobs
        age = "" if age_s is None else f", for {duration_text(age_s)}"
        held = (
            f"by run {owner.run} of {owner.operator} on {owner.host} "
            f"(playbook {owner.playbook}, since {owner.time}{age})"
            if owner
            else "by another run"
        )
        gone = "" if attended else "; its controller is gone"
        running = "; ".join(job.text for job in jobs) or "nothing runs there at the moment"
        super().__init__(f"the node is locked {held}{gone}; {running}", _way_out(owner, attended=attended))


def _way_out(owner: LockOwner | None, *, attended: bool) -> str:
    if attended or owner is None:
        return "wait until that run has ended; `stackplan unlock` ends what it runs there and breaks the lock"
    return (
        f"`stackplan resume {owner.run}` takes that run up again; `stackplan unlock` ends what it runs there "
        "and breaks the lock"
    )


class RunGoesOn(Locked):
    """The journal of the run is held by a controller that lives."""

    def __init__(self, run: str, controller: str) -> None:
        super().__init__(None)
        self.summary = f"run {run} is still going on: {controller} works on it"
        self.remedy = "wait until it has ended, or end it there with Ctrl-C"
        self.args = (self.summary,)


class LockBroken(ConnectionFailure):
    """`by` names who broke the lock, as far as the node knows."""

    def __init__(self, by: str) -> None:
        super().__init__(
            f"the lock that this run held on the node was broken by {by} while the connection was away",
            "ask them why, then take the run up again",
        )


class LeftOver(Locked):
    """The supervisor of `job` was killed; `processes` that its action consists of live on."""

    def __init__(self, job: str, processes: Mapping[int, str]) -> None:
        super().__init__(None)
        self.job = job
        self.processes = dict(processes)
        named = ", ".join(f"{name} ({pid})" for pid, name in sorted(self.processes.items())[:_MOST_PROCESSES])
        more = len(self.processes) - _MOST_PROCESSES
        run, step = job.split(".", 1)[0], LivingJob(job=job).step
        self.summary = (
            f"the action of step `{step}` of run {run} still runs on the node, although its supervisor was killed: "
            f"{named}{f' and {more} more' if more > 0 else ''}"
        )
        numbers = " ".join(str(pid) for pid in sorted(self.processes))
        self.remedy = f"wait until it has ended, or end it: `stackplan unlock`, or on the node `kill {numbers}`"
        self.args = (self.summary,)
