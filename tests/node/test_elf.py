"""Reading ELF headers: what linkers write, and whatever else lies under the name of a library."""

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackplan.lab.elf import shared_object
from stackplan.node import elf
from tests.node.elf_files import elf_file

NEEDED = ("libcudart.so.12", "libnvrtc.so.12", "libc.so.6")
FORMS = [(wide, big) for wide in (True, False) for big in (False, True)]


def read(folder, content):
    path = Path(folder) / "x.so"
    path.write_bytes(content)
    return elf.read(str(path))


@pytest.mark.parametrize(("wide", "big"), FORMS)
def test_either_class_and_byte_order_is_read(tmp_path, wide, big):
    found = read(tmp_path, elf_file(NEEDED, soname="libx.so.1", runpath="$ORIGIN/../lib:/opt/cuda", wide=wide, big=big))
    assert found.needed == list(NEEDED)
    assert found.soname == "libx.so.1"
    assert found.search == ["$ORIGIN/../lib", "/opt/cuda"]
    assert found.machine == f"{2 if wide else 1}.{2 if big else 1}.62"


def test_the_labs_stand_ins_are_read(tmp_path):
    found = read(tmp_path, shared_object(NEEDED, "libx.so"))
    assert (found.needed, found.soname, found.search) == (list(NEEDED), "libx.so", [])


@pytest.mark.parametrize(
    ("rpath", "runpath", "search", "before"),
    [("/r", None, ["/r"], True), (None, "/u", ["/u"], False), ("/r", "/u", ["/u"], False), (None, None, [], False)],
)
def test_a_runpath_makes_the_loader_disregard_an_rpath(tmp_path, rpath, runpath, search, before):
    found = read(tmp_path, elf_file(rpath=rpath, runpath=runpath))
    assert (found.search, found.before_environment) == (search, before)


@pytest.mark.skipif(shutil.which("readelf") is None, reason="binutils is not installed")
def test_it_agrees_with_readelf_about_this_interpreter():
    shown = subprocess.run(["readelf", "-d", sys.executable], capture_output=True, text=True, check=True).stdout
    stated = [line.partition("[")[2].rstrip("]") for line in shown.splitlines() if "(NEEDED)" in line]
    assert stated
    assert elf.read(sys.executable).needed == stated


def test_a_long_name_is_read_whole(tmp_path):
    name = "lib" + "x" * 3000 + ".so"
    assert read(tmp_path, elf_file([name])).needed == [name]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "cut short"),
        (b"/* GNU ld script */ INPUT(libx.so.1)", "not an ELF file"),
        (b"\x7fELF\x07\x01" + bytes(90), "no known class"),
        (elf_file(NEEDED)[:100], "cut short"),
        (elf_file(NEEDED)[:-40], "cut short"),
        (elf_file(["x" * 20000]), "has no end"),
    ],
)
def test_what_no_loader_takes_is_no_elf_file(tmp_path, content, why):
    with pytest.raises(elf.NotElf) as caught:
        read(tmp_path, content)
    assert why in caught.value.why


@pytest.mark.parametrize(
    ("at", "form", "value"),
    [
        (56, "<H", 0xFFFF),  # program headers
        (32, "<Q", 2**63),  # where they begin
        (64 + 56 + 32, "<Q", 2**62),  # size of the dynamic section
        (64 + 56 + 8, "<Q", 2**63),  # where it begins
    ],
)
def test_counts_and_offsets_out_of_all_proportion_are_refused(tmp_path, at, form, value):
    content = bytearray(elf_file(NEEDED))
    struct.pack_into(form, content, at, value)
    with pytest.raises(elf.NotElf, match=r"make no sense|cut short|larger than any linker"):
        read(tmp_path, bytes(content))


def test_a_huge_sparse_file_costs_nothing(tmp_path):
    path = tmp_path / "x.so"
    path.write_bytes(elf_file(NEEDED))
    os.truncate(path, 1 << 40)
    assert elf.read(str(path)).needed == list(NEEDED)


def test_a_pipe_a_folder_and_a_link_to_itself_hold_nothing_up(tmp_path):
    os.mkfifo(tmp_path / "pipe.so")
    (tmp_path / "loop.so").symlink_to("loop.so")
    with pytest.raises(elf.NotElf, match="not a plain file"):
        elf.read(str(tmp_path / "pipe.so"))
    with pytest.raises(elf.NotElf, match="not a plain file"):
        elf.read(str(tmp_path))
    with pytest.raises(OSError, match="symbolic links"):
        elf.read(str(tmp_path / "loop.so"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("elf")


@given(
    form=st.sampled_from(FORMS),
    edits=st.lists(st.tuples(st.integers(4, 400), st.integers(0, 255)), max_size=12),
    length=st.integers(0, 600),
)
def test_no_damage_leads_to_anything_but_an_answer_or_a_refusal(folder, form, edits, length):
    content = bytearray(elf_file(NEEDED, soname="libx.so", rpath="$ORIGIN", wide=form[0], big=form[1]))
    for at, value in edits:
        if at < len(content):
            content[at] = value
    try:
        found = read(folder, bytes(content[:length]))
    except elf.NotElf:
        return
    assert elf.from_plain(found.plain()).plain() == found.plain()


@given(tail=st.binary(max_size=300))
def test_no_bytes_behind_the_magic_number_lead_to_anything_else(folder, tail):
    try:
        found = read(folder, b"\x7fELF" + tail)
    except elf.NotElf:
        return
    assert found.needed == []


SENSIBLE = ["2.1.62", "libx.so", ["libc.so.6"], [], False]


@pytest.mark.parametrize("at", range(5))
def test_kept_rows_that_somebody_damaged_are_not_believed(at):
    assert elf.from_plain(SENSIBLE).needed == ["libc.so.6"]
    assert elf.from_plain([*SENSIBLE[:at], 7, *SENSIBLE[at + 1 :]]) is None
    assert elf.from_plain(SENSIBLE[:at]) is None
