"""A condition as the playbook states it, before its kind has read its arguments."""

import enum

from stackplan.model.arguments import Arguments
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location


class Recheck(enum.Enum):
    """When a condition that held is asked again after later steps."""

    ALWAYS = "always"
    FINAL = "final"
    NEVER = "never"

    @property
    def after_each_step(self) -> bool:
        return self is Recheck.ALWAYS

    @property
    def at_the_end(self) -> bool:
        return self is not Recheck.NEVER


class Combination(enum.Enum):
    NOT = "not"
    ANY = "any"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One condition: either a `kind` with arguments, or a `combination` of `operands` (then `kind` is its word).

    `within_s` None asks once; `recheck` None leaves it to the kind. `message` is the author's own word for a stop.
    """

    kind: str
    arguments: Arguments
    at: Location
    name: str | None = None
    message: str | None = None
    within_s: float | None = None
    recheck: Recheck | None = None
    combination: Combination | None = None
    operands: "tuple[Condition, ...]" = ()
