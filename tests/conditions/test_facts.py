"""Every file in tests/facts is a case: arguments, what a node answered, and the verdict that has to come of it."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from stackplan.model.arguments import Arguments, Value
from stackplan.model.facts import Answer, Facts, Failed, Known, Origin, Query, Unknown
from stackplan.model.kind import ConditionKind
from stackplan.model.location import Location
from stackplan.model.room import CONDITIONS
from stackplan.model.verdict import Status

FACTS = Path(__file__).parents[1] / "facts"
CASES = sorted(FACTS.glob("*/*.json"))


def frozen(value: object) -> Value:
    """Return JSON data as the language hands arguments over: lists as tuples."""
    if isinstance(value, list):
        return tuple(frozen(item) for item in value)
    if isinstance(value, dict):
        return {key: frozen(item) for key, item in value.items()}
    return value


def read(kind: str, arguments: Mapping[str, object]) -> ConditionKind:
    found = CONDITIONS.find(kind)
    return found.read(Arguments(frozen(arguments), Location("playbook.yaml", 7, 9)))


def answer(row: Mapping[str, object]) -> Answer:
    if "known" in row:
        return Known(row["known"])
    if "unknown" in row:
        return Unknown(row["unknown"])
    return Failed(row["failed"], row.get("stderr", ""))


def facts(rows: list[Mapping[str, object]]) -> Facts:
    answers = {Query(row["kind"], frozen(row["arguments"]), row.get("user")): answer(row) for row in rows}
    return Facts("gpu-01", Origin.RECORDED, "2026-12-01T03:10:22Z", answers)


@pytest.mark.parametrize("path", CASES, ids=[f"{path.parent.name}/{path.stem}" for path in CASES])
def test_recorded_answers_lead_to_the_verdict(path):
    case = json.loads(path.read_text("utf-8"))
    condition = read(path.parent.name, case["arguments"])
    given = facts(case["answers"])
    assert set(condition.queries()) == set(given.answers)
    verdict = condition.evaluate(given)
    told = {
        "status": verdict.status.value,
        **{key: getattr(verdict, key) for key in ("text", "expected", "observed", "evidence", "why")},
    }
    assert {key: value for key, value in told.items() if value is not None} == case["verdict"]


@pytest.mark.parametrize("kind", CONDITIONS.builtin())
def test_each_kind_has_a_case_of_every_status(kind):
    seen = {json.loads(path.read_text("utf-8"))["verdict"]["status"] for path in FACTS.glob(f"{kind}/*.json")}
    assert seen == {status.value for status in Status}


@pytest.mark.parametrize("kind", CONDITIONS.builtin())
def test_each_kind_has_a_case_of_a_failed_probe(kind):
    rows = [row for path in FACTS.glob(f"{kind}/*.json") for row in json.loads(path.read_text("utf-8"))["answers"]]
    assert any("failed" in row for row in rows), "what does it say when the node could not look?"


@pytest.mark.parametrize("path", CASES, ids=[f"{path.parent.name}/{path.stem}" for path in CASES])
def test_state_and_description_are_plain_whatever_was_answered(path):
    case = json.loads(path.read_text("utf-8"))
    condition = read(path.parent.name, case["arguments"])
    assert "\n" not in condition.describe()
    for (kind, name), found in condition.state(facts(case["answers"])).items():
        assert kind in {"package", "environment", "toolkit", "file", "command", "service", "apt"}
        assert name
        assert found.text
