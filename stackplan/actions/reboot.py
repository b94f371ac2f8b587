"""Restarting a node, and waiting until it answers from another boot."""

from collections.abc import Mapping

from stackplan.actions._target import told
from stackplan.model.arguments import Arguments
from stackplan.model.change import Change, Held, State
from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.model.facts import Answer, Facts, Known, Plain, Query, Unknown
from stackplan.model.frozen import dataclass
from stackplan.model.job import Exited, Job, NotRebooted, Task
from stackplan.model.kind import ActionKind, CannotAct, Evidence, Prediction

TIMEOUT_S = 1200.0
# What of its time the node has to go down; the rest is for coming up.
_DOWN_SHARE = 0.9
_QUERY = Query("boot", {})
_DISPLAY = {"systemctl": "systemctl reboot", "shutdown": "shutdown -r now", "reboot": "reboot"}
# Questions about what lies on the disk, which a restart leaves as it is. Everything else may be another afterwards.
_LASTING = frozenset(
    {
        "apt_package",
        "cuda_libraries",
        "distributions",
        "dpkg",
        "file",
        "history",
        "installer",
        "link_end",
        "nvcc",
        "records",
        "snapshot_room",
        "snapshots",
        "sudo",
        "target",
        "toolkit_build",
        "torch",
        "torch_arch",
    }
)
# Folders that live in memory, or that are emptied when the system starts.
_PASSING = ("/dev/", "/proc/", "/run/", "/sys/", "/tmp/", "/var/run/")  # noqa: S108 - compared with, never written to


@dataclass(frozen=True, slots=True, kw_only=True)
class Reboot(ActionKind):
    """Restarts the node, waits until it answers again, and proves that it did so from another boot.

    The id of the kernel's boot (/proc/sys/kernel/random/boot_id) is read before and after: a connection that was lost
    and came back is no proof, and a node that answers while it is still going down is waited for. A boot id that cannot
    be read is unknown and never success. Host keys are checked as ever when the node comes back. What has to hold then
    (a kernel, a driver, a service) belongs into the postconditions; give those that need a moment a `within`.

    It does not start while a package manager is at work or something on the node forbids a shutdown; who is logged in
    is told in the plan. It needs the right to restart the node, so `become: true` where the login is not root's.
    `timeout` bounds all of it, from the call to the new boot's answer, in place of the step's own time limit.

    The step is satisfied, and nothing is restarted, when its postconditions hold already: state what is to be
    different, such as the kernel that runs, or set `always: true`. A run whose controller was killed meanwhile does not
    restart the node a second time.
    """

    timeout_s: float = TIMEOUT_S
    reason: str | None = None

    @classmethod
    def read(cls, arguments: Arguments) -> "Reboot":
        reason = arguments.optional_text("reason")
        if reason is not None and (not reason.strip() or any(ord(character) < 32 for character in reason)):
            raise arguments.invalid("reason", "`reason` is not one line of text", expected="what the log is to say")
        return cls(timeout_s=arguments.duration_s("timeout", TIMEOUT_S), reason=reason and reason.strip())

    def describe(self) -> str:
        return f"restart the node ({self.reason})" if self.reason else "restart the node"

    def queries(self) -> tuple[Query, ...]:
        return (_QUERY,)

    def new_boot_within_s(self) -> float:
        return self.timeout_s

    def job(self, facts: Facts) -> Job | CannotAct:
        answer = facts[_QUERY]
        if not isinstance(answer, Known):
            return CannotAct(f"it is not known in which boot the node is: {answer.why}")
        about = told(answer)
        obstacle = _obstacle(about)
        if obstacle is not None:
            return obstacle
        boot, how = str(about["id"]), str(about["how"])
        given = {"boot": boot, "how": how, "reason": self.reason, "timeout_s": self.timeout_s * _DOWN_SHARE}
        display = f"{_DISPLAY[how]}  # {self.reason}" if self.reason else _DISPLAY[how]
        return Job((Task(kind="reboot", arguments=given, display=display),), ends_boot=boot)

    def state(self, facts: Facts) -> State:
        boot = told(facts[_QUERY]).get("id")
        return {} if boot is None else {("node", "boot"): Held(_short(str(boot)), str(boot))}

    def predict(self, facts: Facts) -> Prediction | Unknown:
        boot = told(facts[_QUERY]).get("id")
        if boot is None:
            return Unknown("the node's boot id is not known")
        gone = Unknown("the node would have been restarted by then")
        answers: dict[Query, Answer] = {query: gone for query in facts.answers if not _lasts(query)}
        return Prediction(changes=(Change("node", "boot", _short(str(boot)), "a new one"),), answers=answers)

    def notes(self, facts: Facts) -> tuple[Diagnosis, ...]:
        found = told(facts[_QUERY]).get("logged_in")
        if not isinstance(found, list) or not found:
            return ()
        summary = f"A restart cuts off who is logged in: {'; '.join(str(it) for it in found)}."
        return (Diagnosis(summary=summary, severity=Severity.WARNING),)

    def diagnose(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        stayed = isinstance(evidence.ending, NotRebooted) or (
            isinstance(evidence.ending, Exited) and "stackplan: the node is still up" in evidence.output
        )
        return (_stayed_up(evidence),) if stayed else ()


def _obstacle(about: Mapping[str, Plain]) -> CannotAct | None:
    """Return why the node is not to be restarted now, or None."""
    if about["uid"] != 0:
        return CannotAct(f"{about['user']} may not restart the node", "Add `become: true` to the step.")
    if about["id"] is None:
        return CannotAct(
            "the node's boot id cannot be read, so nothing could prove that it was restarted",
            "Look at /proc/sys/kernel/random/boot_id on the node: is /proc mounted, is it a container?",
        )
    if about["how"] is None:
        return CannotAct("there is no systemctl, shutdown or reboot on the node", "Look at the PATH of the login.")
    busy = about["busy"]
    if isinstance(busy, list) and busy:
        return CannotAct(
            f"a restart would cut off what is at work: {'; '.join(str(it) for it in busy)}",
            "Wait until that has ended, and run it again.",
        )
    return None


def _lasts(query: Query) -> bool:
    """Tell whether a question is about what lies on the disk."""
    path = query.arguments.get("path")
    return query.kind in _LASTING and not (isinstance(path, str) and f"{path}/".startswith(_PASSING))


def _stayed_up(evidence: Evidence) -> Diagnosis:
    """SP281: the node was told to restart and is still up."""
    return Diagnosis(
        code="SP281",
        summary="The node was told to restart, and its old boot goes on.",
        at=evidence.at,
        step=evidence.step,
        remedy="Look at what holds its shutdown up (`systemctl list-jobs` there), or give `timeout` more.",
        remedy_at=evidence.arguments.place("timeout"),
    )


def _short(boot: str) -> str:
    return boot.partition("-")[0]


KIND = Reboot
