"""The query `driver_parts`: small trees that stand for /proc, /sys, /lib and /boot, and modules for no kernel."""

import gzip
import io
import lzma
import os
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackplan.node.context import CannotTell, ProbeFailed
from stackplan.node.queries import _modinfo, driver_parts
from tests.node.elf_files import cache_file, elf_file

RUNNING = os.uname().release
MACHINE = {"x86_64": 62, "aarch64": 183}[os.uname().machine]
LIBRARY = elf_file(machine=MACHINE)
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.57.01  Release Build  (builder)  Thu Oct 10\n"
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\nGCC version: 12\n"


def module(version, sections=(b".modinfo", b".shstrtab")):
    """Return the file of a kernel module, with nothing in it but what it says of itself."""
    texts = b"\0".join([b"license=Dual MIT/GPL", b"srcversion=version=1.2.3", b"version=" + version, b""])
    names = b"\0" + b"\0".join(sections) + b"\0"
    rows = [
        (0, 0, 0),
        (names.index(sections[0]), 64, len(texts)),
        (names.index(sections[1]), 64 + len(texts), len(names)),
    ]
    table = b"".join(struct.pack("<IIQQQQIIQQ", name, 1, 0, 0, at, size, 0, 0, 1, 0) for name, at, size in rows)
    head = (
        b"\x7fELF\x02\x01\x01"
        + bytes(9)
        + struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, 64 + len(texts) + len(names), 0, 64, 0, 0, 64, 3, 2)
    )
    return head + texts + names + table


class Node:
    def __init__(self, root):
        self.root = root

    def write(self, path, content=""):
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
        return place

    def loaded(self, version):
        self.write("/sys/module/nvidia/version", f"{version}\n")

    def library(self, name, version):
        folder = self.root / "usr/lib"
        self.write(f"/usr/lib/{name}.{version}", LIBRARY)
        (folder / f"{name}.1").unlink(missing_ok=True)
        (folder / f"{name}.1").symlink_to(f"{name}.{version}")

    def cache(self, *rows):
        self.write("/etc/ld.so.cache", cache_file(rows))

    def kernel(self, name, module_path, content, *, bootable=True):
        self.write(
            f"/lib/modules/{name}/modules.dep",
            f"kernel/fs/ext4.ko: \n{module_path}: kernel/drm.ko\n" if module_path else "kernel/fs/ext4.ko:\n",
        )
        if module_path:
            self.write(f"/lib/modules/{name}/{module_path}", content)
        if bootable:
            self.write(f"/boot/vmlinuz-{name}")


@pytest.fixture
def node(root):
    made = Node(root)
    made.cache(("libcuda.so.1", "/usr/lib/libcuda.so.1"), ("libnvidia-ml.so.1", "/usr/lib/libnvidia-ml.so.1"))
    return made


def test_a_node_in_order(node, context, programs):
    node.loaded("580.95.05")
    node.write("/proc/driver/nvidia/version", OPEN)
    for name in ("libcuda.so", "libnvidia-ml.so"):
        node.library(name, "580.95.05")
    node.kernel(RUNNING, "updates/dkms/nvidia.ko", module(b"580.95.05"))
    programs.write("nv-fabricmanager", "printf '\\n\\n\\tFabric Manager version is : 580.95.05\\n\\n'")
    node.write("/sys/bus/pci/devices/0000:05:00.0/vendor", "0x10de\n")
    node.write("/sys/bus/pci/devices/0000:05:00.0/class", "0x068000\n")
    node.write("/sys/bus/pci/devices/0000:06:00.0/vendor", "0x10de\n")
    node.write("/sys/bus/pci/devices/0000:06:00.0/class", "0x030200\n")
    told = driver_parts.answer({}, context())
    assert told["loaded"] == {"version": "580.95.05", "flavour": "open", "source": "/sys/module/nvidia/version"}
    assert [row["version"] for row in told["libraries"]] == ["580.95.05", "580.95.05"]
    assert told["libraries"][0]["file"] == "/usr/lib/libcuda.so.580.95.05"
    assert told["fabric_manager"] == {
        "program": str(programs.folder / "nv-fabricmanager"),
        "version": "580.95.05",
        "fault": None,
        "switches": 1,
    }
    assert told["kernels"] == [
        {
            "kernel": RUNNING,
            "running": True,
            "newest": True,
            "module": f"/lib/modules/{RUNNING}/updates/dkms/nvidia.ko",
            "version": "580.95.05",
            "fault": None,
        }
    ]


@pytest.mark.parametrize(("line", "version", "flavour"), [(OPEN, "565.57.01", "open"), (CLOSED, "550.90.07", "closed")])
def test_what_proc_says_where_sys_says_nothing(node, context, line, version, flavour):
    node.write("/proc/driver/nvidia/version", line)
    told = driver_parts.answer({}, context())["loaded"]
    assert told == {"version": version, "flavour": flavour, "source": "/proc/driver/nvidia/version"}


def test_a_word_that_is_no_version(node, context):
    node.loaded("N/A")
    with pytest.raises(CannotTell, match="/sys/module/nvidia/version holds no version: 'N/A'"):
        driver_parts.answer({}, context())


def test_nothing_of_a_driver(node, context):
    told = driver_parts.answer({}, context())
    assert told["loaded"] is None
    assert [row["path"] for row in told["libraries"]] == ["/usr/lib/libcuda.so.1", "/usr/lib/libnvidia-ml.so.1"]
    assert [row["version"] for row in told["libraries"]] == [None, None], "the cache names files that are gone"
    assert told["fabric_manager"]["program"] is None
    assert told["kernels"] == []


def test_the_loader_passes_over_what_is_of_another_architecture(node, context):
    node.cache(("libcuda.so.1", "/usr/lib32/libcuda.so.1"), ("libcuda.so.1", "/usr/lib/libcuda.so.1"))
    node.write("/usr/lib32/libcuda.so.1", elf_file(wide=False, machine=3))
    node.library("libcuda.so", "580.95.05")
    cuda, management = driver_parts.answer({}, context())["libraries"]
    assert cuda["path"] == "/usr/lib/libcuda.so.1"
    assert management["path"] is None


@pytest.mark.parametrize(("content", "why"), [(None, "there is no /etc/ld.so.cache"), (b"nothing", "form that is not")])
def test_a_loader_that_cannot_be_asked(node, context, content, why):
    (node.root / "etc/ld.so.cache").unlink()
    if content is not None:
        node.write("/etc/ld.so.cache", content)
    told = driver_parts.answer({}, context())
    assert told["libraries"] == []
    assert why in told["libraries_fault"]


def test_a_fabric_manager_that_says_something_else(node, context, programs):
    programs.write("nv-fabricmanager", "echo 'unknown option'; exit 1")
    told = driver_parts.answer({}, context())["fabric_manager"]
    assert (told["version"], told["switches"]) == (None, 0)
    assert told["fault"].endswith("nv-fabricmanager --version does not name one")


def test_the_running_and_the_newest_kernel_that_boots(node, context):
    node.kernel(RUNNING, "updates/dkms/nvidia.ko", module(b"580.95.05"))
    node.kernel("999.8.0-9-generic", None, b"")
    node.kernel("999.8.0-51-generic", "kernel/nvidia-580-open/nvidia.ko", module(b"580.126.09"))
    node.kernel("999.8.0-52-generic", "updates/nvidia.ko", module(b"1.1"), bootable=False)
    first, second = driver_parts.answer({}, context())["kernels"]
    assert (first["kernel"], first["running"], first["newest"]) == (RUNNING, True, False)
    assert (second["kernel"], second["running"], second["newest"]) == ("999.8.0-51-generic", False, True)
    assert second["version"] == "580.126.09"


def test_a_kernel_without_the_module(node, context):
    node.kernel(RUNNING, None, b"")
    (row,) = driver_parts.answer({}, context())["kernels"]
    assert (row["module"], row["version"], row["fault"]) == (None, None, None)


@pytest.mark.parametrize(("ending", "pack"), [("xz", lzma.compress), ("gz", gzip.compress)])
def test_a_compressed_module(node, context, ending, pack):
    node.kernel(RUNNING, f"updates/dkms/nvidia.ko.{ending}", pack(module(b"580.95.05")))
    (row,) = driver_parts.answer({}, context(path="/nowhere"))["kernels"]
    assert (row["version"], row["fault"]) == ("580.95.05", None)


def test_modinfo_reads_what_this_python_cannot(node, context, programs):
    node.kernel(RUNNING, "updates/dkms/nvidia.ko.zst", b"\x28\xb5\x2f\xfd")
    (row,) = driver_parts.answer({}, context(path="/nowhere"))["kernels"]
    assert row["version"] is None
    assert "is compressed (.zst), and no modinfo here reads it" in row["fault"]
    programs.write("modinfo", '[ "$1 $2" = "-F version" ] && echo 580.95.05')
    assert driver_parts.answer({}, context())["kernels"][0]["version"] == "580.95.05"


def test_what_dkms_has_built_where_the_module_is_not_read(node, context):
    node.kernel(RUNNING, "updates/dkms/nvidia.ko.zst", b"\x28\xb5\x2f\xfd")
    node.write(f"/var/lib/dkms/nvidia/580.95.05/{RUNNING}/x86_64/module/nvidia.ko.zst")
    node.write("/var/lib/dkms/nvidia/590.48.01/another/x86_64/module/nvidia.ko.zst")
    (row,) = driver_parts.answer({}, context(path="/nowhere"))["kernels"]
    assert (row["version"], row["fault"]) == ("580.95.05", None)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is no ELF file of 64 bits"),
        (b"\x7fELF\x01" + bytes(80), "is no ELF file of 64 bits"),
        (module(b"1")[:-8], "ends before its sections do"),
        (module(b"1", (b".modinf_", b".shstrtab")), "has no .modinfo section"),
        (module(b"1")[:60] + b"\xff\xff" + module(b"1")[62:], "no section headers that can be read|ends before"),
        (module(b"1").replace(b"\0version=1", b"\0other_x=1"), "states no version"),
    ],
)
def test_a_module_that_is_none(node, context, content, why):
    node.kernel(RUNNING, "updates/dkms/nvidia.ko", content)
    (row,) = driver_parts.answer({}, context(path="/nowhere"))["kernels"]
    assert row["version"] is None
    assert any(part in row["fault"] for part in why.split("|"))


def test_a_file_that_cannot_be_read(node, context, refuse):
    node.loaded("580.95.05")
    refuse(node.root / "sys/module/nvidia/version")
    with pytest.raises(ProbeFailed, match="/sys/module/nvidia/version cannot be read: Too many levels"):
        driver_parts.answer({}, context())


@given(st.integers(0, len(module(b"580.95.05")) - 1), st.binary(min_size=1, max_size=16))
def test_a_damaged_module_is_a_module_or_none(at, damage):
    whole = module(b"580.95.05")
    try:
        told = _modinfo.stated_version(io.BytesIO(whole[:at] + damage + whole[at + len(damage) :]))
    except _modinfo.NotAModule:
        told = ""
    assert isinstance(told, str)


def test_debian_calls_it_otherwise(node, context):
    node.kernel(RUNNING, "updates/dkms/nvidia-current.ko", module(b"580.95.05"))
    node.kernel("999.1.0", "kernel/sound/snd-nvidia.ko", module(b"1.0"))
    running, newest = driver_parts.answer({}, context())["kernels"]
    assert (running["version"], newest["module"]) == ("580.95.05", None)
