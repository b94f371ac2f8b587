"""Starting, stopping, restarting, reloading, enabling and disabling a systemd unit."""

import enum
from collections.abc import Mapping
from typing import ClassVar

from stackplan.actions._service_failures import explain_service_failure
from stackplan.actions._target import told
from stackplan.model.arguments import Arguments, Path, Value
from stackplan.model.change import Change, State, differences
from stackplan.model.condition import Condition
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.facts import Answer, Facts, Known, Plain, Query, Unknown
from stackplan.model.frozen import dataclass
from stackplan.model.job import Job, Task
from stackplan.model.kind import ActionKind, CannotAct, Evidence, Prediction
from stackplan.model.location import Location
from stackplan.model.unit import activity, read_unit, unit_query, unit_state

# A program that dies of its configuration does so in its first moments, when systemctl has long said that all is well.
SETTLE_S = 3.0
_FIXED = ("static", "generated", "transient", "indirect")


class Goal(enum.Enum):
    STARTED = "started"
    STOPPED = "stopped"
    RESTARTED = "restarted"
    RELOADED = "reloaded"

    @property
    def running(self) -> bool:
        return self is not Goal.STOPPED

    @property
    def verb(self) -> str:
        """The word of systemctl for it."""
        return {"started": "start", "stopped": "stop", "restarted": "restart", "reloaded": "reload"}[self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Service(ActionKind):
    """Brings a systemd unit into a state, and sees to it that it starts with the system, or does not.

    What systemctl says counts for nothing: once its job has ended the unit's own state is read, and a unit that was
    started has to stay up for three seconds. That it is active, inactive, enabled or not is then checked without being
    written down. `restarted` and `reloaded` act whenever the step acts, so the step's postconditions have to tell that
    a restart is due (an `http` version, a `command`); where nothing on the node can tell, `always: true` restarts each
    time. systemd's own memory of unit files is not renewed behind anybody's back, since `systemctl daemon-reload` takes
    the GPUs away from running containers: where it is due, the action does not start and says so. Enabling and
    disabling renew it, as `systemctl enable` always does.
    """

    starts_services: ClassVar[bool] = True

    arguments: Arguments
    name: str
    goal: Goal | None
    enabled: bool | None

    @classmethod
    def read(cls, arguments: Arguments) -> "Service":
        enabled = arguments.optional_flag("enabled")
        expected = ", ".join(goal.value for goal in Goal)
        goal = arguments.converted("state", Goal, f"one of {expected}") if "state" in arguments else None
        if goal is None and enabled is None:
            raise arguments.invalid("name", "`service` does nothing", expected="`state`, `enabled`, or both")
        return cls(arguments=arguments, name=read_unit(arguments), goal=goal, enabled=enabled)

    def describe(self) -> str:
        enabling = None if self.enabled is None else "enable" if self.enabled else "disable"
        words = [word for word in (enabling, self.goal and self.goal.verb) if word]
        return f"{' and '.join(words)} service {self.name}"

    def queries(self) -> tuple[Query, ...]:
        return (unit_query(self.name),)

    def job(self, facts: Facts) -> Job | CannotAct:
        answer = facts[unit_query(self.name)]
        if (obstacle := self._obstacle(answer)) is not None:
            return obstacle
        given: dict[str, Value] = {"name": self.name}
        lines = []
        if self.enabled is not None:
            given["enabled"] = self.enabled
            lines.append(f"systemctl {'enable' if self.enabled else 'disable'} {self.name}")
        if self.goal is not None:
            given.update(state=self.goal.value, settle_s=SETTLE_S)
            lines.append(f"systemctl {self.goal.verb} {self.name}")
        return Job((Task(kind="service", arguments=given, display="\n".join(lines)),))

    def state(self, facts: Facts) -> State:
        return unit_state(told(facts[unit_query(self.name)]) or None, self.name)

    def predict(self, facts: Facts) -> Prediction | Unknown:
        query = unit_query(self.name)
        if not isinstance(facts[query], Known):
            return Unknown("how the unit stands is not known")
        before = told(facts[query])
        after = self._after(before)
        changes = differences(unit_state(before, self.name), unit_state(after, self.name))
        anew = self.goal in (Goal.RESTARTED, Goal.RELOADED) and all(it.before == it.after for it in changes)
        if not changes and anew:
            ((kind, name), held), *_ = unit_state(before, self.name).items()
            changes = (Change(kind, name, held.text, held.text),)
        if not changes:
            return Prediction(changes=(), answers={})
        # Whoever asks for it: the state is the same, only the asker is another one.
        answers: dict[Query, Answer] = {
            it: Known({**told(answer), **{key: after[key] for key in before if key not in ("uid", "user")}})
            for it, answer in facts.of_kind("service")
            if it.arguments == query.arguments and isinstance(answer, Known)
        }
        return Prediction(changes=changes, answers=answers, anew=anew)

    def implied(self) -> tuple[Condition, ...]:
        values: dict[str, Value] = {"name": self.name}
        if self.goal is not None:
            values["active"] = self.goal.running
        if self.enabled is not None:
            values["enabled"] = self.enabled
        at = self.arguments.at
        sources = {"name": "name", "active": "state", "enabled": "enabled"}
        places: dict[Path, Location] = {(key,): self.arguments.place(sources[key]) for key in values}
        return (Condition(kind="service", arguments=Arguments(values, at, places), at=at),)

    def diagnose(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        return explain_service_failure(evidence, self.name)

    def _obstacle(self, answer: Answer) -> CannotAct | None:
        if not isinstance(answer, Known):
            return CannotAct(f"it is not known how service {self.name} stands: {answer.why}")
        about = told(answer)
        for rule in (self._not_loaded, self._not_allowed, self._not_enabled, self._stale, self._not_able):
            if (found := rule(about)) is not None:
                return found
        return None

    def _not_loaded(self, about: Mapping[str, Plain]) -> CannotAct | None:
        load, error = about["load"], about["load_error"]
        if load == "not-found":
            return CannotAct(
                f"there is no unit {about['id'] or self.name} on the node",
                "Correct `name`, or install what brings the unit in an earlier step.",
            )
        if load == "masked" and ((self.goal is not None and self.goal.running) or self.enabled):
            return CannotAct(
                f"service {self.name} is masked: systemd refuses to start it",
                f"Unmask it in an earlier step (`run: {{argv: [systemctl, unmask, {self.name}]}}`), if that is wanted.",
            )
        if load not in ("loaded", "masked"):
            return CannotAct(f"systemd cannot load service {self.name} ({load}): {error or 'see its unit file'}")
        return None

    def _not_allowed(self, about: Mapping[str, Plain]) -> CannotAct | None:
        if about["uid"] == 0:
            return None
        return CannotAct(f"{about['user']} may not change services", "Add `become: true` to the step.")

    def _not_enabled(self, about: Mapping[str, Plain]) -> CannotAct | None:
        state = about["file_state"]
        if self.enabled and (state is None or state in _FIXED):
            return CannotAct(
                f"service {self.name} cannot be enabled: its unit file is {state or 'missing'}",
                "Take `enabled` away; another unit starts it, or nothing does.",
            )
        return None

    def _stale(self, about: Mapping[str, Plain]) -> CannotAct | None:
        if self.goal is None or not self.goal.running or not about["needs_reload"] or self.enabled is not None:
            return None
        return CannotAct(
            f"the unit file of {self.name} was changed since systemd read it, and the old one would be run",
            "Add a step before it with `run: {argv: [systemctl, daemon-reload]}`. Running containers may lose their "
            "GPUs by that.",
        )

    def _not_able(self, about: Mapping[str, Plain]) -> CannotAct | None:
        if self.goal is Goal.RELOADED and about["active"] not in ("active", "reloading"):
            return CannotAct(
                f"service {self.name} is not running, so it cannot be reloaded: {activity(about)}",
                "Use `state: started` or `state: restarted`.",
            )
        if self.goal is Goal.RELOADED and not about["can_reload"]:
            return CannotAct(f"service {self.name} cannot be reloaded", "Use `state: restarted`.")
        if self.goal is not None and self.goal.running and about["type"] == "oneshot" and not about["remains"]:
            return CannotAct(
                f"service {self.name} runs to its end and is never active afterwards (Type=oneshot)",
                f"Start it by `run: {{argv: [systemctl, start, {self.name}]}}` and state what it leaves behind.",
            )
        return None

    def _after(self, before: Mapping[str, Plain]) -> dict[str, Plain]:
        """Return the unit as it is foretold to be; a start and a reload leave no trace that can be foretold."""
        after = dict(before)
        if self.goal is Goal.STOPPED and before["active"] != "inactive":
            after.update(active="inactive", sub="dead", result="success", exit=None, invocation=None, changed=None)
        elif self.goal is Goal.RESTARTED or (self.goal is Goal.STARTED and before["active"] != "active"):
            sub = "exited" if before["type"] == "oneshot" else "running"
            sub = sub if str(before["id"]).endswith(".service") else str(before["sub"])
            after.update(active="active", sub=sub, result="success", exit=None, invocation=None, changed=None)
        if self.enabled is not None:
            enabled = before["file_state"] in ("enabled", "alias")
            after["file_state"] = before["file_state"] if enabled is self.enabled else self._enablement
        return after

    @property
    def _enablement(self) -> str:
        return "enabled" if self.enabled else "disabled"


KIND = Service
