"""The JSON report: valid against its schema, and nothing of the report left out."""

import json
from dataclasses import fields
from pathlib import Path

import jsonschema
import pytest

from stackplan.model.diagnosis import Diagnosis
from stackplan.model.report import ActionReport, ConditionReport, NodeReport, Report, StepReport
from stackplan.reports import json_document

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "report.v1.json").read_text(encoding="utf-8"))


def test_every_sample_is_valid(sample):
    _, report = sample
    document = json.loads(json_document.render(report))
    jsonschema.Draft202012Validator(SCHEMA).validate(document)


def test_the_schema_would_refuse_a_wrong_one(no_op_report):
    document = json_document.document(no_op_report)
    document["outcome"] = "fine"
    with pytest.raises(jsonschema.ValidationError, match="'fine' is not one of"):
        jsonschema.Draft202012Validator(SCHEMA).validate(document)


def test_says_what_a_program_has_to_know_of_a_stop(no_op_report):
    (node,) = json.loads(json_document.render(no_op_report))["nodes"]
    torch = node["steps"][1]
    assert (node["outcome"], node["stopped_at"], node["reason"]) == ("failed", "torch", "no-op")
    assert torch["changes"] == []
    assert torch["conditions"][0]["verdict"] == "not-held"
    assert torch["conditions"][0]["location"] == "playbooks/cuda13-blackwell.yaml:41:9"
    assert "upgrade" in torch["diagnoses"][0]["remedy"]
    assert [step["outcome"] for step in node["steps"][2:]] == ["not-reached", "not-reached"]


def test_no_field_of_the_model_is_forgotten(no_op_report):
    renamed = {"at": "location", "status": "verdict"}
    (node,) = json_document.document(no_op_report)["nodes"]
    step = node["steps"][1]
    for model, written in (
        (Report, json_document.document(no_op_report)),
        (NodeReport, node),
        (StepReport, step),
        (ActionReport, step["action"]),
        (ConditionReport, step["conditions"][0]),
    ):
        assert {renamed.get(it.name, it.name) for it in fields(model)} <= set(written)


def test_is_plain_ascii_whatever_a_node_said(no_op_report):
    diagnosis = Diagnosis(summary="\x1b[2J\u202e\x9b\ud800日")
    written = json_document.render_diagnoses([diagnosis])
    assert written.isascii()
    assert "\x1b" not in written
    assert json.loads(written)["diagnoses"][0]["summary"] == diagnosis.summary
