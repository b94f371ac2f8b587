"""The kind `service`: the state of a systemd unit."""

from collections.abc import Mapping
from typing import ClassVar, Self

from stackplan.conditions._answers import mapping, unanswered
from stackplan.model.arguments import Arguments
from stackplan.model.change import State
from stackplan.model.facts import Facts, Plain, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.unit import activity, read_unit, unit_query, unit_state
from stackplan.model.verdict import Verdict, conjunction, held, not_held, unknown

_ENABLED = ("enabled", "alias")
_NEITHER = {
    "enabled-runtime": "until the next restart only",
    "linked-runtime": "until the next restart only",
}
_WHY_NOT = {
    "static": "it has no [Install] section: only another unit starts it",
    "indirect": "only another unit, which it names, is enabled",
    "masked": "it cannot be started at all",
    "masked-runtime": "it cannot be started until the next restart",
    "linked": "it is known and nothing starts it",
    "transient": "it is gone with the next restart",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Service(ConditionKind):
    """A systemd unit is active or not, and is started with the system or not; with a name alone, it is active.

    Rests on the properties of the unit in systemd itself, in one question, not on the words of `is-active`. A unit that
    systemd is about to start again after a crash (`activating (auto-restart)`) is not active, and a failed one is
    inactive. `enabled: true` wants more than `static`, `linked`, `indirect` or a state that is gone with the next
    restart. That a unit is active says nothing of how long it will be, or of what it answers: for that are `within`,
    `port` and `http`.
    """

    steady: ClassVar[bool] = False

    name: str
    active: bool | None
    enabled: bool | None

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        name = read_unit(arguments)
        active, enabled = arguments.optional_flag("active"), arguments.optional_flag("enabled")
        return cls(name=name, active=True if active is None and enabled is None else active, enabled=enabled)

    def describe(self) -> str:
        return f"service {self.name} {self._wanted}"

    def queries(self) -> tuple[Query, ...]:
        return (self._query,)

    @property
    def alive_only(self) -> bool:
        return True

    def evaluate(self, facts: Facts) -> Verdict:
        told = mapping(facts[self._query])
        if told is None:
            return unanswered(self.describe(), facts[self._query])
        if told["load"] == "not-found" and self.active is not False and self.enabled is not False:
            return not_held(self.describe(), expected=self._wanted, observed=activity(told))
        parts = []
        if self.active is not None:
            parts.append(self._activity(told, active=self.active))
        if self.enabled is not None:
            parts.append(self._enablement(told, enabled=self.enabled))
        return conjunction(self.describe(), tuple(parts))

    def state(self, facts: Facts) -> State:
        return unit_state(mapping(facts[self._query]), self.name)

    @property
    def _wanted(self) -> str:
        stated = (_word(self.active, "active"), _word(self.enabled, "enabled"))
        return " and ".join(part for part in stated if part)

    @property
    def _query(self) -> Query:
        return unit_query(self.name)

    def _activity(self, told: Mapping[str, Plain], *, active: bool) -> Verdict:
        wanted = "active" if active else "inactive"
        text = f"service {self.name} {wanted}"
        state, observed = str(told["active"]), activity(told)
        evidence = str(told["path"]) if told["path"] else None
        if told["needs_reload"]:
            stale = "its unit file was changed since systemd read it (`systemctl daemon-reload`)"
            evidence = f"{evidence}: {stale}" if evidence else stale
        so = state in ("active", "reloading") if active else state in ("inactive", "failed")
        if so:
            return held(text, observed=observed, evidence=evidence)
        return not_held(text, expected=wanted, observed=observed, evidence=evidence)

    def _enablement(self, told: Mapping[str, Plain], *, enabled: bool) -> Verdict:
        text = f"service {self.name} {_word(enabled, 'enabled')}"
        wanted = "enabled" if enabled else "not enabled"
        if told["file_state"] in ("generated", "bad"):
            why = "its unit file cannot be read" if told["file_state"] == "bad" else "its unit is generated at boot"
            return unknown(text, why=f"systemd does not tell: {why}", expected=wanted)
        state = str(told["file_state"] or ("not-found" if told["load"] == "not-found" else "no unit file"))
        about = _NEITHER.get(state) or (_WHY_NOT.get(state) if enabled else None)
        observed = f"{state}: {about}" if about else state
        if (state in _ENABLED) is enabled and state not in _NEITHER:
            return held(text, observed=observed)
        return not_held(text, expected=wanted, observed=observed)


def _word(stated: bool | None, word: str) -> str | None:
    return None if stated is None else word if stated else {"active": "inactive"}.get(word, f"not {word}")


KIND = Service
