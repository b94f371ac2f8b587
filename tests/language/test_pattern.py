"""Patterns: which nodes are meant, and which pattern means none."""

import pytest

from stackplan.language import playbook as playbooks
from stackplan.language.pattern import narrow, select, select_of
from stackplan.model.diagnosis import Invalid
from stackplan.model.node import Inventory, Node, NodeName

NAMES = [NodeName(name) for name in ("gpu-01", "gpu-02", "gpu-10", "cpu-01")]
INVENTORY = Inventory(
    "inventory.yaml",
    {name: Node(name=name) for name in NAMES},
    {"blackwell": tuple(NAMES[:2]), "hopper": (NAMES[2],), "empty": ()},
)


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        (["all"], ["gpu-01", "gpu-02", "gpu-10", "cpu-01"]),
        (["gpu-02"], ["gpu-02"]),
        (["blackwell"], ["gpu-01", "gpu-02"]),
        (["gpu-*"], ["gpu-01", "gpu-02", "gpu-10"]),
        (["gpu-0?", "hopper"], ["gpu-01", "gpu-02", "gpu-10"]),
        (["gpu-10,gpu-01"], ["gpu-01", "gpu-10"]),
        (["all", "!gpu-*"], ["cpu-01"]),
        (["!blackwell"], ["gpu-10", "cpu-01"]),
        (["all, !hopper , !cpu-01"], ["gpu-01", "gpu-02"]),
        (["black*"], ["gpu-01", "gpu-02"]),
        (["gpu-[0-9]1"], ["gpu-01"]),
    ],
)
def test_selected_in_the_inventorys_order(patterns, names):
    assert [node.name for node in select(INVENTORY, patterns)] == names


@pytest.mark.parametrize(
    ("patterns", "match"),
    [
        (["gpu-1"], r"there is no node or group `gpu-1` in inventory\.yaml"),
        (["tpu-*"], r"no node or group matches `tpu-\*`"),
        (["all", "!blackwel"], "there is no node or group `blackwel`"),
        (["empty"], "there is no node or group `empty`"),
        (["blackwell", "!gpu-0*"], "leaves no node"),
        ([], "the pattern is empty"),
        (["", ","], "the pattern is empty"),
    ],
)
def test_pattern_that_means_nothing_is_refused(patterns, match):
    with pytest.raises(Invalid, match=match):
        select(INVENTORY, patterns)


def test_every_part_that_means_nothing_is_told_with_the_nearest():
    with pytest.raises(Invalid, match="no node or group") as caught:
        select(INVENTORY, ["blackwel", "gpu-1"])
    assert [it.remedy for it in caught.value.diagnoses] == [
        "did you mean `blackwell`?",
        "did you mean `gpu-10`, `gpu-01` or `gpu-02`?",
    ]


def test_limit_narrows_what_the_playbook_names():
    chosen = select(INVENTORY, ["blackwell"])
    assert [node.name for node in narrow(INVENTORY, chosen, ["gpu-01,cpu-01"])] == ["gpu-01"]


def test_limit_outside_of_the_playbooks_nodes_is_refused():
    with pytest.raises(Invalid, match="`cpu-01` names none of the playbook's nodes"):
        narrow(INVENTORY, select(INVENTORY, ["blackwell"]), ["cpu-01"])


def test_patterns_of_a_playbook_are_told_each_at_its_place(tmp_path):
    path = tmp_path / "p.yaml"
    step = "{id: a, checkpoint: {}, postconditions: [{file: {path: /}}]}"
    path.write_text(f'stackplan: 1\nnodes: [gpu-03, "tpu-*", "!x,y"]\nsteps: [{step}]\n')
    with pytest.raises(Invalid, match="gpu-03") as caught:
        select_of(playbooks.read(path), INVENTORY)
    found = caught.value.diagnoses
    assert [(it.at.line, it.at.column) for it in found] == [(2, 9), (2, 17), (2, 26), (2, 26)]
    assert "gpu-0" in found[0].remedy
