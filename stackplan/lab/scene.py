"""What a scene of the demo shows, and whether its run came out as the story says; pure."""

from collections.abc import Callable, Iterator
from dataclasses import field

from stackplan.model.frozen import dataclass
from stackplan.model.outcome import NodeOutcome, Reason, StepOutcome
from stackplan.model.report import NodeReport, Report, StepReport

Check = Callable[[NodeReport], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Scene:
    """One command and what has to come of it. `check` is asked of every node and yields what is not as expected."""

    title: str
    story: str
    playbook: str
    exit_status: int
    check: Check
    nodes: int = 0
    options: tuple[str, ...] = field(default=())


def mismatches(scene: Scene, exit_status: int, report: Report) -> list[str]:
    """Return every difference between what the scene tells and what happened; none when it is as told."""
    found = []
    if exit_status != scene.exit_status:
        found.append(f"expected exit status {scene.exit_status}, observed {exit_status}")
    if len(report.nodes) != scene.nodes:
        found.append(f"expected a report of {scene.nodes} nodes, observed {len(report.nodes)}")
    return found + [f"{node.node}: {difference}" for node in report.nodes for difference in scene.check(node)]


def stopped_as_no_op(node: NodeReport) -> Iterator[str]:
    """The node stopped at torch with nothing changed; a diagnosis names the field; nothing after it ran."""
    yield from _stopped(node, "torch", Reason.NO_OP)
    step = _step(node, "torch")
    if step is None:
        return
    if step.changes:
        yield f"expected no changes, observed {[change.name for change in step.changes]}"
    if not any("upgrade" in (diagnosis.remedy or "") for diagnosis in step.diagnoses):
        yield f"expected a remedy that names `upgrade`, observed {[it.remedy for it in step.diagnoses]}"
    yield from _not_reached_after(node, "torch")


def went_through(node: NodeReport) -> Iterator[str]:
    """Every step that is for this node is proven, and torch was really replaced."""
    yield from _ended(node, NodeOutcome.OK)
    for step in _for_this_node(node):
        if step.outcome not in {StepOutcome.CHANGED, StepOutcome.SATISFIED}:
            yield f"expected step {step.id} to be proven, observed {step.outcome.value}"
    torch = _step(node, "torch")
    if torch is None:
        yield "expected a step torch, observed none"
    elif "torch" not in {change.name for change in torch.changes}:
        yield "expected torch among the changes of step torch, observed none"


def nothing_ran(node: NodeReport) -> Iterator[str]:
    """Every step that is for this node was satisfied before it could run."""
    yield from _ended(node, NodeOutcome.OK)
    for step in _for_this_node(node):
        if step.outcome is not StepOutcome.SATISFIED:
            yield f"expected step {step.id} to be satisfied, observed {step.outcome.value}"
        if step.changes or (step.action is not None and step.action.attempts):
            yield f"expected nothing to run in step {step.id}, observed that it did"


def stopped_as_regression(node: NodeReport) -> Iterator[str]:
    """The node stopped at app, which broke torch; nothing after it ran."""
    yield from _stopped(node, "app", Reason.REGRESSION)
    step = _step(node, "app")
    broken = step.broke.step if step is not None and step.broke is not None else None
    if broken != "torch":
        yield f"expected the broken step to be torch, observed {broken}"
    yield from _not_reached_after(node, "app")


def _stopped(node: NodeReport, step: str, reason: Reason) -> Iterator[str]:
    yield from _ended(node, NodeOutcome.FAILED)
    if node.stopped_at != step:
        yield f"expected it to stop at {step}, observed {node.stopped_at}"
    if node.reason is not reason:
        yield f"expected reason {reason.value}, observed {node.reason.value if node.reason else None}"


def _ended(node: NodeReport, outcome: NodeOutcome) -> Iterator[str]:
    if node.outcome is not outcome:
        yield f"expected outcome {outcome.value}, observed {node.outcome.value}"


def _not_reached_after(node: NodeReport, name: str) -> Iterator[str]:
    names = [step.id for step in node.steps]
    later = node.steps[names.index(name) + 1 :] if name in names else ()
    if not later:
        yield f"expected steps after {name}, observed none"
    for step in later:
        if step.outcome is not StepOutcome.NOT_REACHED:
            yield f"expected step {step.id} not to be reached, observed {step.outcome.value}"


def _for_this_node(node: NodeReport) -> tuple[StepReport, ...]:
    """Return the steps but for those whose `when` does not hold: a node of the lab serves nothing unless told to."""
    return tuple(step for step in node.steps if step.outcome is not StepOutcome.SKIPPED)


def _step(node: NodeReport, name: str) -> StepReport | None:
    return next((step for step in node.steps if step.id == name), None)
