"""Explanations and schemas on request."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from stackplan.cli.codes import CODES
from stackplan.cli.explain import explained
from stackplan.cli.words import WORDS
from stackplan.language import linting, schema
from stackplan.model.diagnosis import Invalid
from stackplan.model.outcome import NodeOutcome, Reason, StepOutcome
from stackplan.model.verdict import Status
from stackplan.reports.comparison_wording import EFFECT_MARKS
from stackplan.reports.wording import MARKS, STATUS_MARKS

SOURCE = Path(__file__).parents[2] / "stackplan"


def test_every_code_that_is_raised_is_explained_and_no_other():
    files = [path for path in SOURCE.rglob("*.py") if path.parent.name not in {"cli", "reports"}]
    raised = {code for path in files for code in re.findall(r'"(SP\d{3})"', path.read_text(encoding="utf-8"))}
    assert raised == {*CODES, *(it.code for it in linting.rules())}


def test_a_code(stackplan):
    ended = stackplan("explain", "sp201")
    assert ended.returncode == 0
    assert ended.stdout.startswith("SP201  what is installed satisfies the requirement")
    assert "`upgrade: true`" in ended.stdout


def test_a_rule_shows_what_it_finds_and_what_it_is_content_with(stackplan):
    ended = stackplan("explain", "sp101")
    assert ended.returncode == 0
    assert ended.stdout.startswith("SP101  a package name without a version beside an index")
    assert "(error)" in ended.stdout.splitlines()[0]
    bad, good = ended.stdout.split("content with\n")
    assert "packages: [xformers]" in bad
    assert "upgrade: true\n" not in bad.split("found in\n")[1]
    assert "upgrade: true\n" in good


def test_a_kind(stackplan):
    ended = stackplan("explain", "nvcc")
    assert ended.returncode == 0
    assert ended.stdout.startswith("nvcc (condition)")
    assert "release  The release it has to report" in ended.stdout
    assert "- nvcc:\n      prefix: /usr/local/cuda-13.0" in ended.stdout


@pytest.mark.parametrize("room", schema.ROOMS)
def test_every_kind_is_explained(room):
    words = schema.kinds(room)
    assert words
    for word in words:
        lines = explained(word, 80)
        assert schema.load(f"{room}/{word}.json")["description"].split()[0] in " ".join(lines)


def test_without_a_word_all_are_listed(stackplan):
    ended = stackplan("explain")
    assert ended.returncode == 0
    for word in ("torch", "python_packages", "SP101", "SP201"):
        assert word in ended.stdout


def test_a_wrong_word_is_met_with_the_nearest():
    with pytest.raises(Invalid, match="`torhc` is neither a kind nor a code nor a word") as caught:
        explained("torhc", 80)
    assert caught.value.diagnoses[0].remedy == "did you mean `torch`?"


@pytest.mark.parametrize(
    "word", ["no-op", "no op", "NO_OP", "drift", "unknown", "rolled-back", "not-reached", "regression"]
)
def test_a_word_of_reports(stackplan, word):
    ended = stackplan("explain", word)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith(word.lower().replace("_", "-").replace(" ", "-"))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("not", "held"), ["not-held"]),
        (("unknown", "until", "applied"), ["unknown-until-applied"]),
        (("wave", "canary", "drained"), ["wave", "canary", "drained"]),
        (("done", "and", "proven"), ["done-and-proven"]),
        (("local", "label"), ["local-label"]),
        (("cut", "off"), ["cut-off"]),
        (("sp201", "torch", "sp201"), ["SP201", "torch"]),
    ],
)
def test_several_words_are_one_word_of_reports_or_several(stackplan, words, expected):
    ended = stackplan("explain", *words)
    assert ended.returncode == 0, ended.stderr
    heads = [line.split()[0] for line in ended.stdout.splitlines() if re.match(r"[\w-]+( \(condition\))?  \S", line)]
    assert [it for it in heads if it in expected] == expected


def test_a_code_that_is_not_there_names_those_of_its_hundred(stackplan):
    ended = stackplan("explain", "SP299")
    assert ended.returncode == 2
    assert "there is no code SP299" in ended.stderr
    assert re.search(r"of SP2xx there are SP201 to SP2\d\d; `stackplan explain` lists all", ended.stderr)
    ended = stackplan("explain", "sp901")
    assert "there is no code SP901" in ended.stderr
    assert "there are" not in ended.stderr
    ended = stackplan("explain", "torch", "torhc")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "did you mean `torch`?" in ended.stderr


def test_every_word_of_the_model_is_explained():
    said = {it.value for kind in (StepOutcome, NodeOutcome, Reason, Status) for it in kind}
    assert said <= {*WORDS}


@pytest.mark.parametrize(
    "word",
    [
        "intact", "snapshot", "remedy", "expected", "observed", "outcome", "stopped", "started", "resumed", "put-back",
        "in-part", "taken-up-again", "holds-now", "reason", "warn", "note", "also-in", "public-version", "label",
        "journal", "controller", "attempt", "within", "→", "$", "│",
    ],
)  # fmt: skip
def test_a_word_that_stands_in_reports_beside_the_outcomes(word):
    assert explained(word, 100)[0].startswith(f"{word}  ")


def test_every_sign_of_reports_is_explained():
    signs = {sign for sign, _ in (*MARKS.values(), *STATUS_MARKS.values())} | {*EFFECT_MARKS.values()}
    assert signs <= {*WORDS}
    assert explained("✘", 200)[0].startswith("✘  a step that failed")
    assert explained("?", 200)[0].startswith("?  what is not known")


def test_skipped_is_told_for_a_rollback_apart():
    said = " ".join(explained("skipped", 100))
    assert "the step's `when` does not hold on this node" in said
    assert "After `stackplan rollback` the step did run in the run that is taken back" in said


def test_an_outcome_names_every_outcome():
    said = WORDS["outcome"].text
    assert [it.value for kind in (StepOutcome, NodeOutcome) for it in kind if it.value not in said] == []


def test_the_name_of_a_command_or_a_schema_is_sent_there():
    with pytest.raises(Invalid, match="`rollback` is neither") as caught:
        explained("rollback", 80)
    assert caught.value.diagnoses[0].remedy == "`stackplan rollback --help` tells about the command"
    with pytest.raises(Invalid, match="`inventory` is neither") as caught:
        explained("inventory", 80)
    assert caught.value.diagnoses[0].remedy == "`stackplan schema inventory` prints the schema"
    with pytest.raises(Invalid, match="`zzzzqq` is neither") as caught:
        explained("zzzzqq", 80)
    assert "docs/running.md" in caught.value.diagnoses[0].remedy


def test_schemas_are_listed_and_printed(stackplan):
    assert {"playbook", "inventory", "report"} <= set(stackplan("schema").stdout.split())
    document = json.loads(stackplan("schema", "playbook").stdout)
    jsonschema.Draft202012Validator.check_schema(document)
    assert '"$ref": "conditions/' not in json.dumps(document), "it stands by itself"


def test_a_schema_that_is_not_there(stackplan):
    ended = stackplan("schema", "playbok")
    assert ended.returncode == 2
    assert "there is no schema `playbok`" in ended.stderr
    assert "did you mean `playbook`" in ended.stderr
