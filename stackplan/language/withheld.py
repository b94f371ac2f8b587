"""Secrets where none may be read: a review of somebody's change must not run the commands that it names."""

from typing import ClassVar

from stackplan.language.secrets import Secrets
from stackplan.model.frozen import dataclass
from stackplan.model.playbook import SecretSource
from stackplan.model.secret import MASK, Secret, Unread


@dataclass
class Withheld(Secrets):
    """Stands in for every secret without reading it: recorded facts answer no question that holds one."""

    withheld: ClassVar[bool] = True
    presumes: ClassVar[bool] = True

    def read(self, name: str, origin: SecretSource) -> Secret:
        del name, origin
        return Unread(MASK)

    def revealed(self) -> frozenset[str]:
        return frozenset()


@dataclass
class WithheldAlone(Withheld):
    """The same for a playbook without a node, of which arguments that cannot be filled in are left alone."""

    presumes: ClassVar[bool] = False
