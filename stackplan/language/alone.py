"""A playbook by itself: rendered with its own variables, as far as they go, to find what would be wrong on any node."""

from dataclasses import replace

from stackplan.language.template import Rendering, render_partly
from stackplan.language.variables import Scope
from stackplan.language.withheld import WithheldAlone
from stackplan.model.playbook import Playbook


def render_alone(playbook: Playbook) -> Rendering:
    """Return the playbook rendered without a node; secrets are not read, and every `when` counts as true.

    What is `unfilled` says nothing: an inventory may define the names, and a secret is not what stands in for it.
    """
    steps = tuple(step if step.when is None else replace(step, when=None) for step in playbook.steps)
    return render_partly(
        replace(playbook, steps=steps), Scope(playbook.variables, {}, playbook.sources, WithheldAlone())
    )
