"""A run over SSH on two simulated nodes: its journal is what the schema says, and the nodes remember it."""

import json
import os
from pathlib import Path

import jsonschema
import pytest

from stackplan.language import schema
from tests import command_line

ROOT = Path(__file__).parents[2]
PLAYBOOK = """\
stackplan: 1
name: counting
nodes: all
rollout: {max_failures: 2}
steps:
  - id: count
    run: {script: "seq 1 3; echo counted > ~/counted-RUN"}
    postconditions:
      - file: {path: ~/counted-RUN}
  - id: second-node-alone
    run: {script: "test {{ node.name }} = gpu-02 && touch ~/alone-RUN"}
    postconditions:
      - file: {path: ~/alone-RUN}
"""
SERVING = """\
stackplan: 1
name: serving
nodes: gpu-02
steps:
  - id: server
    service: {name: vllm, state: started}
    postconditions:
      - service: {name: vllm}
"""


@pytest.fixture
def call(lab, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "STACKPLAN_STATE": str(tmp_path / "state")}
    environment.pop("SSH_AUTH_SOCK", None)

    def run(*words):
        return command_line.run(*words, "-i", lab.inventory, environment=environment, folder=tmp_path)

    return run


def test_what_a_unit_wrote_before_it_died_is_told(call, tmp_path):
    (tmp_path / "serving.yaml").write_text(SERVING)
    applied = call("apply", "serving.yaml", "--yes", "--format", "json")
    assert applied.returncode == 3, applied.stderr
    ((step,),) = [node["steps"] for node in json.loads(applied.stdout)["nodes"]]
    (found,) = [it for it in step["diagnoses"] if it["code"] == "SP242"]
    (cause,) = found["causes"]
    assert cause.startswith("vllm.service: Unable to locate executable")


def test_a_run_is_in_its_journal_and_on_its_nodes(call, tmp_path):
    (tmp_path / "counting.yaml").write_text(PLAYBOOK.replace("RUN", tmp_path.name))
    applied = call("apply", "counting.yaml", "--yes", "--format", "json")
    assert applied.returncode == 3, applied.stderr
    report = json.loads(applied.stdout)

    (path,) = (tmp_path / "state").rglob("events.jsonl")
    validator = jsonschema.Draft202012Validator(schema.bundled("events"))
    lines = [json.loads(line) for line in path.read_text("ascii").splitlines()]
    for line in lines:
        validator.validate(line)
    told = {line.get("event") for line in lines}
    assert {"RunStarted", "NodeStarted", "StepStarted", "OutputSeen", "StepEnded", "NodeEnded", "RunEnded"} <= told

    asked = call("history", "--format", "json")
    assert asked.returncode == 0, asked.stderr
    jsonschema.Draft202012Validator(schema.bundled("history")).validate(json.loads(asked.stdout))
    first, second = json.loads(asked.stdout)["nodes"]
    assert (first["node"], second["node"]) == ("gpu-01", "gpu-02")
    for node, outcome, steps in (
        (first, "failed", {"count": "changed", "second-node-alone": "failed"}),
        (second, "ok", {"count": "changed", "second-node-alone": "changed"}),
    ):
        latest = node["runs"][0]
        assert (latest["run"], latest["node"], latest["going_on"]) == (report["run"], node["node"], False)
        assert (latest["outcome"], latest["steps"]) == (outcome, steps)
        assert latest["playbook"]["sha256"] == report["playbook"]["sha256"]
