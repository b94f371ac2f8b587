"""What all workers of one run of the tests share, and what is ended after all tests."""

import os

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests import command_line

_SLURM = "tests/slurm/"


class _OneSlurm(LoadScopeScheduling):
    """Shares tests out one by one; those of Slurm, whose node sees the job steps of every other, go to one worker.

    As the largest group they begin first. By their names: the groups of `--dist loadgroup` are passed over in silence
    under pytest 9.2.
    """

    def _split_scope(self, nodeid):
        return _SLURM if nodeid.startswith(_SLURM) else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return _OneSlurm(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """Have half as many workers again as there are processors: a test that waits for a daemon lets another one run."""
    return max(2, len(os.sched_getaffinity(0)) * 3 // 2)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory):
    """A folder that is the same one in every worker; what is made in it is made under a lock (`tests.shared`)."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


def pytest_sessionfinish():
    command_line.end()
