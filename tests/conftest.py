"""What all workers of one run of the tests share, and what is ended after all tests."""

import os
from pathlib import Path

import pytest

from tests import command_line


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """Have half as many workers again as there are processors: a test that waits for a daemon lets another one run."""
    return max(2, len(os.sched_getaffinity(0)) * 3 // 2)


_LONGEST_FIRST = ("playbooks", "lab", "sshd", "faults", "kubernetes", "actions", "connection", "cli", "node", "field")


def pytest_collection_modifyitems(items):
    """Begin with the folders whose tests take longest, so that no worker is left with one of them at the end."""
    ranks = {folder: rank for rank, folder in enumerate(_LONGEST_FIRST)}
    here = Path(__file__).parent
    items.sort(key=lambda item: ranks.get(item.path.relative_to(here).parts[0], len(ranks)))


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory):
    """A folder that is the same one in every worker; what is made in it is made under a lock (`tests.shared`)."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


def pytest_sessionfinish():
    command_line.end()
