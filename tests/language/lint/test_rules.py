"""Every rule has a page, a playbook that it objects to and one that it is content with; both are what it says."""

import re
from pathlib import Path

import pytest

from stackplan.cli.codes import CODES
from stackplan.engine.bind import faults
from stackplan.language import lint, linting, playbook
from stackplan.language.alone import render_alone
from stackplan.language.lint._secrets import masked
from stackplan.language.template import as_written
from stackplan.model.diagnosis import Severity

RULES = linting.rules()
EXAMPLES = Path(lint.__path__[0]) / "examples"
ROOT = Path(__file__).parents[3]
SHIPPED = sorted(it for it in ROOT.glob("playbooks/**/*.yaml") if "steps:" in it.read_text("utf-8"))


def reviewed(path):
    read = playbook.read(path)
    rendering = render_alone(read)
    return read, [*rendering.wrong, *faults(rendering.playbook, as_written)], linting.review(read, rendering.playbook)


@pytest.mark.parametrize("rule", RULES, ids=lambda it: f"{it.code}-{it.name}")
def test_a_rule_finds_its_bad_example_and_nothing_else_in_it(rule):
    read, wrong, review = reviewed(EXAMPLES / f"{rule.name}.bad.yaml")
    assert wrong == []
    assert {it.code for it in review.findings} == {rule.code}
    for it in review.findings:
        assert it.severity is rule.severity
        assert it.at.path == read.path
        assert it.source == masked(read.sources[read.path][it.at.line - 1]), "the line is shown"
        assert it.source[it.at.column - 1 :].strip(), "the caret stands under something"
        assert it.remedy
        assert not re.search(r"\{\{.*\}\} |None|frozenset", it.summary)


@pytest.mark.parametrize("rule", RULES, ids=lambda it: f"{it.code}-{it.name}")
def test_no_rule_finds_anything_in_its_good_example(rule):
    _, wrong, review = reviewed(EXAMPLES / f"{rule.name}.good.yaml")
    assert wrong == []
    assert review.findings == ()
    assert {it.diagnosis.code for it in review.ignored} == ({"SP101"} if rule.code == "SP100" else set())


def test_there_is_no_example_without_a_rule():
    assert {it.name for it in EXAMPLES.iterdir()} == {f"{it.name}.{w}.yaml" for it in RULES for w in ("bad", "good")}


def test_codes_are_of_the_family_and_each_means_one_thing():
    codes = [it.code for it in RULES]
    assert len(codes) == len(set(codes)) >= 25
    assert all(linting.CODE.fullmatch(code) for code in codes)
    assert codes == sorted(codes)
    assert not set(codes) & set(CODES)


@pytest.mark.parametrize("rule", RULES, ids=lambda it: it.code)
def test_a_rule_says_what_it_is_about_in_plain_words(rule):
    assert rule.severity in (Severity.ERROR, Severity.WARNING)
    assert not rule.summary.endswith(".")
    assert len(rule.text) > 80
    assert "\N{EM DASH}" not in rule.text + rule.summary
    assert "!" not in rule.text


@pytest.mark.parametrize("path", SHIPPED, ids=lambda it: it.name)
def test_shipped_playbooks_are_clean(path):
    _, wrong, review = reviewed(path)
    assert [(it.code, str(it.at), it.summary) for it in (*wrong, *review.findings)] == []
