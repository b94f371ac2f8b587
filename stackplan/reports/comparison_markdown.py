"""What a change to a playbook means, as a comment on a pull request; bounded, and foreign text is inert; pure."""

from collections.abc import Sequence

from stackplan.model.comparison import Comparison, NodeOutlook, StepChange
from stackplan.model.outcome import StepOutcome
from stackplan.reports import comparison_wording as words
from stackplan.reports.comparison_text import command_lines
from stackplan.reports.count import counted
from stackplan.reports.markdown_text import Page, cell, code, fenced, folded, listed, raw_code

LIMIT = 24_000
"""Characters; a plan takes 40,000, so that both go into one comment of GitHub (65,536)."""
SHARE = 7_000
NAMES = 3


def render(comparison: Comparison) -> str:
    """Return the comparison as markdown of at most 24,000 characters that ends in a line break."""
    page = Page(LIMIT)
    page.add(f"### stackplan diff: {code(comparison.name, 80)}\n\n{code(words.sides(comparison), 250)}")
    if presence := words.presence(comparison):
        page.add(code(presence, 300))
    page.add(f"**{words.counts(comparison)}**")
    if comparison.nodes is not None and not any(node.differs for node in comparison.nodes):
        page.add(f"The plan of {counted(len(comparison.nodes), 'recorded node')} stays the same.")
    groups = words.same_outlooks(comparison.nodes or ())
    left = [
        *_add_groups(page, "❌ Would fail", [group for group in groups if _fails(group[1])]),
        *_add_weakened(page, comparison),
        *_add_groups(page, "Recorded nodes", [group for group in groups if not _fails(group[1])]),
        *_add_variables(page, comparison),
        *_add_steps(page, comparison),
    ]
    return page.text(f"Left out for want of room: {', '.join(left)}; `--format json` has all of it." if left else "")


def _add_weakened(page: Page, comparison: Comparison) -> list[str]:
    if not comparison.weakened:
        return []
    page.add(f"#### ⚠️ {words.heading(comparison)}\n\n{words.title(comparison)}.")
    rows = [
        [
            words.EFFECT_MARKS[it.effect],
            cell(it.step, 60) if it.step is not None else "",
            cell(it.subject, 160),
            cell(words.weakening(it), 300),
            cell(str(it.at), 160) if it.at else "",
        ]
        for it in words.surest_first(comparison)
    ]
    missed = page.add_rows(["", "step", "of", "what", "where"], rows, SHARE)
    return [f"{missed} of what was weakened"] if missed else []


def _add_groups(page: Page, head: str, groups: Sequence[tuple[tuple[str, ...], NodeOutlook]]) -> list[str]:
    if not groups:
        return []
    page.add(f"#### {head}")
    rows = [
        [
            listed(names, NAMES),
            f"{words.outcome_word(node.before)} → {words.outcome_word(node.after)}",
            "<br>".join(cell(_outlook(it_words, sentence), 300) for it_words, sentence in _steps_of(node)),
        ]
        for names, node in groups
    ]
    missed = page.add_rows(["nodes", "plan", "steps"], rows, SHARE)
    which = "that would fail" if _fails(groups[0][1]) else "that differ"
    return [f"{counted(missed, 'row')} of nodes {which}"] if missed else []


def _fails(node: NodeOutlook) -> bool:
    return any(it.after is not None and it.after.outcome is StepOutcome.WOULD_FAIL for it in node.steps)


def _steps_of(node: NodeOutlook) -> list[tuple[str, str]]:
    """Return what the first ten steps come to: those that would fail first, so that none of them is cut off."""
    steps = sorted(node.steps, key=lambda it: it.after is None or it.after.outcome is not StepOutcome.WOULD_FAIL)
    return [(words.outlook_words(it), words.outlook_sentence(it)) for it in steps[:10]]


def _outlook(what: str, sentence: str) -> str:
    return f"{what} ({sentence})" if sentence else what


def _add_variables(page: Page, comparison: Comparison) -> list[str]:
    if not comparison.variables:
        return []
    page.add("#### Variables")
    rows = [
        [
            cell(it.name, 60),
            cell(words.value(it.before), 160) if it.before is not None else "",
            cell(words.value(it.after), 160) if it.after is not None else "",
            listed(it.used_by, NAMES),
        ]
        for it in comparison.variables
    ]
    missed = page.add_rows(["variable", "before", "after", "goes into"], rows, SHARE // 2)
    return [counted(missed, "variable")] if missed else []


def _add_steps(page: Page, comparison: Comparison) -> list[str]:
    own = [words.field_words(it) for it in comparison.settings]
    own += [f"{words.TURN_MARKS[it.turn]} {words.condition_words(it)}" for it in comparison.preconditions]
    left = []
    if own and not page.add(folded("The playbook", fenced(own))):
        left.append("settings of the playbook")
    for index, it in enumerate(comparison.steps):
        mark = words.TURN_MARKS[it.turn]
        summary = f"{mark} {raw_code(it.id, 80)} {raw_code(words.step_words(it), 200)}"
        if not page.add(folded(summary, fenced(_step_lines(it), "diff", limit=SHARE // 2))):
            return [*left, f"details of {counted(len(comparison.steps) - index, 'step')}"]
    return left


def _step_lines(it: StepChange) -> list[str]:
    lines = [f"  {words.field_words(field)}" for field in it.fields]
    lines += command_lines(it.command) if it.command is not None else []
    for condition in it.conditions:
        mark = words.TURN_MARKS[condition.turn].replace("~", " ")
        lines.append(f"{mark} {words.condition_words(condition)}")
        lines += [f"      {words.EFFECT_MARKS[field.effect]} {words.field_words(field)}" for field in condition.fields]
    return lines
