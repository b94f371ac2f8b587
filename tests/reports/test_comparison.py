"""Comparisons for people and programs: bounded, inert, and the same in every form."""

import json
from dataclasses import fields, replace
from pathlib import Path

import jsonschema
import pytest

from stackplan.model.comparison import (
    CommandChange,
    Comparison,
    ConditionChange,
    Effect,
    FieldChange,
    NodeOutlook,
    Side,
    StepChange,
    StepOutlook,
    Turn,
    VariableChange,
    Weakening,
)
from stackplan.model.location import Location
from stackplan.model.outcome import NodeOutcome, Phase, StepOutcome
from stackplan.model.report import StepReport
from stackplan.reports import comparison_document, comparison_markdown, comparison_text
from stackplan.reports.markdown_text import length

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "comparison.v1.json").read_text("utf-8"))
HOSTILE = "a|b ``` @octocat #1 <img src=x> https://evil.example [x](y) \\| \x1b[2J\u202e\n</details>"


def comparison(text="plain", steps=1):
    at = Location(text, 1, 1)
    field = FieldChange(path=text, before=text, after=None, effect=Effect.WEAKER, why=text, at=at)
    condition = ConditionChange(
        turn=Turn.CHANGED, phase=Phase.POST, kind=text, before=text, after=text, fields=(field,), at=at
    )
    planned = StepReport(id=text, outcome=StepOutcome.WOULD_FAIL, message=text)
    return Comparison(
        name=text,
        old=Side(label=text, path=text),
        new=Side(label=text, path=text),
        weakened=(Weakening(effect=Effect.WEAKER, step=text, subject=text, what=text, before=text, after=text, at=at),)
        * steps,
        settings=(field,),
        preconditions=(condition,),
        steps=tuple(
            StepChange(
                id=f"{text}{number}",
                turn=Turn.CHANGED,
                kind=text,
                was=text,
                command=CommandChange(before=text, after=f"{text}\nmore"),
                fields=(replace(field, effect=Effect.OTHER),),
                conditions=(condition,),
                at=at,
            )
            for number in range(steps)
        ),
        variables=(VariableChange(name=text, before=text, after=text, used_by=(text,), at=at),) * steps,
        nodes=tuple(
            NodeOutlook(
                node=f"{text}{number}",
                before=NodeOutcome.OK,
                after=NodeOutcome.FAILED,
                steps=(StepOutlook(id=f"{text}{number}", before=None, after=planned),),
            )
            for number in range(steps)
        ),
    )


@pytest.mark.parametrize("text", ["plain", HOSTILE])
def test_the_document_is_valid_and_leaves_nothing_out(text):
    written = comparison_document.render(comparison(text))
    found = json.loads(written)
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    assert written.isascii()
    renamed = {"at": "location", "name": "playbook"}
    for model, row in (
        (Comparison, found),
        (Weakening, found["weakened"][0]),
        (StepChange, found["steps"][0]),
        (ConditionChange, found["steps"][0]["conditions"][0]),
        (FieldChange, found["settings"][0]),
    ):
        assert {renamed.get(it.name, it.name) for it in fields(model)} <= set(row)
    assert {it.name for it in fields(VariableChange)} - {"at"} <= set(found["variables"][0])


def test_the_schema_would_refuse_a_wrong_one():
    found = {**comparison_document.document(comparison()), "differs": "yes"}
    with pytest.raises(jsonschema.ValidationError, match="'yes' is not of type 'boolean'"):
        jsonschema.Draft202012Validator(SCHEMA).validate(found)


@pytest.mark.parametrize("steps", [1, 50, 2_000])
def test_a_comment_keeps_to_its_share_however_much_there_is(steps):
    text = comparison_markdown.render(comparison(HOSTILE, steps))
    assert length(text) <= 24_000
    assert ("Left out for want of room: " in text) == (steps > 1)


def test_hostile_text_obeys_nobody(outside_of_code):
    for text in (
        comparison_text.render(comparison(HOSTILE), width=100, colour=False),
        comparison_markdown.render(comparison(HOSTILE)),
    ):
        assert "\x1b" not in text
        assert "\u202e" not in text
    bare = outside_of_code(comparison_markdown.render(comparison(HOSTILE)))
    for sign in ("@octocat", "#1 ", "<img", "evil.example", "](y)"):
        assert sign not in bare, sign
    assert bare.count("<details>") == bare.count("</details>") == 2


def test_colour_changes_nothing_but_colour():
    bare = comparison_text.render(comparison(), width=100, colour=False)
    painted = comparison_text.render(comparison(), width=100, colour=True)
    assert painted != bare
    for code in ("1;31", "32", "33", "35", "1", "2", "0"):
        painted = painted.replace(f"\x1b[{code}m", "")
    assert painted == bare


def test_nothing_that_differs_is_said_in_every_form():
    empty = Comparison(name="p", old=Side(label="a", path="p"), new=Side(label="b", path="p"))
    assert "No difference" in comparison_text.render(empty, width=100, colour=False)
    assert "No difference" in comparison_markdown.render(empty)
    assert comparison_document.document(empty)["differs"] is False


def test_what_would_fail_comes_first_then_what_is_weaker_then_what_changes():
    text = comparison_markdown.render(comparison())
    heads = [line for line in text.splitlines() if line.startswith(("#### ", "<details>"))]
    assert heads[:3] == ["#### ❌ Would fail", "#### ⚠️ Weakened", "#### Variables"]
    assert heads[3].startswith("<details>")


def test_what_is_not_sure_is_not_called_weakened():
    found = comparison()
    unsure = replace(found, weakened=(replace(found.weakened[0], effect=Effect.NOTE),))
    assert "#### ⚠️ May prove less" in comparison_markdown.render(unsure)
    assert "MAY PROVE LESS   1 thing to look at (?)" in comparison_text.render(unsure, width=100, colour=False)


def test_what_is_surely_weaker_comes_first_in_every_form():
    sure, doubtful = (
        Weakening(effect=effect, step=step, subject="x", what=f"{step} says less")
        for effect, step in ((Effect.WEAKER, "later"), (Effect.NOTE, "earlier"))
    )
    found = replace(comparison(), weakened=(doubtful, sure))
    for told in (comparison_text.render(found, width=100, colour=False), comparison_markdown.render(found)):
        assert told.index("later says less") < told.index("earlier says less")


def test_a_step_that_would_fail_is_never_the_one_left_out():
    fine = [
        StepOutlook(id=f"s{it}", before=None, after=StepReport(id="s", outcome=StepOutcome.SATISFIED))
        for it in range(20)
    ]
    bad = StepOutlook(id="bad", before=None, after=StepReport(id="bad", outcome=StepOutcome.WOULD_FAIL, message="no"))
    node = NodeOutlook(node="n", before=NodeOutcome.OK, after=NodeOutcome.FAILED, steps=(*fine, bad))
    assert "bad: " in comparison_markdown.render(replace(comparison(), nodes=(node,)))


def test_one_side_without_the_playbook_is_told_in_one_line():
    found = comparison()
    new = replace(found, new=Side(label="b", path="p", sha256="0"), old=Side(label="a", path="p"))
    assert "New in b: a has no such playbook." in comparison_markdown.render(new)
    gone = replace(found, old=Side(label="a", path="p", sha256="0"), new=Side(label="b", path="p"))
    assert "Gone in b: there is no such playbook any more." in comparison_text.render(gone, width=100, colour=False)
