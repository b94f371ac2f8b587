"""What is told of a node that is not as its saved plan found it."""

from stackplan.engine.permit import stale
from stackplan.engine.stale import Moved

MOVED = tuple(Moved(what=f"package p{number} has moved", planned="1", now="2") for number in range(7))


def test_every_thing_that_moved_is_named():
    assert [it.summary for it in stale("n", MOVED).diagnoses] == [it.what for it in MOVED]


def test_of_a_plan_that_was_applied_the_first_three_and_how_many_more():
    """Each of them only says that the plan was carried out."""
    told = [it.summary for it in stale("n", MOVED, done=True).diagnoses]
    assert told == [*(it.what for it in MOVED[:3]), "and 4 more, as is to be expected"]
    assert len(stale("n", MOVED[:3], done=True).diagnoses) == 3
