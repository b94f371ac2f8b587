"""Doing nothing, and proving that things are as they should be."""

from stackplan.model.arguments import Arguments
from stackplan.model.facts import Facts, Query
from stackplan.model.frozen import dataclass
from stackplan.model.job import Job
from stackplan.model.kind import ActionKind, Prediction


@dataclass(frozen=True, slots=True)
class Checkpoint(ActionKind):
    """Does nothing; the step's postconditions have to hold by what went before it."""

    @classmethod
    def read(cls, arguments: Arguments) -> "Checkpoint":  # noqa: ARG003 - it has none
        return cls()

    def describe(self) -> str:
        return "check, and change nothing"

    def queries(self) -> tuple[Query, ...]:
        return ()

    def job(self, facts: Facts) -> Job:  # noqa: ARG002 - it depends on nothing
        return Job(())

    def predict(self, facts: Facts) -> Prediction:  # noqa: ARG002 - as above
        return Prediction(changes=(), answers={})


KIND = Checkpoint
