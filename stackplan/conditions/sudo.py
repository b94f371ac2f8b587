"""The kind `sudo`: the user of the connection may act as another one."""

from typing import ClassVar, Self

from stackplan.conditions._answers import mapping, unanswered
from stackplan.model.arguments import Arguments
from stackplan.model.condition import Recheck
from stackplan.model.facts import Facts, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.verdict import Verdict, held, not_held


@dataclass(frozen=True, slots=True)
class Sudo(ConditionKind):
    """`sudo -n` to a user works without a password, or is not needed: the asker is that user, or root.

    The engine states it by itself for every step that has `become` or `user`, before the first step runs. It tries
    `true`; rules that allow some commands and not others are seen only when the step runs.
    """

    recheck: ClassVar[Recheck] = Recheck.NEVER
    foreseeable: ClassVar[bool] = True

    user: str = "root"

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        return cls(arguments.text("user", "root"))

    def describe(self) -> str:
        return f"may act as {self.user} without a password"

    def queries(self) -> tuple[Query, ...]:
        return (self._query,)

    def evaluate(self, facts: Facts) -> Verdict:
        text = self.describe()
        told = mapping(facts[self._query])
        if told is None:
            return unanswered(text, facts[self._query])
        asker = f"asked as {told['asker']}"
        if told["allowed"]:
            return held(text, observed="allowed" if told["needed"] else "no sudo needed", evidence=asker)
        return not_held(text, expected=f"`sudo -n -u {self.user}` works", observed=str(told["says"]), evidence=asker)

    @property
    def _query(self) -> Query:
        return Query("sudo", {"user": self.user})


KIND = Sudo
