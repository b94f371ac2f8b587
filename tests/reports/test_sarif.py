"""What lint says as SARIF: held against the parts of the format that are used, which stand in `sarif-subset.json`."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.model.location import Location
from stackplan.model.review import Ignored, Review, RuleAbout
from stackplan.reports import sarif

SUBSET = json.loads((Path(__file__).parent / "sarif-subset.json").read_text("utf-8"))
RULES = (
    RuleAbout(code="SP101", name="kept_build", severity=Severity.ERROR, summary="a name alone", text="It is kept."),
    RuleAbout(code="SP104", name="torch_alone", severity=Severity.WARNING, summary="torch alone", text="It is alone."),
)
AT = Location("playbooks/a b.yaml", 20, 18)
SOURCE = "       packages: [torch, torchvision]"
FOUND = Diagnosis(
    summary="any build satisfies `torch`",
    code="SP101",
    at=AT,
    source=SOURCE,
    span=5,
    step="torch",
    remedy="add `upgrade: true`",
)


def run_of(*found, ignored=()):
    document = json.loads(sarif.render(Review(tuple(found), tuple(ignored)), RULES, "1.2.3"))
    jsonschema.Draft202012Validator(SUBSET).validate(document)
    (run,) = document["runs"]
    return run


def test_a_result_names_its_rule_place_and_step():
    run = run_of(FOUND)
    (result,) = run["results"]
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert (result["ruleId"], rule["id"], rule["name"]) == ("SP101", "SP101", "KeptBuild")
    assert result["level"] == rule["defaultConfiguration"]["level"] == "error"
    assert result["message"]["text"] == "any build satisfies `torch`\nadd `upgrade: true`"
    (location,) = result["locations"]
    place = location["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "playbooks/a%20b.yaml", "uriBaseId": "SRCROOT"}
    assert place["region"] == {"startLine": 20, "startColumn": 18, "endColumn": 23, "snippet": {"text": SOURCE}}
    assert location["logicalLocations"] == [{"name": "torch", "kind": "object"}]
    assert "SRCROOT" in run["originalUriBaseIds"]
    assert run["tool"]["driver"]["semanticVersion"] == "1.2.3"


def test_columns_count_utf_16_code_units():
    line = "  why: 🚀🚀 {x}"
    (result,) = run_of(replace(FOUND, source=line, at=Location("a.yaml", 1, line.index("{") + 1), span=3))["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert (region["startColumn"], region["endColumn"]) == (13, 16)


def test_an_absolute_path_is_an_address_of_its_own():
    (result,) = run_of(replace(FOUND, at=Location("/srv/é.yaml", 1, 1)))["results"]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "file:///srv/%C3%A9.yaml"}


def test_what_a_comment_answers_is_suppressed_with_its_reason():
    run = run_of(ignored=[Ignored(FOUND, "the lab's node", AT)])
    (result,) = run["results"]
    assert result["suppressions"] == [{"kind": "inSource", "status": "accepted", "justification": "the lab's node"}]


def test_a_finding_that_is_not_answered_has_no_suppressions():
    assert "suppressions" not in run_of(FOUND)["results"][0]


def test_an_error_of_reading_has_a_rule_as_well():
    run = run_of(Diagnosis(summary="there is no file `x.yaml`"))
    (result,) = run["results"]
    assert result["ruleId"] == "SP000"
    assert "locations" not in result
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "SP000"


def test_fingerprints_stay_when_lines_move_and_differ_between_findings():
    def prints(*found):
        return [it["partialFingerprints"]["stackplan/v1"] for it in run_of(*found)["results"]]

    moved = replace(FOUND, at=replace(AT, line=99))
    assert prints(FOUND) == prints(moved)
    others = (FOUND, FOUND, replace(FOUND, step="two"), replace(FOUND, code="SP104"))
    assert len(set(prints(*others))) == 4, "also of two that are alike in all but their place"


@pytest.mark.parametrize(
    "change",
    [
        lambda it: it["runs"][0].pop("tool"),
        lambda it: it["runs"][0]["results"][0].update(level="fatal"),
        lambda it: it["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"].update(startColumn=0),
        lambda it: it["runs"][0]["results"][0].update(unknown=1),
    ],
)
def test_the_subset_would_refuse_what_is_wrong(change):
    document = sarif.document(Review((FOUND,)), RULES, "1")
    change(document)
    with pytest.raises(jsonschema.ValidationError, match=r"tool|fatal|minimum|unknown"):
        jsonschema.Draft202012Validator(SUBSET).validate(document)
