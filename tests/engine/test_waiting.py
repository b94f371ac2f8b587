"""What is said to people while a node takes long to answer."""

import threading
from functools import partial

from stackplan.engine import plan as plans
from stackplan.engine.consult import Survey
from stackplan.engine.waiting import saying
from stackplan.model.secret import Redactor
from tests.engine.world import FakeClock, FakeSession, World, bound, step, target

LONG_S = 30.0


def test_it_is_said_again_and_again_and_not_any_more_afterwards():
    heard, enough = [], threading.Event()

    def say(seconds):
        heard.append(seconds)
        if len(heard) > 2:
            enough.set()

    with saying(say, 0.001, 0.001):
        assert enough.wait(LONG_S)
    count = len(heard)
    assert heard == sorted(heard)
    assert not [it for it in threading.enumerate() if it.name == "saying what is waited for"]
    assert len(heard) == count


def test_a_quick_answer_is_not_spoken_of():
    heard = []
    with saying(heard.append, LONG_S):
        pass
    assert heard == []


def test_a_plan_says_which_dry_run_it_waits_for(monkeypatch):
    monkeypatch.setattr(plans, "saying", partial(saying, first_s=0.001))
    heard, told = [], threading.Event()

    def hear(node, what, seconds):
        heard.append((node, what, seconds > 0))
        if "dry run" in what:
            told.set()

    class Slow(FakeSession):
        def ask(self, queries):
            if any(query.kind == "dry" for query in queries):
                assert told.wait(LONG_S)
            return super().ask(queries)

    world = World({"torch": "old"}, dry={"torch": lambda _: {"torch": "new"}})
    survey = Survey(redactor=Redactor(), clock=FakeClock(), on_waiting=hear)
    book = bound(step("torch", action="install"))
    plans.plan([target("gpu-01", book)], lambda _: Slow(world), survey)
    assert ("gpu-01", "the dry run of `torch` (set torch)", True) in heard
    assert {node for node, *_ in heard} == {"gpu-01"}
