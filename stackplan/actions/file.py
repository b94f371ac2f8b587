"""Giving a file its content, mode and owner."""

from dataclasses import dataclass

from stackplan.actions._target import read_mode, read_path, refusal, target_query, target_state, told
from stackplan.model.arguments import Arguments, Value
from stackplan.model.change import State
from stackplan.model.facts import Facts, Query
from stackplan.model.job import Job, Task
from stackplan.model.kind import ActionKind, CannotAct
from stackplan.model.quantity import size_text
from stackplan.model.secret import Text, reveal

SIZE_LIMIT = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class File(ActionKind):
    """Writes a file in one move: readers see the old content or the new one, with its mode and owner, never a part.

    A link at the path stays, and the file that it leads to is written. Mode and owner that are not given stay those
    of the file that was there. `template` and `source` name files of the project, which are read before the node is
    asked anything.
    """

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
        return (target_query(self.path, follow=True),)

    def job(self, facts: Facts) -> Job | CannotAct:
        answer = facts[target_query(self.path, follow=True)]
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
        size = len(reveal(self.content).encode("utf-8", "surrogateescape"))
        return Job((Task(kind="file", arguments=arguments, display=f"write {self.path}, {size_text(size)}{about}"),))

    def state(self, facts: Facts) -> State:
        return target_state(facts[target_query(self.path, follow=True)], self.path)


KIND = File
