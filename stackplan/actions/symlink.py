"""Making a symbolic link lead somewhere."""

from dataclasses import dataclass

from stackplan.actions._target import read_path, refusal, target_query, target_state, told
from stackplan.model.arguments import Arguments
from stackplan.model.change import State
from stackplan.model.facts import Facts, Query
from stackplan.model.job import Job, Task
from stackplan.model.kind import ActionKind, CannotAct


@dataclass(frozen=True, slots=True)
class Symlink(ActionKind):
    """Makes the path a symbolic link to the target, in one move. A real file or folder at the path is never replaced.

    The target need not exist: whether the link leads anywhere is for a postcondition to say.
    """

    path: str
    target: str

    @classmethod
    def read(cls, arguments: Arguments) -> "Symlink":
        target = arguments.text("target")
        if not target.strip() or any(ord(character) < 32 for character in target):
            raise arguments.invalid("target", "`target` names nothing", expected="a path")
        path = read_path(arguments)
        if target.rstrip("/") == path:
            raise arguments.invalid("target", "the link would lead to itself", remedy="name another `target`")
        return cls(path, target)

    def describe(self) -> str:
        return f"link {self.path} -> {self.target}"

    def queries(self) -> tuple[Query, ...]:
        return (target_query(self.path, follow=False),)

    def job(self, facts: Facts) -> Job | CannotAct:
        answer = facts[target_query(self.path, follow=False)]
        if (obstacle := refusal(answer, self.path)) is not None:
            return obstacle
        kind = told(answer).get("kind")
        if kind not in ("link", "missing"):
            return CannotAct(
                f"{self.path} is a {kind}, not a link; it is not replaced", "Move it away in an earlier step."
            )
        display = f"ln -sfn {self.target} {self.path}"
        return Job((Task(kind="symlink", arguments={"path": self.path, "target": self.target}, display=display),))

    def state(self, facts: Facts) -> State:
        return target_state(facts[target_query(self.path, follow=False)], self.path)


KIND = Symlink
