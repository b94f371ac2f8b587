"""Giving a file its content, mode and owner."""

from collections.abc import Mapping
from dataclasses import dataclass

from stackplan.actions._foretold import of_file, reach, sha256
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
from stackplan.actions._text_diff import diff, open_to_all
from stackplan.model.arguments import Arguments, Value
from stackplan.model.change import State, differences
from stackplan.model.condition import Condition
from stackplan.model.facts import Facts, Known, Plain, Query, Unknown
from stackplan.model.job import Job, Task
from stackplan.model.kind import ActionKind, CannotAct, Prediction
from stackplan.model.quantity import size_text
from stackplan.model.secret import Secret, Text, reveal
from stackplan.model.written import Written

SIZE_LIMIT = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class File(ActionKind):
    """Writes a file in one move: readers see the old content or the new one, with its mode and owner, never a part.

    A link at the path stays, and the file that it leads to is written. Mode and owner that are not given stay those
    of the file that was there. `template` and `source` name files of the project, which are read before the node is
    asked anything. That the file then holds what is written here is checked without being written down, but for
    contents that are secret.
    """

    arguments: Arguments
    path: str
    content: Text | None
    origin: str | None
    mode: str | None
    owner: str | None
    group: str | None

    @classmethod
    def read(cls, arguments: Arguments) -> "File":
        given = [key for key in ("content", "template", "source") if key in arguments]
        if not given:
            raise arguments.invalid(
                "path", "the file has no content", expected="one of `content`, `template`, `source`"
            )
        if "template" in given and "source" in given:
            raise arguments.invalid(
                "source", "the file has two contents", expected="one of `content`, `template`, `source`"
            )
        content = arguments.optional_secret_text("content")
        if content is not None and len(reveal(content)) > SIZE_LIMIT:
            raise arguments.invalid(
                given[-1], f"the content is larger than {size_text(SIZE_LIMIT)}", remedy="use `download`"
            )
        return cls(
            arguments=arguments,
            path=read_path(arguments),
            content=content,
            origin=arguments.optional_text("template") or arguments.optional_text("source"),
            mode=read_mode(arguments),
            owner=arguments.optional_text("owner"),
            group=arguments.optional_text("group"),
        )

    def describe(self) -> str:
        return f"write {self.path}" + (f" from {self.origin}" if self.origin is not None else "")

    def queries(self) -> tuple[Query, ...]:
        return (self._target,)

    def job(self, facts: Facts) -> Job | CannotAct:
        answer = facts[self._target]
        if (obstacle := refusal(answer, self.path)) is not None:
            return obstacle
        kind = told(answer).get("kind")
        if kind in ("folder", "other"):
            what = "a folder" if kind == "folder" else "no plain file"
            return CannotAct(f"{self.path} is {what}; it is not replaced", "Move it away in an earlier step.")
        if self.content is None:
            return CannotAct(f"the content of {self.origin} was not read from the project")
        arguments: dict[str, Value] = {"path": self.path, "content": self.content}
        given = {"mode": self.mode, "owner": self.owner, "group": self.group}
        arguments.update({key: value for key, value in given.items() if value is not None})
        about = "".join(f", {key} {value}" for key, value in given.items() if value is not None)
        size = "a secret" if isinstance(self.content, Secret) else size_text(len(self._bytes))
        return Job((Task(kind="file", arguments=arguments, display=f"write {self.path}, {size}{about}"),))

    def writes(self, facts: Facts) -> tuple[Written, ...]:
        return target_written(facts[self._target])

    def state(self, facts: Facts) -> State:
        return target_state(facts[self._target], self.path, content=self.content)

    def implied(self) -> tuple[Condition, ...]:
        # The digest of a secret could be tried out, so of a secret content only the rest is stated.
        digest = sha256(self._bytes) if isinstance(self.content, str) else None
        return stated(self.arguments, path=self.path, sha256=digest, mode=self.mode, owner=self.owner, group=self.group)

    def forecast(self, facts: Facts) -> tuple[Query, ...]:
        """Ask for the content that will be replaced, where anybody may see both it and the new one."""
        about = told(facts[self._target])
        same = about.get("sha256") == sha256(self._bytes)
        return (self._content_query,) if about.get("kind") == "file" and self._may_be_shown(about) and not same else ()

    def reach(self, facts: Facts) -> frozenset[Query] | None:
        path = told(facts[self._target]).get("path")
        return reach(facts, self.path, str(path)) if path is not None else None

    def predict(self, facts: Facts) -> Prediction | Unknown:
        answer = facts[self._target]
        before = told(answer)
        after = self._after(before)
        if isinstance(after, Unknown):
            return after
        changes = differences(self.state(facts), target_state(Known(dict(after)), self.path, content=self.content))
        if not changes:
            return Prediction(changes=(), answers={})
        answers = of_file(facts, (self.path, str(before["path"])), after, self._bytes)
        return Prediction(changes=changes, answers=answers, details=self._details(facts, before, after))

    def _after(self, before: Mapping[str, Plain]) -> Mapping[str, Plain] | Unknown:
        """Return what the query `target` would tell once the file is written."""
        if before.get("kind") not in ("file", "missing") or self.content is None:
            return Unknown("what stands there is not known")
        there = before["kind"] == "file"
        new = before.get("new_file")
        stays = before if there else new if isinstance(new, dict) else {}
        mode = f"{int(self.mode, 8):04o}" if self.mode is not None else stays.get("mode")
        owner, group = self.owner or stays.get("owner"), self.group or stays.get("group")
        if mode is None or owner is None or group is None:
            return Unknown("which mode and owner a new file gets there is not known")
        for number, name in ((self.owner, stays.get("owner")), (self.group, stays.get("group"))):
            if number is not None and number.isdigit() and number != name:
                return Unknown(f"whose number {number} is, only the node can tell")
        if there and before.get("sha256") is None and before.get("size") is None:
            return Unknown("its content is secret, and what it was is not recorded")
        if there and before.get("sha256") is None and before.get("size") == len(self._bytes):
            return Unknown("the content that is there cannot be read")
        written: dict[str, Plain] = {"kind": "file", "size": len(self._bytes), "sha256": sha256(self._bytes)}
        return {
            **before,
            **written,
            "modified_ns": None,
            "target": None,
            "mode": mode,
            "owner": owner,
            "group": group,
        }

    def _details(self, facts: Facts, before: Mapping[str, Plain], after: Mapping[str, Plain]) -> tuple[str, ...]:
        if before.get("sha256") == after["sha256"]:
            return ()
        if isinstance(self.content, Secret):
            return ("its content holds a secret, so it is not shown",)
        if not self._may_be_shown(before) or not open_to_all(after["mode"]):
            return ("not everybody may read it, so its content is not shown",)
        there = before["kind"] == "file"
        return diff(self.path, facts[self._content_query] if there else None, self._bytes)

    def _may_be_shown(self, about: Mapping[str, Plain]) -> bool:
        if isinstance(self.content, Secret) or (self.mode is not None and not open_to_all(self.mode)):
            return False
        return about.get("kind") != "file" or open_to_all(about.get("mode"))

    @property
    def _target(self) -> Query:
        return target_query(self.path, follow=True, secret=isinstance(self.content, Secret))

    @property
    def _content_query(self) -> Query:
        return Query("file", {"path": self.path, "sha256": False, "content": True})

    @property
    def _bytes(self) -> bytes:
        return reveal(self.content or "").encode("utf-8", "surrogateescape")


KIND = File
