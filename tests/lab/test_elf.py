"""The lab's shared objects, read by a reader of our own and by binutils where it is installed."""

import ctypes
import platform
import shutil
import struct
import subprocess

import pytest

from stackplan.lab.elf import shared_object


def needed_libraries(content):
    """Follow the ELF header to the dynamic segment and from there to the names; independent of the writer."""
    assert content[:7] == b"\x7fELF\x02\x01\x01"
    (at_programs,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    segments = [struct.unpack_from("<IIQQQQQQ", content, at_programs + index * size) for index in range(count)]
    ((_, _, offset, _, _, length, _, _),) = [segment for segment in segments if segment[0] == 2]
    entries = list(struct.iter_unpack("<qQ", content[offset : offset + length]))
    strings = dict(entries)[5]

    def text(at):
        return content[strings + at : content.index(b"\0", strings + at)].decode()

    return [text(value) for tag, value in entries if tag == 1], [text(value) for tag, value in entries if tag == 14]


def test_the_libraries_stand_in_the_dynamic_section_in_order():
    content = shared_object(["libtorch_cuda.so", "libcudart.so.13", "libc.so.6"], "libx.so")
    assert needed_libraries(content) == (["libtorch_cuda.so", "libcudart.so.13", "libc.so.6"], ["libx.so"])


def test_without_libraries_and_name_the_dynamic_section_states_neither():
    assert needed_libraries(shared_object([])) == ([], [])


@pytest.mark.skipif(shutil.which("readelf") is None, reason="binutils is not installed")
def test_readelf_reads_it_without_a_warning(tmp_path):
    path = tmp_path / "x.so"
    path.write_bytes(shared_object(["libcudart.so.12"], "x.so"))
    done = subprocess.run(["readelf", "-dhlS", path], capture_output=True, text=True, check=True)
    assert "Shared library: [libcudart.so.12]" in done.stdout
    assert "Library soname: [x.so]" in done.stdout
    assert done.stderr == ""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the stand-ins are x86_64 files")
def test_the_loader_misses_the_library_that_it_states(tmp_path):
    path = tmp_path / "x.so"
    path.write_bytes(shared_object(["libcudart-of-the-lab.so.13"]))
    with pytest.raises(OSError, match=r"libcudart-of-the-lab\.so\.13: cannot open shared object file"):
        ctypes.CDLL(str(path))
