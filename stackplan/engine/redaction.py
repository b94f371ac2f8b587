"""The choke point: every event passes here before it is kept, told or shown."""

from collections.abc import Mapping
from dataclasses import field, fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from stackplan.model.event import RunStarted
from stackplan.model.frozen import dataclass
from stackplan.model.report import Report
from stackplan.model.secret import Redactor

T = TypeVar("T")

# What programs go by: names, identities, times and digests. None of it comes from a template, so no secret can be in
# it, and a short secret must not make two nodes one.
_STRUCTURE = frozenset(
    {"node", "nodes", "step", "steps", "id", "run", "stopped_at", "wave", "kind", "code", "path", "sha256", "revision"}
    | {"time", "started", "ended", "recollection"}
)


def redacted(value: T, redactor: Redactor) -> T:
    """Return `value`, a dataclass of model, with every text in it redacted; what programs go by stays."""
    return cast("T", _Redaction(redactor).redacted(value))


@dataclass(frozen=True, slots=True)
class _Redaction:
    """The redaction of one value. `done` are the objects in it by identity: reports of many nodes share the most."""

    redactor: Redactor
    done: dict[int, object] = field(default_factory=dict)

    def redacted(self, value: object) -> object:
        if isinstance(value, str):
            return self.redactor.text(value)
        if isinstance(value, tuple):
            return tuple(self.redacted(item) for item in value)
        if isinstance(value, Mapping):
            return {self.redactor.text(str(key)): self.redacted(item) for key, item in value.items()}
        if not is_dataclass(value) or isinstance(value, type):
            return value
        if id(value) not in self.done:
            self.done[id(value)] = self._redacted_object(value)
        return self.done[id(value)]

    def _redacted_object(self, value: Any) -> object:
        changed = {
            it.name: after
            for it in fields(value)
            if it.init and (after := self._redacted_field(value, it.name, before := getattr(value, it.name))) != before
        }
        return replace(value, **changed) if changed else value

    def _redacted_field(self, owner: object, name: str, value: object) -> object:
        names_alone = isinstance(value, str) or (isinstance(value, tuple) and all(isinstance(it, str) for it in value))
        if names_alone and (name in _STRUCTURE or (name == "command" and isinstance(owner, (Report, RunStarted)))):
            return value
        return self.redacted(value)
