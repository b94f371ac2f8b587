"""Where the loader looks, and in which order; what its cache says."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackplan.node import elf
from stackplan.node.loader import Loader, folders, read_cache
from tests.node.elf_files import cache_file, elf_file

NAME = "libnvJitLink.so.12"


@pytest.fixture
def places(tmp_path):
    """One library of that name in each place where a loader may look."""
    for folder in ("own", "environment", "cached", "inherited"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / NAME).write_bytes(elf_file(soname=NAME))
    return tmp_path


def found(places, *, rpath=None, runpath=None, without=(), inherited=()):
    """Return the place in which a module there finds the library."""
    module = places / "module.so"
    module.write_bytes(elf_file([NAME], rpath=rpath, runpath=runpath))
    for folder in without:
        (places / folder / NAME).unlink()
    cache = {NAME: [str(places / "cached" / NAME)]}
    loader = Loader(f"relative::{places / 'environment'}", cache, {})
    inside = tuple(str(places / it) for it in inherited)
    path = loader.find(NAME, str(module), elf.read(str(module)), inside)
    return None if path is None else Path(path).parent.name


def test_an_rpath_comes_before_the_environment(places):
    assert found(places, rpath="$ORIGIN/own") == "own"


def test_a_runpath_comes_behind_the_environment(places):
    assert found(places, runpath="${ORIGIN}/own") == "environment"
    assert found(places, runpath="${ORIGIN}/own", without=["environment"]) == "own"


def test_what_loads_a_file_lends_it_its_rpath(places):
    assert found(places, inherited=["inherited"]) == "inherited"
    assert found(places, rpath="$ORIGIN/own", inherited=["inherited"], without=["own"]) == "inherited"


def test_a_runpath_borrows_nothing(places):
    assert found(places, runpath="$ORIGIN/own", inherited=["inherited"], without=["environment", "own"]) == "cached"


def test_the_cache_comes_last_and_nowhere_is_nowhere(places):
    assert found(places, without=["environment"]) == "cached"
    assert found(places, without=["cached"]) is None


def test_a_library_of_another_machine_is_passed_over(places):
    (places / "own" / NAME).write_bytes(elf_file(soname=NAME, machine=183))
    assert found(places, rpath="$ORIGIN/own") == "environment"


def test_folders_are_those_of_the_file_as_it_was_found(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    file = elf.Elf("2.1.62", None, [], ["$ORIGIN/../lib", "relative", "/opt"], before_environment=True)
    assert folders(str(tmp_path / "link" / "x.so"), file) == (str(tmp_path / "lib"), "/opt")


ROWS = [(NAME, "/usr/local/cuda-12.1/lib64/" + NAME), (NAME, "/usr/lib/" + NAME), ("libc.so.6", "/lib/libc.so.6")]


@pytest.mark.parametrize("old", [(), ROWS[:1], ROWS])
def test_the_cache_is_read_alone_and_behind_the_older_table(old):
    assert read_cache(cache_file(ROWS, old=old)) == {NAME: [ROWS[0][1], ROWS[1][1]], "libc.so.6": ["/lib/libc.so.6"]}


@pytest.mark.skipif(shutil.which("ldconfig", path="/sbin:/usr/sbin") is None, reason="there is no ldconfig")
@pytest.mark.skipif(not Path("/etc/ld.so.cache").exists(), reason="there is no ld.so.cache")
def test_it_agrees_with_ldconfig_about_this_machine():
    program = shutil.which("ldconfig", path="/sbin:/usr/sbin")
    shown = subprocess.run([program, "-p"], capture_output=True, text=True, check=True).stdout
    stated = {line.partition("(")[0].strip() for line in shown.splitlines() if "=>" in line}
    assert stated
    assert set(read_cache(Path("/etc/ld.so.cache").read_bytes())) == stated


@given(cut=st.integers(0, 400), at=st.integers(0, 300), value=st.integers(0, 255))
def test_a_damaged_cache_tells_less_and_breaks_nothing(cut, at, value):
    raw = bytearray(cache_file(ROWS, old=ROWS[:1]))
    raw[at % len(raw)] = value
    for paths in read_cache(bytes(raw[:cut])).values():
        assert all(isinstance(path, str) for path in paths)
