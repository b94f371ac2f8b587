"""Secrets where none may be read: a review of somebody's change must not run the commands that it names."""

from dataclasses import dataclass

from stackplan.language.secrets import Secrets
from stackplan.model.playbook import SecretSource
from stackplan.model.secret import MASK, Secret


@dataclass
class Withheld(Secrets):
    """Stands in for every secret without reading it: recorded facts answer no question that holds one."""

    def read(self, name: str, origin: SecretSource) -> Secret:
        del name, origin
        return Secret(MASK)

    def revealed(self) -> frozenset[str]:
        return frozenset()
