"""The playbook of each node, rendered and bound; made once for nodes whose variables are the same, as in a fleet."""

from dataclasses import field

from stackplan.engine.bind import BoundPlaybook, bind, faults
from stackplan.language import schema
from stackplan.language.compare_filling import reached
from stackplan.language.project import Files
from stackplan.language.template import as_written, render_partly
from stackplan.language.variables import RESERVED, Scope, used_names
from stackplan.model.diagnosis import Invalid, besides
from stackplan.model.frozen import dataclass
from stackplan.model.playbook import Playbook

KEPT = 8
"""So many renderings are kept at hand: more kinds of nodes than that are rare, and looking through them costs time."""


@dataclass
class Renderings:
    """Renders and binds one playbook for node after node."""

    playbook: Playbook
    files: Files | None = None
    _kept: list[tuple[Scope, BoundPlaybook]] = field(default_factory=list)

    def of(self, scope: Scope) -> tuple[Scope, BoundPlaybook]:
        """Return the bound playbook, and the scope that it was rendered with: `scope`, or that of a node alike.

        Raise Invalid with what is wrong for this node.
        """
        for known in self._kept:
            if known[0].variables == scope.variables:
                return known
        found = scope, bind(_rendered(self.playbook, scope, self.files))
        if not self._names_the_node(scope):
            self._kept = [found, *self._kept[: KEPT - 1]]
        return found

    def _names_the_node(self, scope: Scope) -> bool:
        """Return whether the node's name, host or labels may go into its texts; a file's text is not looked through."""
        used = used_names(self.playbook)
        through = (reached(scope.variables[name].value, scope.variables) for name in used if name in scope.variables)
        return RESERVED in used.union(*through) or self._names_files()

    def _names_files(self) -> bool:
        kinds = schema.compiler("playbook").shape("#/$defs/step").properties
        return any(
            kinds[step.action.kind].properties[key].file is not None
            for step in self.playbook.steps
            for key in step.action.arguments.values
            if key in kinds[step.action.kind].properties
        )


def _rendered(playbook: Playbook, own: Scope, files: Files | None) -> Playbook:
    """Return the playbook of one node. Raise Invalid with all that is wrong, in what could be filled in as well."""
    rendering = render_partly(playbook, own, files)
    if rendering.wrong or rendering.unfilled:
        told = (*rendering.wrong, *rendering.unfilled)
        raise Invalid([*told, *besides(told, faults(rendering.playbook, as_written))])
    return rendering.playbook
