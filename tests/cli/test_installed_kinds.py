"""Kinds that another package brings along: found by entry point, checked by their own schema, proven like others."""

import json
import os
import subprocess
import sys

import pytest

MODULE = '''
from dataclasses import dataclass
from typing import ClassVar

from stackplan.model.facts import Known, Query
from stackplan.model.kind import ConditionKind
from stackplan.model.verdict import held, not_held


@dataclass(frozen=True, slots=True)
class AcmeMotd(ConditionKind):
    """A word is echoed on the node."""

    word: str
    schema: ClassVar = {
        "description": "A word is echoed.",
        "type": "object",
        "additionalProperties": False,
        "required": ["word"],
        "properties": {"word": {"$ref": "../values.json#/$defs/text", "description": "The word."}},
    }

    @classmethod
    def read(cls, arguments):
        return cls(arguments.text("word"))

    def describe(self):
        return f"{self.word} is echoed"

    def queries(self):
        return (Query("command", {"argv": ("echo", "hello"), "timeout_s": 10.0}),)

    def evaluate(self, facts):
        answer = facts[self.queries()[0]]
        assert isinstance(answer, Known)
        observed = str(answer.value["stdout"]).strip()
        if observed == self.word:
            return held(self.describe())
        return not_held(self.describe(), expected=self.word, observed=observed)
'''
PLAYBOOK = """\
stackplan: 1
nodes: all
steps:
  - id: look
    checkpoint: {}
    postconditions:
      - acme_motd: {word: %s}
"""


@pytest.fixture
def stackplan(tmp_path):
    """Return a function that runs the command line with the other package installed, in a folder of its own."""
    packages = tmp_path / "packages"
    metadata = packages / "acme_kinds-1.dist-info"
    metadata.mkdir(parents=True)
    (packages / "acme_kinds.py").write_text(MODULE)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-kinds\nVersion: 1\n")
    search = os.pathsep.join([str(packages), *filter(None, [os.environ.get("PYTHONPATH")])])

    def run(text, *words, kinds=("acme_motd = acme_kinds:AcmeMotd",)):
        (metadata / "entry_points.txt").write_text("\n".join(["[stackplan.conditions]", *kinds, ""]))
        (tmp_path / "p.yaml").write_text(text)
        return subprocess.run(
            [sys.executable, "-m", "stackplan", *words, str(tmp_path / "p.yaml")],
            env={**os.environ, "PYTHONPATH": search, "STACKPLAN_STATE": str(tmp_path / "state")},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


@pytest.mark.parametrize(("word", "code", "verdict"), [("hello", 0, "held"), ("goodbye", 3, "not-held")])
def test_it_is_proven_like_the_built_in_ones(stackplan, word, code, verdict):
    ran = stackplan(PLAYBOOK % word, "verify", "--local", "--format", "json")
    assert ran.returncode == code, ran.stderr
    (condition,) = json.loads(ran.stdout)["nodes"][0]["steps"][0]["conditions"]
    assert (condition["kind"], condition["verdict"]) == ("acme_motd", verdict)


def test_its_arguments_are_checked_by_its_schema(stackplan):
    ran = stackplan((PLAYBOOK % "hello").replace("word:", "wrod:"), "lint")
    assert ran.returncode == 2
    assert "p.yaml:7:21" in ran.stdout
    assert "did you mean `word`" in ran.stdout


def test_a_built_in_kind_is_not_replaced(stackplan):
    ran = stackplan((PLAYBOOK % "hello").replace("acme_motd", "torch"), "lint", kinds=["torch = acme_kinds:AcmeMotd"])
    assert ran.returncode == 2
    assert "`word`" in ran.stdout


def test_one_that_cannot_be_loaded_is_told_and_no_traceback(stackplan):
    ran = stackplan(PLAYBOOK % "hello", "lint", kinds=["acme_motd = acme_kinds:Gone"])
    assert ran.returncode == 2
    assert "the kind `acme_motd`, which another package brings along, cannot be loaded" in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stdout + ran.stderr
