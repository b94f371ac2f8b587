"""The condition `file` about files that not everybody may read: proven, and nothing of the content told."""

import pytest

from stackplan.conditions.file import KIND
from stackplan.model.arguments import Arguments
from stackplan.model.facts import Facts, Known, Origin, to_keep
from stackplan.model.location import Location
from stackplan.model.verdict import Status

DIGEST, OTHER = "a" * 64, "b" * 64
TOLD = {"path": "/a", "exists": True, "link": None, "type": "file", "mode": "0600", "owner": "ops", "group": "ops"}
TOLD |= {"uid": 1, "gid": 1, "size": 4, "modified_ns": 7, "content": "1234", "content_fault": None, "utf8": True}
CLOSED = {**TOLD, "withheld": ["sha256", "content"]}


def judge(answer, **values):
    kind = KIND.read(Arguments({"path": "/a", **values}, Location("p.yaml", 1, 1), {}))
    facts = Facts("n", Origin.LIVE, "", dict.fromkeys(kind.queries(), answer))
    return kind, kind.evaluate(facts), facts


@pytest.mark.parametrize(("found", "status"), [(DIGEST, Status.HELD), (OTHER, Status.NOT_HELD)])
def test_a_digest_is_compared_and_not_told(found, status):
    kind, verdict, facts = judge(Known({**CLOSED, "sha256": found}), sha256=DIGEST, mode="0600")
    assert verdict.status is status

    assert DIGEST[:12] not in str(verdict)
    assert OTHER[:12] not in str(verdict)
    (held,) = kind.state(facts).values()
    assert (held.text, held.kept) == ("mode 0600, ops:ops, 4 bytes", "7")


def test_the_negative_control_a_file_that_everybody_may_read_is_told_in_full():
    _, verdict, _ = judge(Known({**TOLD, "mode": "0644", "sha256": OTHER}), sha256=DIGEST)
    assert (verdict.expected, verdict.observed) == (DIGEST, OTHER)


def test_a_content_is_compared_and_not_told():
    _, verdict, _ = judge(Known({**CLOSED, "sha256": DIGEST}), content="other")
    assert verdict.status is Status.NOT_HELD
    assert verdict.observed == "another content, which not everybody may read"


@pytest.mark.parametrize("values", [{"sha256": DIGEST}, {"content": "other"}])
def test_what_was_recorded_without_its_content_is_unknown(values):
    _, verdict, _ = judge(to_keep(Known({**CLOSED, "sha256": DIGEST})), **values)
    assert verdict.status is Status.UNKNOWN
    assert "not everybody may read it" in verdict.why
