"""Fetching a file whose digest is known."""

import re
from collections.abc import Mapping

from stackplan.actions._foretold import of_file, reach
from stackplan.actions._offer import offer_query
from stackplan.actions._sources import Address, read_address
from stackplan.actions._target import (
    read_mode,
    read_path,
    refusal,
    stated,
    target_query,
    target_state,
    target_written,
    told,
)
from stackplan.actions._transfer_failures import explain_transfer, unoffered
from stackplan.model.arguments import Arguments, Value
from stackplan.model.change import State, differences
from stackplan.model.condition import Condition
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.facts import Facts, Known, Plain, Query, Unknown
from stackplan.model.frozen import dataclass
from stackplan.model.job import Job, Task
from stackplan.model.kind import ActionKind, CannotAct, Evidence, Prediction
from stackplan.model.written import Written


@dataclass(frozen=True, slots=True)
class Download(ActionKind):
    """Puts a file from http or https at a path, once its sha256 is right; nothing is fetched when it is there already.

    A transfer that was cut goes on where it stopped, also in a later attempt. That the file is there, with its sha256
    and mode, is checked without being written down.
    """

    arguments: Arguments
    url: Address
    sha256: str
    path: str
    mode: str | None

    @classmethod
    def read(cls, arguments: Arguments) -> "Download":
        return cls(
            arguments,
            read_address(arguments, "url"),
            read_sha256(arguments),
            read_path(arguments),
            read_mode(arguments),
        )

    def describe(self) -> str:
        return f"download {self.path} from {self.url.shown}"

    def queries(self) -> tuple[Query, ...]:
        return (target_query(self.path, follow=True),)

    def job(self, facts: Facts) -> Job | CannotAct:
        answer = facts[target_query(self.path, follow=True)]
        if (obstacle := refusal(answer, self.path)) is not None:
            return obstacle
        if told(answer).get("kind") in ("folder", "other"):
            return CannotAct(f"{self.path} is no plain file; it is not replaced", "Add the file's name to `path`.")
        arguments: dict[str, Value] = {"url": self.url.text, "sha256": self.sha256, "path": self.path}
        if self.mode is not None:
            arguments["mode"] = self.mode
        display = f"download {self.url.shown} to {self.path}, sha256 {self.sha256[:12]}…"
        return Job((Task(kind="download", arguments=arguments, display=display),))

    def writes(self, facts: Facts) -> tuple[Written, ...]:
        return target_written(facts[target_query(self.path, follow=True)])

    def forecast(self, facts: Facts) -> tuple[Query, ...]:
        return (offer_query(self.url, self.arguments),) if self._fetches(facts) else ()

    def _fetches(self, facts: Facts) -> bool:
        """Return whether the action would have to fetch the file, as far as that is foretold."""
        answer = facts[target_query(self.path, follow=True)]
        before = told(answer)
        after = Unknown("") if refusal(answer, self.path) is not None else self._after(before)
        return not isinstance(after, Unknown) and before.get("sha256") != self.sha256

    def state(self, facts: Facts) -> State:
        return target_state(facts[target_query(self.path, follow=True)], self.path)

    def implied(self) -> tuple[Condition, ...]:
        return stated(self.arguments, path=self.path, sha256=self.sha256, mode=self.mode)

    def reach(self, facts: Facts) -> frozenset[Query] | None:
        path = told(facts[target_query(self.path, follow=True)]).get("path")
        return reach(facts, self.path, str(path)) if path is not None else None

    def predict(self, facts: Facts) -> Prediction | Unknown:
        query = target_query(self.path, follow=True)
        before = told(facts[query])
        after = self._after(before)
        if isinstance(after, Unknown):
            return after
        changes = differences(self.state(facts), target_state(Known(dict(after)), self.path))
        if not changes:
            return Prediction(changes=(), answers={})
        if self._fetches(facts):
            offer = facts[offer_query(self.url, self.arguments)]
            if not isinstance(offer, Known):
                return Unknown(f"whether the file is to be had could not be told: {offer.why}")
            if (obstacle := unoffered(offer, self.url, self.arguments)) is not None:
                return Prediction(changes=(), answers={}, failures=(obstacle,))
        return Prediction(changes=changes, answers=of_file(facts, (self.path, str(before["path"])), after, None))

    def _after(self, before: Mapping[str, Plain]) -> Mapping[str, Plain] | Unknown:
        """Return what the query `target` would tell once the file is there; of a file that is fetched not its size."""
        new = before.get("new_file")
        if before.get("kind") not in ("file", "missing") or not isinstance(new, dict):
            return Unknown("what stands there is not known")
        there = before["kind"] == "file"
        if there and before.get("sha256") is None:
            return Unknown("the file that is there is too large, or closed, to be hashed ahead")
        mode = f"{int(self.mode, 8):04o}" if self.mode is not None else (before if there else new).get("mode")
        if mode is None:
            return Unknown("which mode a new file gets there is not known")
        if there and before["sha256"] == self.sha256:
            return {**before, "mode": mode}
        fetched = {"kind": "file", "size": None, "sha256": self.sha256, "modified_ns": None, "target": None}
        return {**before, **fetched, "mode": mode, **{key: new.get(key) for key in ("owner", "group", "uid", "gid")}}

    def diagnose(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        return explain_transfer(evidence)


def read_sha256(arguments: Arguments) -> str:
    """Return the digest at `sha256` in lower case. Raise Invalid when it is none."""
    text = arguments.text("sha256").strip().lower()
    if not re.fullmatch(r"[0-9a-f]{64}", text):
        expected = "64 hexadecimal digits, as `sha256sum FILE` prints them"
        raise arguments.invalid("sha256", "`sha256` is not a sha256 digest", expected=expected)
    return text


KIND = Download
