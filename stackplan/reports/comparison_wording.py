"""What a change to a playbook is called: the same words in every format for people; every text made safe."""

from stackplan.model.comparison import (
    Comparison,
    ConditionChange,
    Effect,
    FieldChange,
    NodeOutlook,
    StepChange,
    StepOutlook,
    Turn,
    VariableChange,
    Weakening,
)
from stackplan.model.outcome import NodeOutcome, Phase
from stackplan.model.report import StepReport
from stackplan.reports.count import counted
from stackplan.reports.safe import safe
from stackplan.reports.wording import NODE_WORDS, step_sentence

TURN_MARKS = {Turn.ADDED: "+", Turn.REMOVED: "-", Turn.CHANGED: "~"}
EFFECT_MARKS = {Effect.WEAKER: "▼", Effect.NOTE: "?", Effect.STRONGER: "▲", Effect.OTHER: "~"}


def sides(comparison: Comparison) -> str:
    return f"{safe(comparison.old.label, 120)} → {safe(comparison.new.label, 120)}"


def presence(comparison: Comparison) -> str:
    """Return that only one of the two has the playbook, in one line; empty where both have it."""
    old, new = comparison.old, comparison.new
    if (old.sha256 is None) == (new.sha256 is None):
        return ""
    if old.sha256 is None:
        return f"New in {safe(new.label, 120)}: {safe(old.label, 120)} has no such playbook."
    return f"Gone in {safe(new.label, 120)}: there is no such playbook any more."


def heading(comparison: Comparison) -> str:
    """Return what the loud section is called: nothing in it may be sure."""
    sure = any(it.effect is Effect.WEAKER for it in comparison.weakened)
    return "Weakened" if sure else "May prove less"


def title(comparison: Comparison) -> str:
    """Return how much is weaker, in one line."""
    weaker = sum(it.effect is Effect.WEAKER for it in comparison.weakened)
    notes = len(comparison.weakened) - weaker
    said = [f"{counted(weaker, 'thing')} no longer proven as before"] if weaker else []
    said += [f"{counted(notes, 'thing')} to look at ({EFFECT_MARKS[Effect.NOTE]})"] if notes else []
    return ", ".join(said)


def counts(comparison: Comparison) -> str:
    """Return the last line: how many of what changed, or that nothing did."""
    if not comparison.differs:
        return "No difference: both prove and do the same."
    turns = [
        (sum(it.turn is Turn.ADDED for it in comparison.steps), "added"),
        (sum(it.turn is Turn.REMOVED for it in comparison.steps), "removed"),
        (sum(it.turn is Turn.CHANGED for it in comparison.steps), "changed"),
    ]
    steps = ", ".join(f"{count} {word}" for count, word in turns if count)
    said = [f"steps: {steps}"] if steps else []
    said += [f"{counted(len(comparison.variables), 'variable')} changed"] if comparison.variables else []
    if comparison.nodes is not None:
        differing = sum(node.differs for node in comparison.nodes)
        said.append(f"another plan for {differing} of {counted(len(comparison.nodes), 'recorded node')}")
    return "; ".join(said) + "." if said else f"{_only(comparison)} changed."


def _only(comparison: Comparison) -> str:
    """Return what changed where neither a step nor a variable did."""
    nodes = any(it.path == "nodes" for it in comparison.settings)
    rollout = any(it.path != "nodes" for it in comparison.settings)
    parts = [
        (nodes, "which nodes it is for"),
        (rollout, "the rollout"),
        (comparison.preconditions, "the preconditions"),
    ]
    return "Only " + " and ".join(words for there, words in parts if there)


def weakening(it: Weakening) -> str:
    """Return what is proven less, with the values where there are two."""
    both = (
        f" ({value(it.before, 160)} → {value(it.after, 160)})" if it.before is not None and it.after is not None else ""
    )
    return f"{safe(it.what)}{both}"


def surest_first(comparison: Comparison) -> list[Weakening]:
    """Return what is proven less, then what may be; each in the order of the playbook."""
    return sorted(comparison.weakened, key=lambda it: it.effect is not Effect.WEAKER)


def step_words(it: StepChange) -> str:
    """Return what became of a step, without its id."""
    if it.turn is Turn.REMOVED:
        return "removed"
    if it.turn is Turn.ADDED:
        return f"added {_after(it.moved.after)}" if it.moved else "added"
    said = [f"was called {safe(it.was, 80)}"] if it.was else []
    if it.moved is not None:
        said.append(f"moved {_after(it.moved.after)}, it stood {_after(it.moved.before)}")
    if it.fields or it.conditions:
        said.append("changed")
    return "; ".join(said)


def _after(name: str | None) -> str:
    return "at the beginning" if name is None else f"after {safe(name, 80)}"


def field_words(it: FieldChange) -> str:
    before, after = value(it.before), value(it.after)
    why = f"   ({safe(it.why, 120)})" if it.why and it.effect in (Effect.WEAKER, Effect.NOTE) else ""
    if it.before is None:
        return f"{safe(it.path, 80)}: {after} (new){why}"
    if it.after is None:
        return f"{safe(it.path, 80)}: {before} (dropped)"
    return f"{safe(it.path, 80)}: {before} → {after}{why}"


def value(text: str | None, limit: int = 300) -> str:
    if text is None:
        return "nothing"
    return safe(text, limit) if text.strip() else '""'


def condition_words(it: ConditionChange) -> str:
    phase = "precondition" if it.phase is Phase.PRE else "postcondition"
    text = it.after if it.after is not None else it.before
    return f"{phase} {safe(text or it.kind, 300)}"


def variable_words(it: VariableChange) -> str:
    if it.before is None:
        change = f"{value(it.after)} (new)"
    elif it.after is None:
        change = f"{value(it.before)} (removed)"
    else:
        change = f"{value(it.before)} → {value(it.after)}"
    names = ", ".join(safe(name, 80) for name in it.used_by[:8]) + (" …" if len(it.used_by) > 8 else "")
    return f"{safe(it.name, 80)}: {change}   {f'goes into {names}' if it.used_by else 'goes into no step'}"


def outlook_words(it: StepOutlook) -> str:
    return f"{safe(it.id, 80)}: {_step(it.before)} → {_step(it.after)}"


def _step(report: StepReport | None) -> str:
    return "no such step" if report is None else report.outcome.value.replace("-", " ")


def outlook_sentence(it: StepOutlook) -> str:
    """Return what the new plan says of the step, empty where its outcome says it all."""
    if it.after is None:
        return ""
    reason = f"{it.after.reason.value}: " if it.after.reason else ""
    return f"{reason}{step_sentence(it.after)}"


def same_outlooks(nodes: tuple[NodeOutlook, ...]) -> list[tuple[tuple[str, ...], NodeOutlook]]:
    """Return the nodes for which the change means something, with those together for which it means the same."""
    found: dict[object, list[NodeOutlook]] = {}
    for node in nodes:
        if node.differs:
            key = (node.before, node.after, node.message, tuple((it.id, it.before, it.after) for it in node.steps))
            found.setdefault(key, []).append(node)
    return [(tuple(it.node for it in alike), alike[0]) for alike in found.values()]


def outcome_word(outcome: NodeOutcome | None) -> str:
    """Return what a plan comes to on a node; None is a node that the playbook does not have."""
    if outcome is None:
        return "not a node of the playbook"
    return {NodeOutcome.OK: "nothing to do", NodeOutcome.FAILED: "would stop"}.get(outcome, NODE_WORDS[outcome])
