"""`--step` and `--from`."""

import pytest

from stackplan.cli.steps import narrowed
from stackplan.model.arguments import Arguments
from stackplan.model.diagnosis import Invalid
from stackplan.model.location import Location
from stackplan.model.playbook import Action, Playbook, Step, StepId

AT = Location("p.yaml", 1, 1)


def step(name):
    action = Action("checkpoint", Arguments({}, AT), AT)
    return Step(id=StepId(name), at=AT, action=action, postconditions=(), environment={})


PLAYBOOK = Playbook(
    name="p", path="p.yaml", sha256="0", nodes=("all",), variables={}, steps=tuple(step(it) for it in "abcd")
)


@pytest.mark.parametrize(
    ("only", "first", "left"),
    [((), None, "abcd"), (("c",), None, "c"), (("c", "a"), None, "ac"), ((), "c", "cd"), ((), "a", "abcd")],
)
def test_leaves_the_steps_that_were_asked_for_in_order(only, first, left):
    assert "".join(it.id for it in narrowed(PLAYBOOK, only, first).steps) == left


@pytest.mark.parametrize(("only", "first"), [(("x",), None), ((), "x")])
def test_an_id_that_is_not_there(only, first):
    with pytest.raises(Invalid, match=r"there is no step `x` in p\.yaml"):
        narrowed(PLAYBOOK, only, first)


def test_both_at_once():
    with pytest.raises(Invalid, match="cannot be used together"):
        narrowed(PLAYBOOK, ("a",), "b")
