"""The kinds of `world` in place of the true ones, and the parts that every run is made of."""

import pytest

from stackplan.model.room import ACTIONS, CONDITIONS
from tests.engine.world import ACTION_KINDS, CONDITION_KINDS, FakeClock, FakeStop, Stage


@pytest.fixture(autouse=True)
def kinds(monkeypatch):
    for word, kind in CONDITION_KINDS.items():
        monkeypatch.setitem(CONDITIONS._loaded, word, kind)
    for word, kind in ACTION_KINDS.items():
        monkeypatch.setitem(ACTIONS._loaded, word, kind)


@pytest.fixture
def stage():
    """Give the stage of a run over the nodes of the given worlds."""

    def stage(**worlds):
        clock = FakeClock()
        return Stage(worlds, clock, FakeStop(clock))

    return stage
