"""Services that a run left running and that may still use what its rollback replaces or takes away; pure.

A program keeps what it has loaded, and no rollback restarts it. Said is only what is on record: that the run started
the service, after it had written a thing that is put back. Whether the service uses that thing is not known.
"""

from collections.abc import Iterable, Mapping, Sequence

from stackplan.engine.take_back import Thing
from stackplan.model.change import Change
from stackplan.model.frozen import dataclass
from stackplan.model.report import ActionReport

_RUNNING = ("active", "reloading")
_FROM = "from files that are replaced or gone, as far as it uses them"
_DONE_BY = {"restart": "restarted", "reload": "reloaded"}


@dataclass(frozen=True, slots=True)
class ServiceMoved:
    """What a step of the run did to a service: `how` is started, restarted or reloaded, None where it stopped it.

    `ran` is whether it ran ahead of the step; one that was started did not.
    """

    name: str
    how: str | None
    ran: bool = True


@dataclass(frozen=True, slots=True)
class LeftRunning:
    """A service that was `how` (started, restarted, reloaded) after the run wrote `paths`, which are put back.

    `verb` is what systemctl has to do: stop what did not run before the run, else restart or reload it.
    """

    name: str
    how: str
    paths: tuple[str, ...]
    verb: str

    @property
    def sentence(self) -> str:
        """What the user has to know of it once these paths are put back, without a full stop."""
        return f"{self._what_to_do}; until then it runs, unless it was stopped since, {_FROM}"

    @property
    def warning(self) -> str:
        """What the user has to know of it before they are put back: a restart ahead of that does not help."""
        return f"{self._what_to_do} after the rollback; until then it will run {_FROM}"

    @property
    def _what_to_do(self) -> str:
        before = ", which did not run before," if self.verb == "stop" else ""
        after = f"after it wrote {', '.join(self.paths)}"
        return f"service {self.name}{before} was {self.how} by the run {after}: {self.verb} it"


def services_moved(changes: Iterable[Change], action: ActionReport | None) -> tuple[ServiceMoved, ...]:
    """Return which services a step started, restarted, reloaded or stopped, by what it proved to have changed."""
    commands = ((action.command if action is not None else None) or "").splitlines()
    found = []
    for change in changes:
        if change.kind != "service":
            continue
        if not _runs(change.after):
            found.append(ServiceMoved(change.name, None, _runs(change.before)))
            continue
        how = next((word for verb, word in _DONE_BY.items() if f"systemctl {verb} {change.name}" in commands), None)
        if not _runs(change.before):
            how = "started"
        elif how is None and change.before == change.after:
            # A service that reads as before and counts as changed is a new process.
            how = "restarted"
        # What is left was running all along, and was enabled or disabled.
        if how is not None:
            found.append(ServiceMoved(change.name, how, _runs(change.before)))
    return tuple(found)


def _runs(state: str | None) -> bool:
    return state is not None and state.startswith(_RUNNING)


def left_running(moved: Mapping[str, Sequence[ServiceMoved]], things: Sequence[Thing]) -> tuple[LeftRunning, ...]:
    """Return the services that may use what is put back. `moved` has the run's steps in the order in which they ran."""
    back = [it for it in things if it.why is None and it.changes]
    written: dict[str, None] = {}
    found: dict[str, LeftRunning] = {}
    ran: dict[str, bool] = {}
    for step, services in moved.items():
        written.update(dict.fromkeys(it.path for it in back if step in it.steps))
        for service in services:
            before = found.pop(service.name, None)
            ran.setdefault(service.name, service.ran)
            if service.how is None:
                continue
            # One that reads its settings anew is still the process that was started before.
            how = before.how if before is not None and service.how == "reloaded" else service.how
            verb = "stop" if not ran[service.name] else "reload" if how == "reloaded" else "restart"
            found[service.name] = LeftRunning(service.name, how, tuple(written), verb)
    return tuple(it for it in found.values() if it.paths)


def next_step(left: Sequence[LeftRunning]) -> str | None:
    """Return how these services come to run from what was put back, or to rest; None where there are none."""
    if not left:
        return None
    commands = []
    # Stopped first: once systemd has read that a unit is gone, it does not know any more how to stop it.
    for verb in ("stop", "daemon-reload", "restart", "reload"):
        names = [it.name for it in left if it.verb == verb]
        if names:
            commands.append(f"systemctl {verb} {' '.join(names)}")
        elif verb == "daemon-reload" and any("/systemd/" in path for it in left for path in it.paths):
            commands.append("systemctl daemon-reload")
    return f"run `{' && '.join(commands)}` on the node"
