"""What is kept of how things stood before an action, and what becomes of it."""

import pytest

from stackplan.engine.recollection import as_recalled, recall, remember
from stackplan.model.facts import Facts, Failed, Known, Origin, Query, Unknown
from stackplan.model.secret import Redactor, Secret

PLAIN, HOLDING, UNKNOWN, FAILED = (Query(kind, {}) for kind in ("plain", "holding", "unknown", "failed"))
ASKED = Query("with", {"token": Secret("hunter2hunter2")}, user="ops")
SECRET = Redactor(frozenset({"hunter2hunter2"}))
ANSWERS = {
    PLAIN: Known({"torch": ["2.10.0", 1, None, True]}),
    HOLDING: Known("token: hunter2hunter2"),
    UNKNOWN: Unknown("there is no tool"),
    FAILED: Failed("exit status 1", "hunter2hunter2"),
    ASKED: Known(0.5),
}
FACTS = Facts("gpu", Origin.LIVE, "2026-12-01T03:10:22Z", ANSWERS)
QUERIES = tuple(ANSWERS)
NOT_KEPT = Unknown("the journal does not tell how it was before the action")


def test_what_was_known_is_recalled_with_its_secrets_replaced():
    text = remember(FACTS, QUERIES, SECRET)
    found = recall(text, QUERIES, "gpu")
    kept = {**ANSWERS, HOLDING: Known("token: ***"), FAILED: Failed("exit status 1", "***")}
    assert as_recalled(FACTS, SECRET).answers == kept
    # Of a question with a secret in it nothing is kept: its digest could be tried out.
    assert found.answers == {**kept, ASKED: NOT_KEPT}


@pytest.mark.parametrize("text", [None, "", "x", "eJw=", "eJwDAAAAAAE=", remember(FACTS, (), SECRET)])
def test_what_was_not_kept_is_unknown_and_no_error(text):
    found = recall(text, (PLAIN,), "gpu")
    assert found.answers == {PLAIN: NOT_KEPT}
