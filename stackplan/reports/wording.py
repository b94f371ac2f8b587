"""How outcomes read: a mark, a word and a sentence for a step; the same words in every format for people."""

from collections.abc import Iterable

from stackplan.model.change import Change
from stackplan.model.outcome import NodeOutcome, Phase, Reason, StepOutcome
from stackplan.model.quantity import duration_text
from stackplan.model.report import NOT_REACHED_FOR, ConditionReport, NodeReport, StepReport
from stackplan.model.verdict import Status
from stackplan.reports.count import counted
from stackplan.reports.paint import Style
from stackplan.reports.safe import safe

MARKS = {
    StepOutcome.SATISFIED: ("✔", Style.GOOD),
    StepOutcome.CHANGED: ("✔", Style.CHANGE),
    StepOutcome.FAILED: ("✘", Style.BAD),
    StepOutcome.SKIPPED: ("-", Style.FAINT),
    StepOutcome.NOT_REACHED: ("·", Style.FAINT),
    StepOutcome.ROLLED_BACK: ("↩", Style.CHANGE),
    StepOutcome.WOULD_CHANGE: ("~", Style.CHANGE),
    StepOutcome.WOULD_RUN: ("▸", Style.CHANGE),
    StepOutcome.WOULD_FAIL: ("✘", Style.BAD),
    StepOutcome.UNKNOWN: ("?", Style.UNSURE),
    StepOutcome.HELD: ("✔", Style.GOOD),
    StepOutcome.NOT_HELD: ("✘", Style.BAD),
}
STATUS_MARKS = {
    Status.HELD: ("✔", Style.GOOD),
    Status.NOT_HELD: ("✘", Style.BAD),
    Status.UNKNOWN: ("?", Style.UNSURE),
}
NODE_STYLES = {
    NodeOutcome.OK: Style.GOOD,
    NodeOutcome.PENDING: Style.CHANGE,
    NodeOutcome.FAILED: Style.BAD,
    NodeOutcome.UNREACHABLE: Style.BAD,
    NodeOutcome.LOST: Style.BAD,
    NodeOutcome.LOCKED: Style.BAD,
    NodeOutcome.STALE: Style.BAD,
    NodeOutcome.SKIPPED: Style.FAINT,
    NodeOutcome.INTERRUPTED: Style.UNSURE,
}
NODE_WORDS = {
    NodeOutcome.OK: "done and proven",
    NodeOutcome.PENDING: "something to do",
    NodeOutcome.FAILED: "stopped",
    NodeOutcome.UNREACHABLE: "could not be reached",
    NodeOutcome.LOST: "lost",
    NodeOutcome.LOCKED: "locked by another run",
    NodeOutcome.STALE: "no longer as planned",
    NodeOutcome.SKIPPED: "not started",
    NodeOutcome.INTERRUPTED: "interrupted",
}
"""Of a node; what `ok` means depends on the command and is worded there."""


VALUE = 300
"""Characters of one end of a change."""
UNRECORDED = "no facts recorded"
"""Of a node that an offline plan knows nothing of."""


NOT_PROVEN = "not proven"
"""Of what could not be answered, as against what is known not to hold."""


def doubtful(conditions: Iterable[ConditionReport]) -> bool:
    """Return whether some of the conditions could not be answered, and none of them is known not to hold."""
    found = {it.status for it in conditions}
    return Status.UNKNOWN in found and Status.NOT_HELD not in found


def _is_unproven(step: StepReport) -> bool:
    """Return whether a `verify` knows of nothing in the step that does not hold: its outcome has one word for both."""
    return step.outcome is StepOutcome.NOT_HELD and doubtful(step.conditions)


def step_mark(step: StepReport) -> tuple[str, Style]:
    """Return the sign for how a step ended, and its style."""
    if step.unreached:
        return MARKS[StepOutcome.NOT_REACHED]
    return STATUS_MARKS[Status.UNKNOWN] if _is_unproven(step) else MARKS[step.outcome]


def outcome_word(step: StepReport) -> str:
    """Return the word for a step's outcome."""
    if step.unreached:
        return "not reached"
    return NOT_PROVEN if _is_unproven(step) else step.outcome.value.replace("-", " ")


def step_word(step: StepReport) -> str:
    """Return the word for how a step ended: its reason when it failed, else its outcome."""
    if step.outcome is StepOutcome.FAILED and step.reason is not None:
        return step.reason.value
    return outcome_word(step)


def step_sentence(step: StepReport, *, timed: bool = True) -> str:
    """Return one line on why a step ended as it did; empty when the word says it all. `timed`: and how long it took."""
    took = "" if step.duration_s is None or not timed else f"({duration_text(step.duration_s)})"
    said = (step.message or "").removeprefix(NOT_REACHED_FOR if step.unreached else "")
    sentence = safe(said) if said and not _worded_here(step) else _sentence(step)
    return " ".join(part for part in (sentence, took) if part)


def authored(step: StepReport) -> bool:
    """Return whether the step's message is the playbook author's own word for one of its conditions."""
    return step.message is not None and step.message in {it.message for it in step.conditions}


def _worded_here(step: StepReport) -> bool:
    """Return whether the sentence names the program: of a no-op, and of an action that exited with something but 0."""
    exited = step.action is not None and step.action.exit_code is not None
    plain_no_op = step.reason is Reason.NO_OP and not (step.message or "").endswith("that the conditions see")
    return plain_no_op or (step.reason is Reason.ACTION and exited)


def _sentence(step: StepReport) -> str:
    match step.outcome:
        case StepOutcome.SATISFIED | StepOutcome.HELD:
            text = _conditions_in_brief(step)
        case StepOutcome.CHANGED:
            text = _changes_in_brief(step.changes, step)
        case StepOutcome.WOULD_CHANGE | StepOutcome.WOULD_RUN if step.predicted:
            text = _changes_in_brief(step.predicted, step)
        case StepOutcome.FAILED | StepOutcome.WOULD_FAIL:
            text = _failure_sentence(step)
        case StepOutcome.NOT_HELD:
            text = _unproven(step)
        case StepOutcome.SKIPPED:
            text = "its `when` does not hold"
        case _:
            text = safe(step.name) if step.name else ""
    return text


def tells_changes(step: StepReport) -> bool:
    """Return whether the step's one line tells everything that its action is predicted to change."""
    planned = step.outcome in (StepOutcome.WOULD_CHANGE, StepOutcome.WOULD_RUN)
    return planned and not step.message and len(step.predicted or ()) == 1


def _changes_in_brief(changes: tuple[Change, ...], step: StepReport) -> str:
    if not changes:
        return "ran, and nothing that is looked at changed"
    return change_text(changes[0], step) if len(changes) == 1 else counted(len(changes), "change")


def _failure_sentence(step: StepReport) -> str:
    program = program_name(step)
    reason = step.reason.value if step.reason else ""
    planned = step.outcome is StepOutcome.WOULD_FAIL
    sentences = {
        "precondition": "nothing was touched",
        "action": f"{program} {ending_text(step)}",
        "timeout": f"{program} did not end in time",
        "no-op": f"{program} {'would exit 0 and change' if planned else 'exited 0 and changed'} nothing",
        "postcondition": f"{program} {ending_text(step)}, but {_unproven(step)}",
        "regression": _regression(step),
        "lost": f"how {program} ended is not known",
        "interrupted": f"{program} was ended on request",
    }
    return sentences.get(reason, "")


def _regression(step: StepReport) -> str:
    doubt = step.broke is not None and doubtful(step.broke.conditions)
    whose = safe(step.broke.step) if step.broke else "an earlier step"
    return f"what {whose} had proven {'can no longer be proven' if doubt else 'no longer holds'}"


def program_name(step: StepReport) -> str:
    """Return what people call the program that a step ran: the name in front of its last command line."""
    command = (step.action.command or "").strip() if step.action else ""
    word = command.splitlines()[-1].split(" ")[0].rsplit("/", 1)[-1] if command else ""
    # A step whose text is a script has no one program.
    return safe(word, 40) if word and "\n" not in command and word.replace("-", "").isalnum() else "the action"


def ending_text(step: StepReport) -> str:
    if step.action is None:
        return "ended"
    if step.action.exit_code is not None:
        return f"exited {step.action.exit_code}"
    return safe(step.action.ending) if step.action.ending else "ended"


def _conditions_in_brief(step: StepReport) -> str:
    """Return the step's first postcondition and how many more there are."""
    texts = [condition_text(it) for it in step.conditions if it.phase is Phase.POST]
    if not texts:
        return ""
    return texts[0] if len(texts) == 1 else f"{texts[0]}, and {len(texts) - 1} more"


def _unproven(step: StepReport) -> str:
    failed = sum(it.status is Status.NOT_HELD for it in step.conditions)
    unknown = sum(it.status is Status.UNKNOWN for it in step.conditions)
    total = len(step.conditions)
    said = []
    if failed:
        said.append(f"{failed} of {counted(total, 'condition')} {'does' if failed == 1 else 'do'} not hold")
    if unknown and failed:
        said.append(f"{unknown} {'is' if unknown == 1 else 'are'} unknown")
    elif unknown:
        said.append(f"{unknown} of {counted(total, 'condition')} could not be answered")
    return ", ".join(said) or "not proven"


def condition_text(condition: ConditionReport) -> str:
    """Return what a condition states, under the name that the playbook gives it when there is one."""
    text = safe(condition.text)
    return f"{safe(condition.name, 120)}: {text}" if condition.name else text


def change_text(change: Change, step: StepReport | None = None) -> str:
    """Return a change, which is one of `step`, as `torch 2.10.0+cu128 → 2.11.0+cu130`; the kind is named unless it is a
    package.
    """
    kind = "" if change.kind == "package" else f"{safe(change.kind, 60)} "
    return f"{kind}{safe(change.name, 200)} {change_ends(change, step)}"


def change_ends(change: Change, step: StepReport | None = None) -> str:
    """Return what becomes of the thing that changes, without its name: `2.10.0+cu128 → 2.11.0+cu130`."""
    if change.before is None and change.after is None:
        return "rewritten"
    if change.before is None:
        return f"{safe(change.after or '', VALUE)} (new)"
    if change.after is None:
        return f"{safe(change.before, VALUE)} removed"
    if change.before == change.after:
        return f"{safe(change.after, VALUE)} ({anew_word(change, step)})"
    return f"{safe(change.before, VALUE)} → {safe(change.after, VALUE)}"


def anew_word(change: Change, step: StepReport | None) -> str:
    """Return what was done to a thing that reads as before: a service is not written, it is restarted or reloaded."""
    if change.kind != "service":
        return "written again"
    command = (step.action.command or "") if step is not None and step.action is not None else ""
    return "reloaded" if f"systemctl reload {change.name}" in command.splitlines() else "restarted"


_OK_WORDS = {"plan": "nothing to do", "verify": "everything holds", "rollback": "put back and proven"}
_FAILED_WORDS = {"verify": "not everything holds", "plan": "would stop", "rollback": "not taken back"}


def node_word(node: NodeReport, command: str) -> str:
    """Return how a node ended, in the words of the command that was given."""
    if node.outcome is NodeOutcome.OK:
        return _OK_WORDS.get(command, NODE_WORDS[NodeOutcome.OK])
    if node.outcome is NodeOutcome.FAILED:
        if command == "verify" and node_unproven(node):
            return "not everything is proven"
        stopped = f"stopped at {safe(node.stopped_at, 80)}" if node.stopped_at else "stopped before the first step"
        return _FAILED_WORDS.get(command, stopped)
    if node.outcome is NodeOutcome.PENDING and command != "plan":
        return "not at its end yet"
    return node_end(node)


def node_unproven(node: NodeReport) -> bool:
    """Return whether all that keeps a node that was verified from being proven is what could not be answered."""
    failing = [step for step in node.steps if step.outcome is StepOutcome.NOT_HELD]
    return bool(failing) and all(_is_unproven(step) for step in failing)


def node_end(node: NodeReport) -> str:
    """Return how a node ended, for the line with its name, where no step tells it."""
    return UNRECORDED if node.reason is Reason.UNRECORDED else NODE_WORDS[node.outcome]
