"""A toolkit from apt: what its simulation foretells is what real apt-get then does, in a node of its own."""

import shutil

import pytest

from stackplan.model.change import Change
from stackplan.model.facts import Known, Query
from stackplan.model.job import Exited
from tests.node.debian import FOLDERS, deb, listing
from tests.node.isolated import available, isolated_node

pytestmark = pytest.mark.skipif(
    shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None or not available(),
    reason="needs Debian's apt, root, and the right to mount overlays",
)

PREFIX = "/usr/local/cuda-13.0"
NVCC = Query("nvcc", {"prefix": PREFIX})
COMPILER = rf"""
mkdir -p {PREFIX}/bin
echo '#!/bin/sh
echo "Cuda compilation tools, release 13.0, V13.0.48"' >{PREFIX}/bin/nvcc
chmod 755 {PREFIX}/bin/nvcc
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cuda") / "repository"
    folder.mkdir()
    deb(folder, "cuda-nvcc-13-0", "13.0.48-1", postinst=COMPILER)
    deb(folder, "cuda-cudart-13-0", "13.0.48-1")
    deb(folder, "cuda-toolkit-13-0", "13.0.1-1", "Depends: cuda-nvcc-13-0, cuda-cudart-13-0")
    deb(folder, "cuda-toolkit-13-0", "13.0.2-1", "Depends: cuda-nvcc-13-0, cuda-cudart-13-0")
    deb(folder, "cuda-toolkit-13-1", "13.1.0-1", "Conflicts: nvidia-driver-580")
    deb(folder, "nvidia-driver-580", "580.95.05-1")
    (folder / "Packages").write_text(listing(folder))
    return folder


@pytest.fixture
def node(repository):
    with isolated_node(*FOLDERS, "/usr/local") as running:
        running.inside("/mnt/repository").mkdir(mode=0o755)
        for path in repository.glob("*"):
            if path.is_file():
                running.inside(f"/mnt/repository/{path.name}").write_bytes(path.read_bytes())
        emptied = "/etc/apt/sources.list.d/* /etc/apt/preferences.d/* /var/lib/apt/lists/* /var/lib/dpkg/info/*"
        running.run("sh", "-c", "rm -rf /usr/local/cuda*")
        running.run("sh", "-c", f"rm -rf {emptied}; : > /var/lib/dpkg/status")
        running.inside("/etc/apt/sources.list").write_text("deb [trusted=yes] file:/mnt/repository ./\n")
        running.run("apt-get", "-qq", "update")
        yield running


def test_release_and_packages_are_foretold_and_come(node):
    values = {"version": "13.0.1", "method": "apt"}
    foretold = node.predict("cuda_toolkit", **values)
    assert foretold.failures == ()
    assert foretold.changes == (
        Change("apt", "cuda-cudart-13-0", None, "13.0.48-1"),
        Change("apt", "cuda-nvcc-13-0", None, "13.0.48-1"),
        Change("apt", "cuda-toolkit-13-0", None, "13.0.1-1"),
        Change("toolkit", PREFIX, None, "13.0"),
    )
    assert foretold.answers[NVCC] == Known({**foretold.answers[NVCC].value, "exists": True, "release": "13.0"})
    ending, output, changes = node.act("cuda_toolkit", **values)
    assert ending == Exited(0), output
    assert changes == foretold.changes
    assert node.ask(NVCC)[NVCC].value["release"] == "13.0"
    # A second time there is nothing to do, and a part of another version is told by its package.
    assert node.predict("cuda_toolkit", **values).changes == ()
    newer = node.predict("cuda_toolkit", version="13.0.2", method="apt")
    assert newer.changes == (Change("apt", "cuda-toolkit-13-0", "13.0.1-1", "13.0.2-1"),)
    node.act("cuda_toolkit", version="13.0.2", method="apt")
    (failure,) = node.predict("cuda_toolkit", **values).failures
    assert "apt would downgrade cuda-toolkit-13-0" in failure.summary
    ending, output, _changes = node.act("cuda_toolkit", **values)
    assert ending == Exited(100), output


def test_a_toolkit_that_takes_the_driver_away_is_foreseen_and_refused(node):
    node.run("apt-get", "install", "-y", "-qq", "nvidia-driver-580")
    values = {"version": "13.1", "method": "apt"}
    foretold = node.predict("cuda_toolkit", **values)
    assert foretold.changes == ()
    assert [it.code for it in foretold.failures] == ["SP227"]
    assert "apt would remove nvidia-driver-580; a toolkit's step does not" in foretold.failures[0].summary
    ending, output, changes = node.act("cuda_toolkit", **values)
    assert ending == Exited(100), output
    assert changes == ()


def test_what_no_repository_offers_is_told_before_anything_runs(node):
    (failure,) = node.predict("cuda_toolkit", version="12.9", method="apt").failures
    assert failure.code == "SP223"
    assert "cuda-toolkit-12-9" in failure.summary
    (failure,) = node.predict("cuda_toolkit", version="13.0.9", method="apt").failures
    assert "Version '13.0.9-*' for 'cuda-toolkit-13-0' was not found" in failure.causes[0]
