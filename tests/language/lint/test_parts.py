"""A playbook may be looked at in parts, by several processes: what is found is the same as in one go."""

from dataclasses import replace
from pathlib import Path

import pytest

from stackplan.language import lint, linting, playbook
from stackplan.language.alone import render_alone
from stackplan.language.lint._subject import Subject

EXAMPLES = sorted((Path(lint.__path__[0]) / "examples").glob("*.yaml"))
GOOD = sorted((Path(__file__).parent / "good").glob("*.yaml"))
SHIPPED = sorted(it for it in (Path(__file__).parents[3] / "playbooks").rglob("*.yaml") if "steps:" in it.read_text())


def read(path):
    written = playbook.read(path)
    return written, render_alone(written).playbook


@pytest.fixture(scope="module")
def everything():
    """All of the examples in one playbook, so that each rule has steps before and behind those that it objects to."""
    pairs = [read(path) for path in EXAMPLES]
    written, rendered = (
        replace(
            of[0],
            steps=tuple(step for it in of for step in it.steps),
            preconditions=tuple(condition for it in of for condition in it.preconditions),
            variables={name: value for it in of for name, value in it.variables.items()},
            sources={path: lines for it in of for path, lines in it.sources.items()},
        )
        for of in zip(*pairs, strict=True)
    )
    return written, rendered


def by_step(written, rendered):
    """Return what each rule that looks at single steps finds in the whole, and what it finds in the steps alone."""
    rules = [rule for _, rule in linting._rules() if rule.by_step]
    subject = Subject.of(written, rendered, frozenset(it.code for it in rules))
    parts = [subject.part(number, number + 1) for number in range(len(subject.steps))]
    in_whole = {it.code: list(it.joined(it.check(subject))) for it in rules}
    in_parts = {it.code: list(it.joined(found for part in parts for found in it.check(part))) for it in rules}
    return in_whole, in_parts


def by_place(found):
    return {code: sorted(all_of_it, key=repr) for code, all_of_it in found.items()}


@pytest.mark.parametrize("path", [*EXAMPLES, *GOOD, *SHIPPED], ids=lambda it: it.name)
def test_a_rule_by_step_finds_in_the_steps_alone_what_it_finds_in_all_of_them(path):
    in_whole, in_parts = by_step(*read(path))
    assert by_place(in_parts) == by_place(in_whole)


def test_so_it_does_where_every_example_stands_in_one_playbook(everything):
    in_whole, in_parts = by_step(*everything)
    assert by_place(in_parts) == by_place(in_whole)
    silent = {code for code, found in in_whole.items() if not found}
    assert silent == set(), "each of these rules has an example of what is wrong in there"


def test_most_rules_look_at_single_steps():
    """What cannot be done in parts is done by one process while another waits."""
    assert sum(rule.by_step for _, rule in linting._rules()) >= 30


def test_the_same_is_told_however_many_parts_there_are(everything, monkeypatch):
    told = []
    for size in (1, 7, 10_000):
        monkeypatch.setattr(linting, "SMALLEST_PART", size)
        examination = linting.Examination(*everything)
        parts = [*range(examination.parts)]
        found = {it: examination.of_part(it) for it in reversed(parts)}
        told.append((len(parts), examination.review(examination.of_whole(), found)))
    assert [number for number, _ in told] == [len(everything[0].steps), -(-len(everything[0].steps) // 7), 1]
    assert told[0][1] == told[1][1] == told[2][1]
    assert len(told[0][1].findings) > 60


def test_of_a_very_long_playbook_there_are_no_more_parts_than_can_be_told(everything):
    written, rendered = (replace(it, steps=it.steps * 60) for it in everything)
    examination = linting.Examination(written, rendered)
    assert len(written.steps) > linting.MOST_PARTS * linting.SMALLEST_PART
    assert examination.parts <= linting.MOST_PARTS
    covered = [it.number for number in range(examination.parts) for it in examination._part(number).steps]
    assert covered == [*range(len(written.steps))]
