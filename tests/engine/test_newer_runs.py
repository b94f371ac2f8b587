"""Which runs of a node's history came after another one and did something."""

import pytest

from stackplan.engine.newer_runs import newer_runs
from stackplan.model.history import NodeHistory, PastRun


def past(run, **rest):
    rest = {"ended": "T", "steps": {"torch": "changed"}, **rest}
    return PastRun(run=run, node="a", playbook="p", path="p.yaml", sha256="0", revision=None, operator="ops",
                   host="desk", began="T", **rest)  # fmt: skip


@pytest.mark.parametrize(
    ("runs", "found"),
    [
        ([past("1")], []),
        ([past("2"), past("1")], ["2"]),
        ([past("1"), past("2")], []),  # the node's own order, whatever clock named the runs
        ([past("3"), past("0")], ["3"]),  # the run itself is forgotten
        ([past("2", steps={"torch": "satisfied", "sglang": "not-reached"}), past("1")], []),
        ([past("2", steps={}), past("1")], []),
        ([past("2", steps={}, ended=None), past("1")], ["2"]),
        ([past("2", steps={}, command="rollback"), past("1")], ["2"]),
        ([past("2", steps={"torch": "failed"}), past("1")], ["2"]),
        ([], []),
    ],
)
def test_newer_runs_that_acted_are_found(runs, found):
    assert [it.run for it in newer_runs(NodeHistory(node="a", runs=tuple(runs)), "1")] == found
