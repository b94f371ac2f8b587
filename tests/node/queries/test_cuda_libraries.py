"""Which CUDA libraries an environment's files need and where they come from; small true ELF files in a true venv."""

import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackplan.node import elf, spool
from stackplan.node.context import Context, ProbeFailed
from stackplan.node.queries import _library_store, cuda_libraries
from stackplan.node.queries._installed_libraries import recorded_libraries
from tests.node.elf_files import cache_file, elf_file

RUNTIME_12 = ("nvidia-cuda-runtime-cu12", "12.8.90", {"nvidia/cuda_runtime/lib/libcudart.so.12": "libcudart.so.12"})
RELOCATABLE = elf_file([])[:16] + b"\1\0" + elf_file([])[18:]
RUNTIME_13 = ("nvidia-cuda-runtime", "13.0.96", {"nvidia/cu13/lib/libcudart.so.13": "libcudart.so.13"})


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def wheel(environment):
    """Installs a distribution whose files are bytes, or a text: a library of that soname."""

    def install(name, version, files):
        folder = f"{name.replace('-', '_')}-{version}.dist-info"
        rows = []
        for path, content in files.items():
            raw = elf_file(["libc.so.6"], soname=content) if isinstance(content, str) else content
            environment.write(path, raw)
            rows.append(f"{path},sha256=x,{len(raw)}")
        environment.write(f"{folder}/METADATA", f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n")
        environment.write(f"{folder}/RECORD", "\n".join([*rows, f"{folder}/RECORD,,", ""]))

    return install


@pytest.fixture
def ask(environment, context):
    """Returns the answer, its distributions by name."""

    def look(context=context):
        told = cuda_libraries.answer(environment.asked, context())
        json.dumps(told)
        return {**told, "by_name": {row["name"]: row for row in told["distributions"]}}

    return look


def stored():
    """Return the files of the node's store."""
    return [*Path(spool.state_folder(), "libraries").iterdir()]


def needs(row):
    return {it["library"]: {key: it[key] for key in ("loaded", "idle", "missing")} for it in row["needs"]}


def test_a_kernel_for_another_cuda_finds_its_libraries_nowhere(wheel, ask):
    wheel(*RUNTIME_13)
    module = elf_file(["libtorch.so", "libcudart.so.12", "libnvrtc.so.12", "libcuda.so.1"])
    wheel("sgl-kernel", "0.3.21", {f"sgl_kernel/{name}.abi3.so": module for name in ("flash_ops", "sm90/common_ops")})
    row = ask()["by_name"]["sgl-kernel"]
    assert needs(row) == {
        "libcudart.so.12": {"loaded": 2, "idle": 0, "missing": 2},
        "libnvrtc.so.12": {"loaded": 2, "idle": 0, "missing": 2},
    }
    assert row["needs"][0]["first"] == ["sgl_kernel/flash_ops.abi3.so", "sgl_kernel/sm90/common_ops.abi3.so"]


def test_an_rpath_leads_to_another_wheels_library(wheel, ask, environment):
    wheel(*RUNTIME_13)
    wheel("torch", "2.14.1", {"torch/_C.so": elf_file(["libcudart.so.13"], rpath="$ORIGIN/../nvidia/cu13/lib")})
    told = ask()["by_name"]
    assert told["torch"]["needs"][0]["found"] == [str(environment.packages / "nvidia/cu13/lib/libcudart.so.13")]
    assert told["nvidia-cuda-runtime"]["provides"] == [{"library": "libcudart.so.13", "loaded": True}]


def test_what_a_module_needs_is_followed_from_library_to_library(wheel, ask):
    files = {
        "torch/_C.cpython-311-x86_64-linux-gnu.so": elf_file(["libtorch_python.so"], rpath="$ORIGIN/lib"),
        "torch/lib/libtorch_python.so": elf_file(["libtorch_cuda.so"]),
        "torch/lib/libtorch_cuda.so": elf_file(["libcudart.so.12"]),
        "torch/lib/libtorch_cuda_linalg.so": elf_file(["libcusolver.so.11"]),
    }
    wheel(
        "torch",
        "2.9.1",
        {
            path.replace("311", f"{sys.version_info[0]}{sys.version_info[1]}"): content
            for path, content in files.items()
        },
    )
    assert needs(ask()["by_name"]["torch"]) == {
        "libcudart.so.12": {"loaded": 1, "idle": 0, "missing": 1},
        "libcusolver.so.11": {"loaded": 0, "idle": 1, "missing": 0},
    }


def test_what_torch_loads_is_there_for_all_others(wheel, ask, environment):
    wheel(*RUNTIME_12)
    of_torch = elf_file(["libcudart.so.12"], rpath="$ORIGIN/../../nvidia/cuda_runtime/lib")
    wheel("torch", "2.9.1", {"torch/lib/libtorch_cuda.so": of_torch})
    wheel("a-kernel", "1.0", {"a_kernel/_C.abi3.so": elf_file(["libcudart.so.12"], rpath="/nowhere")})
    (need,) = ask()["by_name"]["a-kernel"]["needs"]
    assert need["missing"] == 0
    assert need["found"] == [str(environment.packages / "nvidia/cuda_runtime/lib/libcudart.so.12")]


def test_a_library_that_no_module_needs_is_idle(wheel, ask):
    wheel(*RUNTIME_12)
    wheel("bitsandbytes", "0.48.0", {"bitsandbytes/libbitsandbytes_cuda128.so": elf_file(["libcudart.so.12"])})
    told = ask()["by_name"]
    assert needs(told["bitsandbytes"]) == {"libcudart.so.12": {"loaded": 0, "idle": 1, "missing": 0}}
    assert told["nvidia-cuda-runtime-cu12"]["provides"] == [{"library": "libcudart.so.12", "loaded": False}]


@pytest.mark.parametrize(
    ("path", "loads"),
    [
        ("a/_C.so", True),
        ("a/_C.abi3.so", True),
        ("a/norm/norm.so", True),
        ("a/_C.cpython-311-x86_64-linux-gnu.so", True),
        ("a/libtriton.abi3.so", True),
        ("torch/lib/libtorch_cuda.so", True),
        ("a/_C.cpython-39-x86_64-linux-gnu.so", False),
        ("a/lib/libtorch_cuda.so", False),
        ("a.libs/libcudart-d0da41ae.so.11.0", False),
        ("a/libbitsandbytes_cuda130.so", False),
    ],
)
def test_an_import_loads_extension_modules_for_this_python(path, loads):
    assert cuda_libraries.imported(path, "3.11.7") is loads


def test_of_a_file_that_two_wheels_recorded_the_one_on_disk_counts(wheel, ask):
    path = "nvidia/nccl/lib/libnccl.so.2"
    wheel("nvidia-nccl-cu13", "2.30.7", {path: elf_file(["libc.so.6", "libm.so.6"], soname="libnccl.so.2")})
    wheel("nvidia-nccl-cu12", "2.27.5", {path: elf_file(soname="libnccl.so.2")})
    told = ask()["by_name"]
    assert told["nvidia-nccl-cu13"]["overwritten"] == [{"path": path, "by": "nvidia-nccl-cu12"}]
    assert told["nvidia-nccl-cu12"]["provides"] == [{"library": "libnccl.so.2", "loaded": False}]


def test_the_environment_of_the_login_comes_before_a_runpath(wheel, ask, tmp_path):
    old = tmp_path / "cuda-12.1"
    old.mkdir()
    (old / "libnvJitLink.so.12.1.105").write_bytes(elf_file(soname="libnvJitLink.so.12"))
    (old / "libnvJitLink.so.12").symlink_to("libnvJitLink.so.12.1.105")
    wheel("nvidia-nvjitlink-cu12", "12.8.93", {"nvidia/nvjitlink/lib/libnvJitLink.so.12": "libnvJitLink.so.12"})
    needing = elf_file(["libnvJitLink.so.12"], runpath="$ORIGIN/../nvidia/nvjitlink/lib")
    wheel("a-kernel", "1.0", {"a_kernel/_C.so": needing})

    def login():
        return Context(environment={"HOME": str(tmp_path), "LD_LIBRARY_PATH": f"{old}:"})

    told = ask(login)
    assert told["library_path"] == f"{old}:"
    assert told["by_name"]["a-kernel"]["needs"][0]["found"] == [str(old / "libnvJitLink.so.12.1.105")]


def test_the_loaders_cache_is_looked_into(wheel, ask, root, tmp_path):
    system = tmp_path / "libnvrtc.so.12"
    system.write_bytes(elf_file(soname="libnvrtc.so.12"))
    (root / "etc").mkdir()
    (root / "etc/ld.so.cache").write_bytes(cache_file([("libnvrtc.so.12", str(system))]))
    wheel("sgl-kernel", "0.3.21", {"sgl_kernel/flash_ops.abi3.so": elf_file(["libnvrtc.so.12"])})
    (need,) = ask()["by_name"]["sgl-kernel"]["needs"]
    assert (need["missing"], need["found"]) == (0, [str(system)])


def test_a_second_look_opens_no_library(wheel, ask, monkeypatch):
    wheel("sgl-kernel", "0.3.21", {"sgl_kernel/flash_ops.abi3.so": elf_file(["libc.so.6", "libnvrtc.so.12"])})
    first = ask()
    opened = []
    true = elf.read
    monkeypatch.setattr(elf, "read", lambda path: opened.append(path) or true(path))
    assert ask() == first
    assert not [path for path in opened if "sgl_kernel" in path]


def test_a_file_that_was_written_over_is_read_again(wheel, ask, environment):
    wheel("sgl-kernel", "0.3.21", {"sgl_kernel/flash_ops.abi3.so": elf_file(["libnvrtc.so.12"])})
    assert needs(ask()["by_name"]["sgl-kernel"]).keys() == {"libnvrtc.so.12"}
    path = environment.write("sgl_kernel/flash_ops.abi3.so", elf_file(["libnvrtc.so.13"]))
    os.utime(path, ns=(1, 1))
    assert needs(ask()["by_name"]["sgl-kernel"]).keys() == {"libnvrtc.so.13"}


@pytest.mark.parametrize(
    "damage", [b"", b"\xff\xfe", b"[]", b'{"form": 2, "rows": 3}', b'{"form": 2, "rows": {"x": 3}}']
)
def test_a_damaged_store_counts_as_none(wheel, ask, damage):
    wheel("sgl-kernel", "0.3.21", {"sgl_kernel/flash_ops.abi3.so": elf_file(["libnvrtc.so.12"])})
    first = ask()
    (kept,) = stored()
    kept.write_bytes(damage)
    assert ask() == first


def test_rows_of_the_store_that_make_no_sense_are_read_anew(wheel, ask):
    wheel("sgl-kernel", "0.3.21", {"sgl_kernel/flash_ops.abi3.so": elf_file(["libnvrtc.so.12"])})
    first = ask()
    (kept,) = stored()
    rows = _library_store.kept(kept.name)
    assert rows
    _library_store.keep(kept.name, {path: [*row[:2], ["nonsense"]] for path, row in rows.items()})
    assert ask() == first


def test_the_store_is_bounded(monkeypatch):
    monkeypatch.setattr(_library_store.STORE, "most", 3)
    for number in range(6):
        _library_store.keep(f"{number:064}", {"a.so": [1, 1, None]})
    _library_store.STORE.make_room()
    assert len(stored()) == 3


def test_what_is_no_library_tells_nothing(wheel, ask, environment):
    wheel(
        "odd",
        "1.0",
        {
            "odd/script.so": b"/* GNU ld script */\nGROUP ( libcudart.so.12 )\n",
            "odd/stub.so": b"stub\n",
            "odd/empty.so": b"",
            "odd/mac.so": b"\xcf\xfa\xed\xfe\x0c\0\0\1",
            "odd/windows.so": b"MZ\x90\0" + bytes(60),
            "odd/object.so": RELOCATABLE,
            "odd/gone.so": b"\x7fELF",
        },
    )
    (environment.packages / "odd/gone.so").unlink()
    told = ask()
    assert (told["distributions"], told["unreadable"], told["files"]) == ([], [], 6)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\x7fELF", "it is cut short"),
        (elf_file(["libcudart.so.12"]) + bytes(99), None),
        (elf_file(["libcudart.so.12"])[:-8], "it is cut short"),
        (b"\x7fELF" + b"\xff" * 4096, "an ELF file of no known class or byte order"),
        (elf_file([])[:56] + b"\xff\xff" + elf_file([])[58:], "its program headers make no sense"),
        (bytes(4096), "it begins with zeros"),
    ],
)
def test_a_broken_library_is_named_at_every_look(wheel, ask, content, why):
    wheel("odd", "1.0", {"odd/_C.abi3.so": content})
    expected = [] if why is None else [f"odd/_C.abi3.so: {why}"]
    assert ask()["unreadable"] == expected
    assert ask()["unreadable"] == expected


def test_an_empty_library_that_was_not_packed_so_is_named(wheel, ask, environment):
    wheel("odd", "1.0", {"odd/_C.abi3.so": elf_file([])})
    environment.write("odd/_C.abi3.so", b"")
    assert ask()["unreadable"] == ["odd/_C.abi3.so: it is cut short"]


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_plain_file_is_named(wheel, ask, environment, make):
    wheel("odd", "1.0", {"odd/_C.abi3.so": elf_file([])})
    path = environment.packages / "odd/_C.abi3.so"
    path.unlink()
    make(path)
    assert ask()["unreadable"] == ["odd/_C.abi3.so: not a plain file"]


def test_what_cannot_be_looked_at_is_said(wheel, ask, environment, refuse):
    wheel("sgl-kernel", "0.3.21", {"sgl_kernel/flash_ops.abi3.so": elf_file(["libnvrtc.so.12"])})
    refuse(environment.packages / "sgl_kernel/flash_ops.abi3.so")
    assert ask()["unreadable"] == ["sgl_kernel/flash_ops.abi3.so: Too many levels of symbolic links"]


def test_a_record_that_cannot_be_read_is_said(wheel, ask, environment, refuse):
    wheel("sgl-kernel", "0.3.21", {})
    refuse(environment.packages / "sgl_kernel-0.3.21.dist-info/RECORD")
    assert ask()["unreadable"] == ["sgl_kernel-0.3.21.dist-info/RECORD: Too many levels of symbolic links"]


def test_without_an_environment_nothing_is_looked_at(context, tmp_path):
    told = cuda_libraries.answer({"venv": str(tmp_path / "none")}, context())
    assert (told["exists"], told["distributions"]) == (False, [])


def test_a_folder_that_may_not_be_looked_into_is_a_failure(context, environment, refuse):
    refuse(environment.path)
    with pytest.raises(ProbeFailed, match="cannot look into"):
        cuda_libraries.answer(environment.asked, context())


def test_a_record_is_searched_for_its_libraries():
    text = 'a/b.so,sha256=x,12\r\na/c.so.12.8,,\n"a/d,e.so",sha256=y,7\na/f.py,sha256=z,3\na/g.so.py,,1\n'
    assert dict(recorded_libraries(text)) == {"a/b.so": 12, "a/c.so.12.8": None, "a/d,e.so": 7}


def test_paths_that_are_no_text_and_lines_that_are_no_paths_are_told_or_left_out(wheel, ask, environment):
    wheel("odd", "1.0", {})
    content = elf_file(["libcudart.so.12"])
    environment.write(os.fsdecode(b"odd/\xff_C.so"), content)
    lines = b'odd/\xff_C.so,,%d\nodd/\0.so,,1\n"odd/\0",x.so",,1\n../../../../../../../../etc/x.so,,1\n/etc/y.so,,1\n'
    (environment.packages / "odd-1.0.dist-info/RECORD").write_bytes(lines % len(content))
    told = ask()
    assert told["files"] == 1
    assert needs(told["by_name"]["odd"]) == {"libcudart.so.12": {"loaded": 0, "idle": 1, "missing": 0}}


@given(
    text=st.lists(st.sampled_from([".so", ".1", ",", '"', "\n", "\r", "\0", "a/b", "7", "²", "9" * 5000, "x" * 140000]))
)
def test_no_record_leads_to_anything_but_paths_and_sizes(text):
    for path, size in recorded_libraries("".join(text)):
        assert ".so" in path
        assert size is None or size < 10**18
