"""`checkpoint`: nothing is started."""

from stackplan.actions.checkpoint import KIND


def test_it_has_nothing_to_start(arguments, facts):
    kind = KIND.read(arguments())
    assert kind.queries() == ()
    assert kind.job(facts({})).stages == ()
    assert kind.state(facts({})) == {}
    assert kind.describe() == "check, and change nothing"
