"""Playbooks and inventories written on the spot, and what is said of them."""

from pathlib import Path

import pytest

from stackplan.language import inventory, playbook
from stackplan.model.diagnosis import Invalid
from stackplan.model.node import Node, NodeName

STEP = """
  - id: one
    checkpoint: {}
    postconditions:
      - file: {path: /etc/hosts}
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file below the working folder, which is the test's own, and return its path as people would name it."""
    monkeypatch.chdir(tmp_path)

    def written(name, text):
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return written


@pytest.fixture
def read(write):
    """Read a playbook from the text of its steps (or of the whole file), with variables."""

    def found(steps=STEP, *, head="", name="p.yaml"):
        return playbook.read(write(name, f"stackplan: 1\nnodes: all\n{head}\nsteps:\n{steps}"))

    return found


@pytest.fixture
def read_inventory(write):
    return lambda text: inventory.read(write("inventory.yaml", text))


@pytest.fixture
def node():
    return Node(name=NodeName("gpu-01"), host="10.0.4.1", labels={"rack": "a1"}, groups=("blackwell",))


@pytest.fixture
def complaints():
    """Return (place, summary) of everything that a call complains about."""

    def said(call, *arguments, **named):
        with pytest.raises(Invalid, match=r"\w") as caught:
            call(*arguments, **named)
        return [(str(it.at) if it.at else None, it.summary) for it in caught.value.diagnoses]

    return said
