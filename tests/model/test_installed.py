"""Entry points of other packages: found as `importlib.metadata` finds them, and not looked for where there are none."""

import sys
import zipfile
from importlib.machinery import PathFinder
from importlib.metadata import DistributionFinder, MetadataPathFinder

import pytest

from stackplan.model.installed import entry_points

GROUP = "stackplan.conditions"
NAMED = f"[{GROUP}]\nacme = acme:Acme\n"
METADATA = "Metadata-Version: 2.1\nName: acme\nVersion: 1\n"


@pytest.fixture
def path(tmp_path, monkeypatch):
    """Have Python look for packages in one folder, and nowhere else."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(sys, "meta_path", [PathFinder])
    return tmp_path


def install(folder, entries, metadata="METADATA"):
    folder.mkdir(parents=True)
    (folder / metadata).write_text(METADATA)
    (folder / "entry_points.txt").write_text(entries)


@pytest.mark.parametrize(
    ("record", "metadata"),
    [
        ("acme-1.dist-info", "METADATA"),
        ("acme.egg-info", "PKG-INFO"),
        ("ACME-1.DIST-INFO", "METADATA"),
    ],
)
def test_a_package_that_names_the_group_is_found(path, record, metadata):
    install(path / record, NAMED, metadata)
    assert [(it.name, it.value) for it in entry_points(GROUP)] == [("acme", "acme:Acme")]


def test_an_egg_on_the_path_is_found(path, monkeypatch):
    install(path / "acme-1.egg" / "EGG-INFO", NAMED, "PKG-INFO")
    monkeypatch.setattr(sys, "path", [str(path / "acme-1.egg")])
    assert [it.name for it in entry_points(GROUP)] == ["acme"]


def test_a_package_with_other_entry_points_brings_none(path):
    install(path / "acme-1.dist-info", "[console_scripts]\nacme = acme:main\n")
    (path / "bare-1.dist-info").mkdir()
    (path / "old.egg-info").write_text(METADATA)
    assert entry_points(GROUP) == ()


def test_a_package_in_an_archive_is_found(path, monkeypatch):
    archive = path / "packages.zip"
    with zipfile.ZipFile(archive, "w") as whole:
        whole.writestr("acme-1.dist-info/METADATA", METADATA)
        whole.writestr("acme-1.dist-info/entry_points.txt", NAMED)
    monkeypatch.setattr(sys, "path", [str(path / "gone"), str(archive)])
    assert [it.name for it in entry_points(GROUP)] == ["acme"]


def test_a_package_that_a_finder_of_its_own_knows_is_found(path, monkeypatch):
    install(path / "elsewhere" / "acme-1.dist-info", NAMED)

    class Elsewhere:
        def find_spec(self, name, path=None, target=None):
            return None

        def find_distributions(self, context):
            return MetadataPathFinder.find_distributions(DistributionFinder.Context(path=[str(path / "elsewhere")]))

    monkeypatch.setattr(sys, "meta_path", [Elsewhere(), PathFinder])
    assert [it.name for it in entry_points(GROUP)] == ["acme"]
