"""Nodes of a fleet share a rendered playbook; those whose own name, file or variables count do not."""

from pathlib import Path

import pytest

from stackplan.cli.rendering import Renderings
from stackplan.language import playbook as playbooks
from stackplan.language.variables import scope
from stackplan.model.diagnosis import Invalid
from stackplan.model.location import Location
from stackplan.model.node import Node, NodeName
from stackplan.model.playbook import Variable

STEP = """\
stackplan: 1
nodes: all
vars: {text: %s}
steps:
  - id: one
    %s
    postconditions: [file: {path: /a}]
"""
SCRIPT = "run: {script: 'echo {{ text }}'}"


@pytest.fixture
def rendered(tmp_path):
    """Return the bound playbooks of nodes with these variables each, rendered by one `Renderings`."""

    def found(text, action, *variables):
        path = Path(tmp_path / "p.yaml")
        path.write_text(STEP % (text, action))
        playbook = playbooks.read(path)
        renderings = Renderings(playbook)
        at = Location("inventory.yaml", 1, 1)
        bound = []
        for number, own in enumerate(variables):
            given = {name: Variable(name, value, at, "group") for name, value in own.items()}
            node = Node(name=NodeName(f"gpu-{number}"), variables=given)
            bound.append(renderings.of(scope(playbook, node))[1])
        return bound

    return found


def scripts(bound):
    return [it.playbook.steps[0].action.arguments.values["script"] for it in bound]


def test_nodes_alike_share_one(rendered):
    first, second = rendered("x", SCRIPT, {}, {})
    assert first is second


def test_nodes_with_other_variables_do_not(rendered):
    assert scripts(rendered("x", SCRIPT, {"text": "a"}, {"text": "b"}, {"text": "a"})) == ["echo a", "echo b", "echo a"]


@pytest.mark.parametrize("text", ["'{{ node.name }}'", "'{{ other }}', other: '{{ node.name }}'"])
def test_the_name_of_a_node_counts_through_variables_too(rendered, text):
    assert scripts(rendered(text, SCRIPT, {}, {})) == ["echo gpu-0", "echo gpu-1"]


def test_a_when_on_the_node_counts(rendered):
    when = f"when: node.name == 'gpu-1'\n    {SCRIPT}"
    assert [it.playbook.steps[0].skipped for it in rendered("x", when, {}, {})] == [True, False]


def test_a_template_file_may_name_the_node(rendered, tmp_path):
    (tmp_path / "t.conf").write_text("{{ node.name }}")
    found = rendered("x", "file: {path: /a, template: t.conf}", {}, {})
    assert [it.playbook.steps[0].action.arguments.values["content"] for it in found] == ["gpu-0", "gpu-1"]


def test_what_rendering_and_a_kind_say_of_one_value_is_said_once(rendered):
    action = "checkpoint: {}\n    preconditions: [gpu: {count: '{{ text }}'}]"
    with pytest.raises(Invalid) as caught:
        rendered("x", action, {"text": "eight"})
    assert [it.summary for it in caught.value.diagnoses] == ["`count` is not a whole number"]
