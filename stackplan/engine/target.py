"""A node that is asked or worked on, and how one is connected to."""

from collections.abc import Callable

from stackplan.engine.bind import BoundPlaybook
from stackplan.engine.node_session import NodeSession
from stackplan.engine.permit import Permit
from stackplan.model.frozen import dataclass
from stackplan.model.node import Node

Connect = Callable[[Node], NodeSession]


@dataclass(frozen=True, slots=True)
class Target:
    """A node and its playbook: rendered with its variables, and bound; `permit` narrows what may run there."""

    node: Node
    playbook: BoundPlaybook
    permit: Permit | None = None

    @property
    def steps(self) -> tuple[str, ...]:
        return tuple(step.id for step in self.playbook.steps)
