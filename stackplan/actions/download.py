"""Fetching a file whose digest is known."""

import re
from dataclasses import dataclass

from stackplan.actions._sources import Address, read_address
from stackplan.actions._target import read_mode, read_path, refusal, target_query, target_state, told
from stackplan.actions._transfer_failures import explain_transfer
from stackplan.model.arguments import Arguments, Value
from stackplan.model.change import State
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.facts import Facts, Query
from stackplan.model.job import Job, Task
from stackplan.model.kind import ActionKind, CannotAct, Evidence


@dataclass(frozen=True, slots=True)
class Download(ActionKind):
    """Puts a file from http or https at a path, once its sha256 is right; nothing is fetched when it is there already.

    A transfer that was cut goes on where it stopped, also in a later attempt.
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

    def state(self, facts: Facts) -> State:
        return target_state(facts[target_query(self.path, follow=True)], self.path)

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
