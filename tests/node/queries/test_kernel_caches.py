"""The query `kernel_caches` and the task `clear_caches`, on small caches as the tools lay them out."""

import os
import shutil
import subprocess
import sys

import pytest

from stackplan.node.context import Context
from stackplan.node.queries import _kernel_cache_places, _kernel_caches, kernel_caches
from tests.node.elf_files import elf_file
from tests.node.queries import torch_extension
from tests.node.queries.kernels import GENERATED, HASH, HEX, NEW, OLD

TRITON, TILELANG = f".triton/cache/{HASH}", f".tilelang/cache/{HEX}"
FLASHINFER, VLLM = ".cache/flashinfer/0.6.14/90a_100a", ".cache/vllm/torch_compile_cache/0f0f0f0f0f"
EXTENSION = ".cache/torch_extensions/py311_cu130/fused"
GRAPH = "k7" * 25 + "k"
AHEAD = f".cache/vllm/torch_compile_cache/torch_aot_compile/{HEX}"
KERNELS, PARQUET = f"rank_0_0/triton_cache/{HASH}", "rank_0_0/inductor_cache/train.parquet"
FOREIGN = [
    (TRITON, ["thesis.docx"]),
    (TRITON, ["photo.jpg", "lib.so"]),
    (TRITON, ["data.json"]),
    (TRITON, ["lock"]),
    (f".triton/cache/{HEX}", ["sub/k.cubin"]),
    (TILELANG, ["thesis.so", "data.bin"]),
    (TILELANG, ["kernel.cu"]),
    (f".tilelang/cache/0.1.9/linux-x86_64/kernels/{HEX}", ["thesis.so"]),
    (FLASHINFER, ["generated/thesis.docx"]),
    (FLASHINFER, ["cached_ops/notes/x.py", "README"]),
    (".cache/flashinfer/0.6.14/tuning", ["cached_ops/x/x.so"]),
    (VLLM, ["thesis.docx"]),
    (VLLM, ["rank_0_0/thesis.docx", "model"]),
    (VLLM, ["rank_0/train.parquet", "rank_0/notes.txt"]),
    (EXTENSION, ["fused.so", "thesis.docx"]),
]
MIXED = [
    (TRITON, ["k.cubin", "k.json", "thesis.docx"], "thesis.docx"),
    (TRITON, ["k.cubin", "k.json", "other.json"], "other.json"),
    (TRITON, ["k.cubin", "k.json", "deep/er/b.cubin"], "deep"),
    (TRITON, ["k.cubin", "k.json", "tmp.pid_7_0a-1b/thesis.docx"], "tmp.pid_7_0a-1b"),
    (TILELANG, ["kernel_lib.so", "params.pkl", "data.bin"], "data.bin"),
    (TILELANG, ["kernel_lib.so", "notes/x"], "notes"),
    (FLASHINFER, ["cached_ops/x/x.so", "notes.txt"], "notes.txt"),
    (FLASHINFER, ["cached_ops/x/x.so", "cached_ops/x/thesis.docx"], "cached_ops/x/thesis.docx"),
    (FLASHINFER, ["cached_ops/x/x.so", "generated/x/thesis.docx"], "generated/x/thesis.docx"),
    (VLLM, ["rank_0_0/backbone/computation_graph.py", "thesis.docx"], "thesis.docx"),
    (VLLM, ["rank_0/computation_graph.py", "rank_0/train.parquet"], "rank_0/train.parquet"),
    (VLLM, ["rank_0_0/vllm_compile_cache.py", "rank_0_0/backbone/notes.txt"], "rank_0_0/backbone/notes.txt"),
    (VLLM, ["rank_0/vllm_compile_cache.py", "rank_0/model/weights.bin"], "rank_0/model/weights.bin"),
    (VLLM, [f"rank_0_0/inductor_cache/ab/{GENERATED}", "rank_0_0/inductor_cache/train.parquet"], PARQUET),
    (
        VLLM,
        [f"rank_0_0/triton_cache/{HASH}/cuda_utils.so", f"rank_0_0/triton_cache/{HASH}/x.json"],
        f"{KERNELS}/x.json",
    ),
    (EXTENSION, ["build.ninja", "fused.so", "fused.cu"], "fused.cu"),
    (EXTENSION, ["build.ninja", "src/main.cpp"], "src"),
]
OWN = [
    (TRITON, ["__grp__k.json", "k.json", "k.source", "k.ttir", "k.ttgir", "k.llir", "k.ptx", "k.cubin", "lock"]),
    (TRITON, ["k.json", "k.amdgcn", "k.hsaco", "k.json.lock", "tmp.pid_7_0a-1b/k.ptx"]),
    (TRITON, ["__triton_launcher.cpython-311-x86_64-linux-gnu.so"]),
    (TRITON, ["cuda_utils.so"]),
    (TRITON, ["add.autotune.json"]),
    (TILELANG, ["device_kernel.cu", "host_kernel.cu", "executable.so", "params.pkl"]),
    (TILELANG, ["kernel.cubin", "kernel.py", "params.pkl"]),
    (TILELANG, ["kernel.py", "launcher.cpp", "launcher_lib.so"]),
    (f".tilelang/cache/0.1.9/linux-x86_64/kernels/{HEX}", ["kernel_lib.so", "params.json", "manifest.json"]),
    (
        FLASHINFER,
        [
            "flashinfer_jit.log",
            "cached_ops/tmp/x.lock",
            "cached_ops/x/build.ninja",
            "cached_ops/x/a.cuda.o",
            "cached_ops/x/x.so",
        ],
    ),
    (FLASHINFER, ["cached_ops/x/build.ninja", "cached_ops/x/x.so", "generated/x/a.cu", "generated/x/a_config.inc"]),
    (VLLM, ["rank_0_0/backbone/computation_graph.py", "rank_0_0/backbone/cache_key_factors.json"]),
    (VLLM, ["rank_0_0/artifact_shape_None_subgraph_0", f"rank_0_0/inductor_cache/fxgraph/ab/f{GRAPH}/{GRAPH}"]),
    (
        VLLM,
        [
            f"rank_0/inductor_cache/ab/{GENERATED}",
            f"rank_0/inductor_cache/locks/f{GRAPH}.lock",
            "rank_0/transformed_code.py",
        ],
    ),
    (VLLM, [f"rank_0_0/backbone/artifact_compile_range_1_8_subgraph_0/triton/0/{HASH}/cuda_utils.so"]),
    (VLLM, [f"rank_0_0/triton_cache/{HASH}/k.json", f"rank_0_0/triton_cache/{HASH}/k.cubin"]),
    (
        VLLM,
        [f"rank_0/triton_cache_4711/{HASH}/cuda_utils.so", f"rank_0/triton_cache_4711/{HASH}/tmp.pid_7_0a-1b/k.ptx"],
    ),
    (AHEAD, ["rank_0_0/model", "rank_1_0/model", f"inductor_cache/ab/{GENERATED}", f"inductor_cache/cache/{HEX}"]),
    (EXTENSION, ["build.ninja", ".ninja_log", ".ninja_deps", "main.cpp", "main.o", "cuda.cuda.o", "fused.so", "lock"]),
    (EXTENSION, ["build.ninja", "main.cpp", "cuda.cu", "fused_v1.so", "fused.so", "main.o.d"]),
]


OP = b"""\
ninja_required_version = 1.3
name = x
build $name/a.cuda.o: cuda_compile /home/ops/.cache/flashinfer/0.6.14/90a_100a/generated/x/a.cu
build $name/$name.so: link $name/a.cuda.o
default $name/$name.so
"""
CONTENTS = {
    "cached_ops/x/build.ninja": OP,
    "add.autotune.json": b'{"key": [1], "configs_timings": []}',
    "build.ninja": torch_extension.ninja("fused"),
    "main.cpp": torch_extension.MAIN,
    "cuda.cu": torch_extension.CUDA,
}


def content(path):
    """Return what a tool writes there, as far as it is looked at."""
    return CONTENTS.get(path) or CONTENTS.get(path.rpartition("/")[2], b"kernel")


def test_each_tool_where_it_keeps_its_kernels(ask, write):
    user = Context().user
    for path in (
        f".triton/cache/{HASH}/cuda_utils.so",
        ".cache/torch_extensions/py311_cu130/fused/fused.so",
        f"tmp/torchinductor_{user}/ab/{GENERATED}",
        f"tmp/torchinductor_{user}/triton/0/{HASH}/cuda_utils.so",
        ".cache/flashinfer/0.6.14/120f/cached_ops/sampling/sampling.so",
        ".cache/vllm/torch_compile_cache/1517964802/rank_0_0/backbone/computation_graph.py",
        ".deep_gemm/cache/kernel.gemm.0a1b/kernel.cubin",
        f".tilelang/cache/{HEX}/kernel_lib.so",
    ):
        write(path, OLD)
    write(".cache/torch_extensions/py311_cu130/fused/build.ninja", OLD, torch_extension.ninja("fused"))
    told, rows = ask()
    assert told["complete"]
    assert told["packages"] == {
        "flashinfer-python": "0.6.14",
        "torch": "2.11.0+cu130",
        "triton": "3.6.0",
        "vllm": "0.16.0",
    }
    assert {tool: row["stale_entries"] for tool, row in rows.items()} == {
        "triton": 1,
        "torch_extensions": 1,
        "inductor": 2,
        "flashinfer": 1,
        "vllm": 1,
        "deep_gemm": 1,
        "tilelang": 1,
    }
    assert rows["deep_gemm"]["reasons"] == [{"why": "older than torch 2.11.0+cu130", "entries": 1}]


def test_what_is_newer_than_its_packages_is_not_stale(ask, write):
    write(f".triton/cache/{HASH}/cuda_utils.so", NEW, b"0123456789")
    write(f".triton/cache/{HASH}/kernel.json.lock", OLD)
    _, rows = ask()
    row = rows["triton"]
    assert (row["entries"], row["files"], row["bytes"], row["stale_entries"]) == (1, 2, 16, 0)


def test_one_old_file_makes_an_entry_stale(ask, write):
    write(f".triton/cache/{HASH}/cuda_utils.so", NEW)
    write(f".triton/cache/{HASH}/tmp.pid_7_0a-1b/b.cubin", OLD)
    row = ask()[1]["triton"]
    assert (row["stale_entries"], row["stale_files"], row["stale_bytes"]) == (1, 2, 12)
    assert row["stale"] == [{"path": f"{row['path']}/{HASH}", "bytes": 12, "written": OLD}]


def test_a_library_of_another_cuda_is_stale_however_new(ask, write):
    built = ".cache/flashinfer/0.6.14/120f/cached_ops/sampling/sampling.so"
    write(built, NEW, elf_file(["libcudart.so.12", "libc.so.6"]))
    row = ask()[1]["flashinfer"]
    assert row["reasons"] == [{"why": "needs libcudart.so.12, and torch is built for CUDA 13.0", "entries": 1}]
    write(built, NEW, elf_file(["libcudart.so.13", "libcusparse.so.12"]))
    assert ask()[1]["flashinfer"]["stale_entries"] == 0, "cuSPARSE 12 belongs to CUDA 13"


def test_a_folder_that_says_another_cuda(ask, write):
    write(".cache/torch_extensions/py311_cu128/fused/build.ninja", NEW, torch_extension.ninja("fused"))
    row = ask()[1]["torch_extensions"]
    assert row["reasons"] == [{"why": "built for CUDA 12, and torch is built for CUDA 13.0", "entries": 1}]


@pytest.mark.parametrize(
    ("variable", "case"),
    [
        ("TRITON_CACHE_DIR", ("kernels", f"kernels/{HASH}/cuda_utils.so", "triton")),
        ("TRITON_HOME", ("data", f"data/.triton/cache/{HEX}/cuda_utils.so", "triton")),
        ("TORCHINDUCTOR_CACHE_DIR", ("ind", f"ind/ab/{GENERATED}", "inductor")),
        ("FLASHINFER_WORKSPACE_BASE", ("fi", "fi/.cache/flashinfer/80_90/cached_ops/x/x.so", "flashinfer")),
        ("XDG_CACHE_HOME", ("xdg", "xdg/vllm/torch_compile_cache/0a1b2c3d4e/rank_0_0/vllm_compile_cache.py", "vllm")),
        (
            "VLLM_CACHE_ROOT",
            ("v", f"v/torch_compile_cache/torch_aot_compile/{HEX}/inductor_cache/ab/{GENERATED}", "vllm"),
        ),
        ("DG_JIT_CACHE_DIR", ("dg", "dg/cache/kernel.x.1/kernel.cubin", "deep_gemm")),
        ("SGLANG_DG_CACHE_DIR", ("dg", "dg/cache/kernel.x.1/kernel.cubin", "deep_gemm")),
        ("SGLANG_CACHE_DIR", ("sgl", "sgl/deep_gemm/cache/kernel.x.1/kernel.cubin", "deep_gemm")),
        ("TILELANG_CACHE_DIR", ("tl", f"tl/{HEX}/kernel_lib.so", "tilelang")),
    ],
)
def test_a_variable_of_the_tool_leads_there(home, ask, write, variable, case):
    value, path, tool = case
    write(path, OLD)
    _, rows = ask(**{variable: str(home / value)})
    assert list(rows) == [tool]
    assert rows[tool]["stale_entries"] == 1


def test_what_inductors_variable_leads_to_is_no_cache_for_the_shape_of_its_folders(home, ask, write):
    for path in ("ar/cart.po", "ro/thesis.docx", "fxgraph/de/drawing.svg", "aotautograd/my/paper.tex"):
        write(f"website/{path}", OLD)
    _, rows = ask(TORCHINDUCTOR_CACHE_DIR=str(home / "website"))
    assert rows["inductor"]["stale_entries"] == 0
    assert rows["inductor"]["entries"] == 0


def test_a_pipe_in_the_place_of_a_build_is_not_waited_for(home, ask):
    (home / "ext/fused").mkdir(parents=True)
    os.mkfifo(home / "ext/fused/build.ninja")
    _, rows = ask(TORCH_EXTENSIONS_DIR=str(home / "ext"))
    assert rows.get("torch_extensions", {}).get("entries", 0) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_users_is_no_cache(home, ask, write):
    folder = write(f"ind/ab/{GENERATED}", OLD).parents[1]
    os.chown(folder, 65534, 65534)
    row = ask(TORCHINDUCTOR_CACHE_DIR=str(folder))[1]["inductor"]
    assert row["entries"] == 0
    assert "it is a folder of another user's" in row["fault"]


def test_an_extension_where_the_variable_says(home, ask, write):
    write("ext/fused/build.ninja", OLD, torch_extension.ninja("fused"))
    write("ext/another/build.ninja", OLD, b"rule cxx\n")
    row = ask(TORCH_EXTENSIONS_DIR=str(home / "ext"))[1]["torch_extensions"]
    assert (row["entries"], row["named_by"]) == (1, "TORCH_EXTENSIONS_DIR")


def test_what_does_not_look_like_an_entry_is_no_cache(home, ask, write):
    """Somebody sets every variable to a folder full of other things."""
    for path in ("src/triton/python/setup.py", "src/de/words.txt", "src/cache/kernel.notes/text", f"src/{HASH[:-1]}/x"):
        write(path, OLD)
    write("src/fxgraph/README.md", OLD)
    everything = ("TRITON_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "TORCHINDUCTOR_CACHE_DIR", "DG_JIT_CACHE_DIR")
    _, rows = ask(**dict.fromkeys((*everything, "TILELANG_CACHE_DIR"), str(home / "src")))
    assert {tool: row["entries"] for tool, row in rows.items()} == {"triton": 0}
    for variable in everything:
        _, rows = ask(**{variable: str(home / "src")})
        assert sum(row["entries"] for row in rows.values()) == 0, variable


@pytest.mark.parametrize("case", MIXED)
def test_old_kernels_beside_something_else_are_not_called_stale(home, ask, write, case):
    folder, names, stray = case
    for name in names:
        write(f"{folder}/{name}", OLD, content(name))
    (row,) = (row for row in ask()[1].values() if row["entries"])
    assert (row["entries"], row["stale_entries"], row["mixed_entries"]) == (1, 0, 1)
    assert row["strays"] == [f"{home}/{folder}/{stray}"]


@pytest.mark.parametrize(("folder", "names"), FOREIGN)
def test_a_folder_without_the_tools_own_files_is_no_entry(ask, write, folder, names):
    for name in names:
        write(f"{folder}/{name}", OLD)
    assert sum(row["entries"] for row in ask()[1].values()) == 0


@pytest.mark.parametrize("folder", [HEX[:32], HEX, HASH])
def test_a_launcher_of_triton_2_tells_itself_by_its_module(ask, write, folder):
    launcher = elf_file(["libcuda.so.1", "libc.so.6"]) + b"\0PyInit___triton_launcher\0"
    write(f".triton/cache/{folder}/add_kernel.so", OLD, launcher)
    write(f".triton/cache/{'1e' * 16}/thesis.so", OLD, elf_file(["libc.so.6"]))
    row = ask()[1]["triton"]
    assert (row["entries"], row["stale_entries"], row["mixed_entries"]) == (1, 1, 0)


def test_a_part_that_may_not_be_looked_into_may_hold_anything(home, ask, write):
    write(f"{FLASHINFER}/cached_ops/x/x.so", OLD)
    closed = home / FLASHINFER / "generated"
    closed.mkdir()
    real = os.scandir

    def refusing(path):
        if os.fspath(path) == str(closed):
            raise PermissionError(13, "Permission denied", str(closed))
        return real(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "scandir", refusing)
        row = ask()[1]["flashinfer"]
    assert (row["stale_entries"], row["strays"]) == (0, [str(closed)])


def test_links_are_not_followed(home, ask, write, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "sub").mkdir(parents=True)
    (elsewhere / "precious").write_bytes(b"x" * 1000)
    os.utime(elsewhere / "precious", (OLD, OLD))
    write(f".triton/cache/{HASH}/cuda_utils.so", NEW)
    (home / ".triton/cache" / HASH / "out").symlink_to(elsewhere)
    (home / ".triton/cache" / HEX).symlink_to(elsewhere)
    row = ask()[1]["triton"]
    assert (row["entries"], row["files"], row["stale_entries"]) == (1, 2, 0)
    assert row["bytes"] < 1000


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a link away")
def test_a_link_of_another_users_is_no_cache(home, ask, tmp_path, write):
    target = tmp_path / "target"
    shutil.copytree(write(f"x/ab/{GENERATED}", OLD).parents[1], target)
    (home / "tmp").mkdir()
    link = home / "tmp" / f"torchinductor_{Context().user}"
    link.symlink_to(target)
    os.chown(link, 65534, 65534, follow_symlinks=False)
    row = ask()[1]["inductor"]
    assert row["entries"] == 0
    assert "it is a link of another user's" in row["fault"]


def test_a_budget_that_is_spent(ask, write, monkeypatch):
    for index in range(30):
        write(f".triton/cache/{HASH[:-2]}{chr(65 + index // 6)}{chr(65 + index % 6)}/cuda_utils.so", OLD)
    monkeypatch.setattr(kernel_caches, "Budget", lambda: _kernel_caches.Budget(files=10))
    told, rows = ask()
    assert told["complete"] is False
    assert 10 <= rows["triton"]["stale_entries"] <= 11
    monkeypatch.setattr(kernel_caches, "Budget", lambda: _kernel_caches.Budget(seconds=0.0))
    assert ask()[0]["complete"] is False


def test_a_cache_that_cannot_be_looked_into(home, ask, refuse):
    (home / ".triton").mkdir()
    refuse(home / ".triton/cache")
    row = ask()[1]["triton"]
    assert "cannot be looked into: Too many levels" in row["fault"]


def test_who_has_kernels_open(home, stack, write):
    kernel = write(f".triton/cache/{HASH}/cuda_utils.so", OLD)
    waiting = "import sys; f = open(sys.argv[1]); print(flush=True); sys.stdin.read()"
    process = subprocess.Popen(
        [sys.executable, "-c", waiting, str(kernel)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        process.stdout.readline()
        environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
        told = kernel_caches.answer({**stack.asked, "holders": True}, Context(environment=environment))
        process.stdin.close()
    assert (process.pid, "triton") in {(row["pid"], row["tool"]) for row in told["holders"]}


def test_no_environment(context, tmp_path):
    told = kernel_caches.answer({"venv": str(tmp_path / "none")}, context())
    assert (told["exists"], told["caches"]) == (False, [])


def test_a_path_of_a_variable_that_is_not_whole():
    rows = _kernel_cache_places.caches({"TRITON_CACHE_DIR": "~/t", "DG_JIT_CACHE_DIR": "dg"}, "/home/ops", "ops")
    assert {"/home/ops/t", "/home/ops/dg"} <= {row.path for row in rows}


class TestClearing:
    def test_what_is_stale_goes_and_nothing_else(self, home, clear, write, capsys, tmp_path):
        outside = tmp_path / "outside"
        outside.write_text("precious")
        os.utime(outside, (OLD, OLD))
        stale = write(f".triton/cache/{HASH}/cuda_utils.so", OLD).parent
        folder = write(f"{VLLM}/rank_0_0/vllm_compile_cache.py", OLD).parent
        (folder / "artifact_shape_None_subgraph_0").symlink_to(outside)
        (folder / "artifact_shape_None_subgraph_1").symlink_to(tmp_path)
        kept = [
            write(f".triton/cache/{HEX}/cuda_utils.so", NEW),
            write(".triton/cache/notes.txt", OLD),
            write(".triton/cache/mine/cuda_utils.so", OLD),
            write(".cache/flashinfer/cubins/x.cubin", OLD),
            write(".cache/pip/http/x", OLD),
        ]
        assert clear() == 0
        assert not stale.exists()
        assert not folder.exists()
        assert all(path.exists() for path in kept)
        assert outside.read_text() == "precious"
        said = capsys.readouterr().out
        assert f"triton: removed 1 entries of {home}/.triton/cache, 1 files" in said
        assert f"vllm: removed 1 entries of {home}/.cache/vllm/torch_compile_cache, 3 files" in said

    @pytest.mark.parametrize("case", MIXED)
    def test_what_is_not_the_tools_alone_is_left_and_told(self, clear, write, capsys, case):
        folder, names, stray = case
        written = [write(f"{folder}/{name}", OLD, content(name)) for name in names]
        assert clear() == 0
        assert all(path.exists() for path in written)
        assert f"{folder} is left: {stray} in it is not" in capsys.readouterr().out

    @pytest.mark.parametrize(("folder", "names"), FOREIGN)
    def test_a_name_alone_is_no_entry(self, clear, write, folder, names):
        written = [write(f"{folder}/{name}", OLD, content(name)) for name in names]
        assert clear() == 0
        assert all(path.exists() for path in written)

    @pytest.mark.parametrize(("folder", "names"), OWN)
    def test_the_tools_own_files_go(self, home, clear, write, folder, names):
        for name in names:
            write(f"{folder}/{name}", OLD, content(name))
        assert clear() == 0
        assert not (home / folder).exists()

    @pytest.mark.parametrize(
        "name",
        [
            "TRITON_CACHE_DIR",
            "TRITON_HOME",
            "TORCH_EXTENSIONS_DIR",
            "FLASHINFER_WORKSPACE_BASE",
            "VLLM_CACHE_ROOT",
            "HOME",
        ],
    )
    def test_the_environment_of_the_step_moves_nothing(self, home, clear, write, name):
        found = write(f".triton/cache/{HASH}/cuda_utils.so", OLD)
        built = write("named/extension/build.ninja", OLD, torch_extension.ninja("extension"))
        kept = [
            write(f"elsewhere/{HASH}/cuda_utils.so", OLD),
            write(f"elsewhere/.triton/cache/{HASH}/cuda_utils.so", OLD),
            write("elsewhere/extension/build.ninja", OLD, torch_extension.ninja("extension")),
            write("elsewhere/.cache/flashinfer/90a/cached_ops/x/x.so", OLD),
            write("elsewhere/torch_compile_cache/0f0f0f0f/x", OLD),
        ]
        variables = {"TORCH_EXTENSIONS_DIR": str(home / "named")}
        assert clear(variables=variables, step={name: str(home / "elsewhere")}) == 0
        assert all(path.exists() for path in kept)
        assert not found.exists()
        assert not built.exists()

    def test_again_there_is_nothing(self, clear, write, ask):
        write(f".triton/cache/{HASH}/cuda_utils.so", OLD)
        assert clear() == 0
        assert ask()[1]["triton"]["entries"] == 0
        assert clear() == 0

    def test_what_cannot_be_removed_is_told(self, clear, write, capsys, monkeypatch):
        write(f".triton/cache/{HASH}/cuda_utils.so", OLD)

        def deny(path, *, dir_fd):
            raise PermissionError(13, "Permission denied", path)

        monkeypatch.setattr(os, "unlink", deny)
        assert clear() == 1
        assert f"{HASH} is not removed: Permission denied" in capsys.readouterr().out

    def test_what_was_removed_in_part_is_told_with_how_much(self, clear, write, capsys, monkeypatch):
        entry = write(f".triton/cache/{HASH}/cuda_utils.so", OLD).parent
        write(f".triton/cache/{HASH}/__triton_launcher.so", OLD)
        real = os.unlink
        gone = []

        def fill(path, *, dir_fd):
            if gone:
                raise OSError(30, "Read-only file system", path)
            real(path, dir_fd=dir_fd)
            gone.append(path)

        monkeypatch.setattr(os, "unlink", fill)
        assert clear() == 1
        said = capsys.readouterr().out
        assert f"{entry} is not removed: {entry}: Read-only file system; 1 of its 2 files are gone" in said
        assert "triton: removed 0 entries" in said

    def test_an_environment_that_says_nothing(self, clear, tmp_path, capsys, stack):
        (stack.packages / "torch/version.py").write_text("nothing\n")
        assert clear() == 1
        assert "what is stale is not known" in capsys.readouterr().out

    def test_no_such_user(self, clear, capsys):
        assert clear(user="nobody-of-that-name") == 1
        assert "there is no user `nobody-of-that-name` on this node" in capsys.readouterr().out

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
    def test_another_users_kernels_go_as_that_user(self, clear, write, stack, passable):
        # The interpreter of the tests may be out of that user's reach; here it only has to be there.
        (stack.path / "bin/python").unlink()
        (stack.path / "bin/python").symlink_to("/bin/sh")
        mine, theirs = write(f"theirs/{HASH}/cuda_utils.so", OLD), write(f"theirs/{HEX}/cuda_utils.so", OLD)
        for path in (theirs, theirs.parent, theirs.parents[1]):
            os.chown(path, 65534, 65534)
        mine.parent.chmod(0o755)
        variables = {"TRITON_CACHE_DIR": str(theirs.parents[1])}
        assert clear(variables=variables, user="nobody") == 1, "what is root's in it is not removed"
        assert not theirs.exists()
        assert mine.exists()
