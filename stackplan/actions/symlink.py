"""Making a symbolic link lead somewhere."""

from collections.abc import Mapping

from stackplan.actions._foretold import left_open, reach
from stackplan.actions._target import read_path, refusal, stated, target_query, target_state, target_written, told
from stackplan.model.arguments import Arguments
from stackplan.model.change import State, differences
from stackplan.model.condition import Condition
from stackplan.model.facts import Facts, Known, Plain, Query, Unknown
from stackplan.model.frozen import dataclass
from stackplan.model.job import Job, Task
from stackplan.model.kind import ActionKind, CannotAct, Prediction
from stackplan.model.written import Written


@dataclass(frozen=True, slots=True)
class Symlink(ActionKind):
    """Makes the path a symbolic link to the target, in one move. A real file or folder at the path is never replaced.

    The target need not exist: whether the link leads anywhere is for a postcondition to say. That the link is there is
    checked without being written down.
    """

    arguments: Arguments
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
        return cls(arguments, path, target)

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

    def writes(self, facts: Facts) -> tuple[Written, ...]:
        return target_written(facts[target_query(self.path, follow=False)])

    def state(self, facts: Facts) -> State:
        return target_state(facts[target_query(self.path, follow=False)], self.path)

    def implied(self) -> tuple[Condition, ...]:
        # The node knows what `~` is; a condition compares the link's own text.
        target = None if self.target.startswith("~") else self.target
        return stated(self.arguments, path=self.path, type="symlink", target=target)

    def reach(self, facts: Facts) -> frozenset[Query] | None:
        path = told(facts[target_query(self.path, follow=False)]).get("path")
        return reach(facts, self.path, str(path)) if path is not None else None

    def predict(self, facts: Facts) -> Prediction | Unknown:
        query = target_query(self.path, follow=False)
        before = told(facts[query])
        end = self._end(before)
        if end is None or before.get("kind") not in ("link", "missing"):
            return Unknown("what stands there is not known")
        open_ = dict.fromkeys(("size", "mode", "owner", "group", "sha256", "modified_ns"))
        after: dict[str, Plain] = {**before, **open_, "kind": "link", "target": end}
        changes = differences(self.state(facts), target_state(Known(after), self.path))
        if not changes:
            return Prediction(changes=(), answers={})
        path = str(before["path"])
        why = f"it depends on what is at {end} by then"
        answers = left_open(facts, self.path, path, why=why)
        for asked in answers:
            if asked.kind == "file" and asked.arguments.get("path") in (self.path, path):
                # Where the link leads is known; what is there is not, least of all when a step before makes it.
                answers[asked] = Known({"path": path, "exists": None, "link": end})
        answers.update({it: Known(after) for it in (query.asked_by(facts.user),)})
        return Prediction(changes=changes, answers=answers)

    def _end(self, before: Mapping[str, Plain]) -> str | None:
        """Return what the link will say, or None where only the node knows what `~` is."""
        if not self.target.startswith("~"):
            return self.target
        home = before.get("home")
        known = isinstance(home, str) and (self.target == "~" or self.target.startswith("~/"))
        return f"{home}{self.target[1:]}" if known else None


KIND = Symlink
