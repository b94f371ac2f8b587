"""The schemas: where they are, how the playbook's is composed, and the self-contained form of each."""

import json
import re
import subprocess
import sys

import jsonschema
import pytest
import yaml

from stackplan.language import schema
from stackplan.language.shape import Compiler
from stackplan.model.diagnosis import Invalid


def test_committed_playbook_schema_is_not_stale():
    committed = (schema.folder() / "playbook.v1.json").read_text("utf-8")
    assert committed == schema.playbook_text(), "run `python -m stackplan.language.schema`"


def test_kinds_come_from_their_files_alone():
    document = {
        "$defs": {
            "condition": {"properties": {"name": {}, "gone": {"$ref": "conditions/gone.json"}}},
            "step": {"properties": {}},
        }
    }
    found = schema.composed(document, {room: schema.builtin(room) for room in schema.ROOMS})["$defs"]
    assert "gone" not in found["condition"]["properties"]
    assert found["condition"]["properties"]["nvcc"] == {"$ref": "conditions/nvcc.json"}
    assert set(found["step"]["properties"]) == set(schema.kinds("actions"))


@pytest.mark.parametrize("name", schema.names())
def test_bundled_schema_is_a_schema_that_refers_to_itself_alone(name):
    document = schema.bundled(name)
    jsonschema.Draft202012Validator.check_schema(document)
    references = re.findall(r'"\$ref": "([^"]*)"', json.dumps(document))
    assert all(it.startswith("#/") for it in references)
    compiler = Compiler(document)
    assert all(compiler.part(it) is not None for it in references)


def test_bundled_playbook_schema_judges_a_playbook():
    validator = jsonschema.Draft202012Validator(schema.bundled("playbook"))
    step = {"id": "a", "checkpoint": {}, "postconditions": [{"nvcc": {"prefix": "/usr/local/cuda", "release": 13.0}}]}
    whole = {"stackplan": 1, "nodes": "all", "steps": [step]}
    assert validator.is_valid(whole)
    assert not validator.is_valid({**whole, "steps": [{**step, "postconditions": []}]})
    assert not validator.is_valid({**whole, "steps": [{**step, "postconditions": [{"nvcc": {"prefx": "/x"}}]}]})


def test_unknown_schema_is_named_with_the_nearest():
    with pytest.raises(Invalid, match="no schema `playbok`") as caught:
        schema.bundled("playbok")
    assert caught.value.diagnoses[0].remedy == "did you mean `playbook`?"


def test_good_playbooks_are_valid_by_the_schema_that_editors_use():
    folder = schema.folder().parent / "tests" / "playbooks" / "good"
    validator = jsonschema.Draft202012Validator(schema.bundled("playbook"))
    # What YAML makes of `13.0` or `no` is what an editor checks; dates are the one thing that JSON has no word for.
    document = yaml.safe_load((folder / "everything.yaml").read_text("utf-8"))
    assert list(validator.iter_errors(document)) == []


def test_reading_a_valid_playbook_loads_no_slow_library():
    program = (
        "import sys; from pathlib import Path; from stackplan.language import playbook;"
        "playbook.read(Path('tests/playbooks/good/everything.yaml'), root=Path('tests/playbooks'));"
        "print(sorted({'jsonschema', 'paramiko', 'fabric', 'rich'} & set(sys.modules)))"
    )
    root = schema.folder().parent
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
