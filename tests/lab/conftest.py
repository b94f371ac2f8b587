"""One lab of two nodes for the tests that do not change its nodes' environments."""

import pytest

from stackplan.lab.laboratory import running_lab


@pytest.fixture(scope="session")
def lab():
    with running_lab(2) as running:
        yield running
