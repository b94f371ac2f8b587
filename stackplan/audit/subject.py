"""What the steps and conditions of one user are concerned with on a node, and the question that comes of it."""

from collections.abc import Iterable
from dataclasses import replace

from stackplan.model.arguments import Value
from stackplan.model.concern import Concern, Matter
from stackplan.model.facts import Query
from stackplan.model.frozen import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Names as the playbook writes them, each once, in its order. `user` None is the user of the connection.

    `changed` are those environments that a step writes, `settings` the installers that are started with whatever the
    node tells them, `toolkits` the folders of the CUDA toolkits that the playbook names.
    """

    user: str | None
    environments: tuple[str, ...]
    changed: frozenset[str]
    programs: tuple[str, ...]
    settings: tuple[str, ...]
    toolkits: tuple[str, ...]

    @property
    def at_rest(self) -> "Subject":
        """The same where no step would write anything."""
        return replace(self, changed=frozenset())

    @property
    def query(self) -> Query:
        programs = tuple(it for it in self.programs if it != "sudo")
        # sudo is asked only where a script would: a user who may not use it is reported to the administrator.
        asked: dict[str, Value] = {"venvs": self.environments, "programs": programs, "sudo": "sudo" in self.programs}
        return Query("environment_audit", asked, self.user)


def subject(user: str | None, concerns: Iterable[Concern]) -> Subject | None:
    """Return what is to be audited for a user, or None where nothing is."""
    every = tuple(dict.fromkeys(concerns))
    if not every:
        return None
    return Subject(
        user=user,
        environments=_names(every, Matter.ENVIRONMENT),
        changed=frozenset(it.name for it in every if it.matter is Matter.ENVIRONMENT and it.changed),
        programs=_names(every, Matter.PROGRAM),
        settings=_names(every, Matter.SETTINGS),
        toolkits=_names(every, Matter.TOOLKIT),
    )


def _names(concerns: Iterable[Concern], matter: Matter) -> tuple[str, ...]:
    return tuple(dict.fromkeys(it.name for it in concerns if it.matter is matter))
