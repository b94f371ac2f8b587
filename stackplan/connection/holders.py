"""What lives of runs on a node, as the node program tells it: pure."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from stackplan.connection.lock_owner import LockOwner
from stackplan.model.frozen import dataclass
from stackplan.model.quantity import duration_text


@dataclass(frozen=True, slots=True, kw_only=True)
class LivingJob:
    """A job of which something lives. Not `supervised`: its supervisor was killed, and `processes` live on.

    `age_s` and `timeout_s` are None where the node does not know them.
    """

    job: str
    age_s: float | None = None
    timeout_s: float | None = None
    supervised: bool = True
    processes: Mapping[int, str] = field(default_factory=dict)

    @property
    def step(self) -> str:
        """The step that it belongs to. RUN.NODE.STEP.ATTEMPT, where a node's name alone may hold further dots."""
        return self.job.rsplit(".", 2)[1] if self.job.count(".") > 1 else self.job

    @property
    def text(self) -> str:
        age = f" for {duration_text(self.age_s)}" if self.age_s is not None else ""
        alone = "" if self.supervised else ", without its supervisor"
        return f"step `{self.step}` has been running there{age}{alone}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Holders:
    """Who holds a node. `owner` None with `held`: whoever it is does not say; `programs` are connected to a controller.

    A node may hold no lock and `jobs` all the same: what a killed supervisor had started.
    """

    held: bool
    owner: LockOwner | None = None
    age_s: float | None = None
    programs: Mapping[int, str] = field(default_factory=dict)
    jobs: tuple[LivingJob, ...] = ()

    @property
    def none(self) -> bool:
        """Whether nobody holds the node and nothing lives there of any run."""
        return not self.held and not self.programs and not self.jobs


def read_holders(told: Any) -> Holders:
    """Return who holds a node. Raise ValueError, TypeError, KeyError or AttributeError for what says nothing of use."""
    return Holders(
        held=told["owner"] is not None,
        owner=LockOwner.read(told["owner"]),
        age_s=number(told.get("age_s")),
        programs=read_processes(told.get("programs")),
        jobs=read_jobs(told.get("jobs")),
    )


def read_jobs(told: Any) -> tuple[LivingJob, ...]:
    return tuple(
        LivingJob(
            job=str(it["job"]),
            age_s=number(it.get("age_s")),
            timeout_s=number(it.get("timeout_s")),
            supervised=bool(it.get("supervised")),
            processes=read_processes(it.get("processes")),
        )
        for it in told or ()
    )


def read_processes(told: Any) -> dict[int, str]:
    return {int(pid): str(name) for pid, name in (told or {}).items()}


def number(told: Any) -> float | None:
    return None if told is None else float(told)
