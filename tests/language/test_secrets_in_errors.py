"""No error that comes out of a template tells a secret, nor anything that was computed from one."""

import pytest

from stackplan.language import playbook as playbooks
from stackplan.language.inventory import local
from stackplan.language.secrets import Secrets
from stackplan.language.template import render
from stackplan.language.variables import scope
from stackplan.model.diagnosis import Invalid

SECRET = "s3cr3t-value\\0123456789"
HEAD = """\
stackplan: 1
nodes: all
vars: {tok: {secret: true, env: TOK}, m: {a: 1}, l: [1], via: "x{{ tok }}"}
steps:
"""
STEP = """\
  - id: %s
    when: %s
    checkpoint: {}
    postconditions: [{command: {run: %s}}]
"""


def rendered(tmp_path, *steps):
    path = tmp_path / "p.yaml"
    path.write_text(HEAD + "".join(STEP % (f"s{number}", *step) for number, step in enumerate(steps)))
    playbook = playbooks.read(path)
    (node,) = local().nodes.values()
    return render(playbook, scope(playbook, node, secrets=Secrets({"TOK": SECRET})))


def texts(invalid):
    return "\n".join(
        f"{it.summary}\n{it.observed}\n{it.expected}\n{it.remedy}\n{it.causes}" for it in invalid.diagnoses
    )


@pytest.mark.parametrize(
    "step",
    [
        ("tok", "x"),
        ("via", "x"),
        ("tok[:9]", "x"),
        ("tok | upper", "x"),
        ("true", '"{{ m[tok] }}"'),
        ("true", '"{{ m[tok | upper] }}"'),
        ("true", '"{{ l.index(tok) }}"'),
        ("true", '"{{ l | map(tok) | list }}"'),
        ("true", "\"{{ 'a' | int(tok, tok) + 1 }}\""),
        ("true", '"{{ tok[tok] }}"'),
        ("true", '"{{ tok + 1 }}"'),
        ("true", '"{{ {tok: 1} }}"'),
        ("true", '"{{ l | select(tok) | list }}"'),
    ],
)
def test_the_error_does_not_tell(tmp_path, step):
    with pytest.raises(Invalid, match=r"\w") as caught:
        rendered(tmp_path, step)
    said = texts(caught.value).lower()
    assert "s3cr3t" not in said
    assert "value" not in said.replace("valueerror", "")


def test_the_same_error_of_what_is_no_secret_does_tell(tmp_path):
    with pytest.raises(Invalid, match="there is no `gone`"):
        rendered(tmp_path, ("true", "\"{{ m['gone'] }}\""))


def test_a_name_that_is_not_defined_is_told_beside_a_secret(tmp_path):
    with pytest.raises(Invalid, match="`tokk` is not defined") as caught:
        rendered(tmp_path, ("true", '"{{ tok ~ tokk }}"'))
    assert "tok" in caught.value.diagnoses[0].remedy
