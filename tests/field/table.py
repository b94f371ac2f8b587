"""docs/field.md: a row a report, from the cases themselves."""

from tests.field.case import BEFORE, Case, Catch, Replay, cases

STAGES = {
    "before": "before the node is touched",
    "stopped": "stopped",
    "harmless": "does no harm",
    "missed": "**not caught**",
}
HEAD = """# What goes wrong in the field, and what catches it

Made from the cases in `tests/field/cases` by `script/generate`. Each row is what somebody reported who upgraded a GPU
stack, replayed with the code that lints, plans and runs playbooks. The node of a replay answers as such a node does:
recorded facts, and true output of its tools. A test holds each replay to what this table says.

- **before the node is touched**: `lint` finds it (SP1xx), the plan is red (a precondition, a forecast), or the plan's
  look at the node's shells and settings finds it (SP3xx).
- **stopped**: the run stops at the step that did it, or that broke an earlier one, and says so (SP2xx).
- **does no harm**: the run goes through it and ends proven; nothing is done twice.

A report with several replays counts by the one that is caught last. What a condition catches it catches where the
playbook states that condition; the lint rules ask for most of them. A `command` is a check of the playbook's author.
"""
ORDER = ("lint", "finding", "differs", "precondition", "predicted", "stopped", "harmless", "missed")


def page() -> str:
    """Return the whole page."""
    every = cases()
    stages = [stage(case) for case in every]
    counts = [f"{stages.count(key)} {text.strip('*')}" for key, text in STAGES.items()]
    rows = [
        f"| {case.report} | {cell(case.happens)} | {STAGES[key]} | {cell('<br>'.join(ways(case)))} |"
        for case, key in zip(every, stages, strict=True)
    ]
    lines = [HEAD, f"{len(every)} reports: {', '.join(counts)}.", "", "| report | what happens | caught | by |"]
    return "\n".join([*lines, "| --- | --- | --- | --- |", *rows]) + "\n"


def stage(case: Case) -> str:
    """Return when a case is caught: each replay at the earliest, the case as its last replay."""
    return max((_earliest(replay) for replay in case.replays), key=[*STAGES].index)


def _earliest(replay: Replay) -> str:
    found = {"before" if it.stage in BEFORE else it.stage for it in replay.caught}
    return min(found, key=[*STAGES].index)


def ways(case: Case) -> list[str]:
    """Return what catches a case, each way once, in the order in which it would come up."""
    caught = sorted(case.caught, key=lambda it: ORDER.index(it.stage))
    return [*dict.fromkeys(map(way, caught))]


def way(it: Catch) -> str:
    """Return in a few words what catches it."""
    open_ = ", which is unknown" if it.verdict == "unknown" else ""
    said = {
        "lint": f"lint: [{it.what}](reference/rules.md#{it.what.lower()})",
        "finding": f"plan: {it.what}",
        "differs": f"plan: nodes differ in `{it.what}`",
        "precondition": f"precondition {_kind(it.what)}{open_}",
        "predicted": f"plan: {_end(it)}",
        "stopped": f"run: {_end(it)}",
    }
    return said.get(it.stage, it.what.strip())


def _end(it: Catch) -> str:
    code = f", {it.code}" if it.code else ""
    if it.what == "action":
        return f"the action fails{code}" if it.reason == "action" else f"the action cannot be done{code}"
    return f"{_kind(it.what)}, {it.reason}{code}"


def _kind(word: str) -> str:
    return f"[`{word}`](reference/conditions/{word}.md)"


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
