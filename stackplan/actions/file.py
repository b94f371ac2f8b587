"""Giving a file its content, mode and owner."""

from collections.abc import Mapping

from stackplan.actions._foretold import WILL_HOLD, of_file, reach, sha256
from stackplan.actions._target import (
    open_to_all,
    read_mode,
    read_path,
    refusal,
    stated,
    target_query,
    target_state,
    target_written,
    told,
)
from stackplan.actions._text_diff import diff
from stackplan.model.arguments import Arguments, Value
from stackplan.model.change import State, differences
from stackplan.model.condition import Condition
from stackplan.model.facts import Facts, Known, Plain, Query, Unknown
from stackplan.model.frozen import dataclass
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
        if (obstacle := self._unknown_owner(told(answer))) is not None:
            return obstacle
        if self.content is None:
            return CannotAct(f"the content of {self.origin} was not read from the project")
        arguments: dict[str, Value] = {"path": self.path, "content": self.content}
        if self._secret:
            arguments["secret"] = True
        given = {"mode": self.mode, "owner": self.owner, "group": self.group}
        arguments.update({key: value for key, value in given.items() if value is not None})
        about = "".join(f", {key} {value}" for key, value in given.items() if value is not None)
        size = "a secret" if isinstance(self.content, Secret) else size_text(len(self._bytes))
        return Job((Task(kind="file", arguments=arguments, display=f"write {self.path}, {size}{about}"),))

    def _unknown_owner(self, about: Mapping[str, Plain]) -> CannotAct | None:
        """Return why the file cannot be made to belong to whom it shall, or None."""
        wanted = about.get("wanted")
        named = wanted if isinstance(wanted, dict) else {}
        for word, key, number, name in (("user", "owner", "uid", self.owner), ("group", "group", "gid", self.group)):
            if name is not None and number in named and named[number] is None:
                place = self.arguments.place(key)
                remedy = f"Correct `{key}` at {place.line}:{place.column}, or make the {word} in an earlier step."
                return CannotAct(f"there is no {word} {name} on the node", remedy)
        if about.get("may_give") is False:
            whose = named or about
            who = f"{self.owner or whose.get('owner')}:{self.group or whose.get('group')}"
            return CannotAct(f"only root can give {self.path} to {who}", "Add `become: true` to the step.")
        return None

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
        if WILL_HOLD in about:
            return ()
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
        answers = of_file(facts, (self.path, str(before["path"])), after, self._bytes, secret=self._secret)
        return Prediction(changes=changes, answers=answers, details=self._details(facts, before, after))

    def _after(self, before: Mapping[str, Plain]) -> Mapping[str, Plain] | Unknown:
        """Return what the query `target` would tell once the file is written."""
        if before.get("kind") not in ("file", "missing") or self.content is None:
            return Unknown("what stands there is not known")
        there = before["kind"] == "file"
        new = before.get("new_file")
        stays = before if there else new if isinstance(new, dict) else {}
        mode = f"{int(self.mode, 8):04o}" if self.mode is not None else stays.get("mode")
        owner, uid = self._owned(self.owner, before, stays, "owner", "uid")
        group, gid = self._owned(self.group, before, stays, "group", "gid")
        for number, name in ((self.owner, owner), (self.group, group)):
            if number is not None and number.isdigit() and name is None:
                return Unknown(f"whose number {number} is, only the node can tell")
        if mode is None or owner is None or group is None:
            return Unknown("which mode and owner a new file gets there is not known")
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
            "uid": uid,
            "gid": gid,
        }

    @staticmethod
    def _owned(
        given: str | None, before: Mapping[str, Plain], stays: Mapping[str, Plain], key: str, number: str
    ) -> tuple[Plain, Plain]:
        """Return whose the file will be by name and by number, each None where that is not known."""
        if given is None or given == stays.get(key):
            return stays.get(key), stays.get(number)
        wanted = before.get("wanted")
        if isinstance(wanted, dict):
            return wanted.get(key), wanted.get(number)
        return (None if given.isdigit() else given), None

    def _details(self, facts: Facts, before: Mapping[str, Plain], after: Mapping[str, Plain]) -> tuple[str, ...]:
        if before.get("sha256") == after["sha256"]:
            return ()
        if isinstance(self.content, Secret):
            return ("its content holds a secret, so it is not shown",)
        if not self._may_be_shown(before) or not open_to_all(after["mode"]):
            return ("not everybody may read it, so its content is not shown",)
        if before["kind"] != "file":
            return diff(self.path, None, self._bytes)
        if WILL_HOLD not in before:
            return diff(self.path, facts[self._content_query], self._bytes)
        text = before[WILL_HOLD]
        found = Unknown("an earlier step writes it") if text is None else Known({"content": text})
        return diff(self.path, found, self._bytes)

    def _may_be_shown(self, about: Mapping[str, Plain]) -> bool:
        if isinstance(self.content, Secret) or (self.mode is not None and not open_to_all(self.mode)):
            return False
        return about.get("kind") != "file" or open_to_all(about.get("mode"))

    @property
    def _target(self) -> Query:
        return target_query(self.path, follow=True, secret=self._secret, owner=self.owner, group=self.group)

    @property
    def _secret(self) -> bool:
        return isinstance(self.content, Secret)

    @property
    def _content_query(self) -> Query:
        return Query("file", {"path": self.path, "sha256": False, "content": True})

    @property
    def _bytes(self) -> bytes:
        return reveal(self.content or "").encode("utf-8", "surrogateescape")


KIND = File
