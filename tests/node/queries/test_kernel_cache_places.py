"""Ways to a cache: links on them, exchanges behind one's back, and folders in it that nobody may look into."""

import os
import shutil
from pathlib import Path

import pytest

from stackplan.node import own_way, removal
from stackplan.node.queries import _kernel_caches
from tests.node.queries import torch_extension
from tests.node.queries.kernels import GENERATED, HASH, HEX, NEW, OLD


@pytest.fixture
def close(monkeypatch):
    """Return what makes a folder one that cannot be looked into, for root neither."""
    closed = set()
    scan, names = os.scandir, os.listdir

    def refusing(look):
        def at(path):
            if str(path) in closed:
                raise PermissionError(13, "Permission denied", path)
            return look(path)

        return at

    monkeypatch.setattr(os, "scandir", refusing(scan))
    monkeypatch.setattr(os, "listdir", refusing(names))
    return lambda path: closed.add(str(path))


class TestLinks:
    def test_a_link_of_the_users_own_leads_to_the_cache(self, home, ask, clear, write, tmp_path):
        """Many have ~/.cache on another disk."""
        (tmp_path / "data").mkdir()
        (home / ".cache").symlink_to(tmp_path / "data")
        old = write(".cache/torch_extensions/py311_cu130/fused/fused.so", OLD)
        write(".cache/torch_extensions/py311_cu130/fused/build.ninja", OLD, torch_extension.ninja("fused"))
        row = ask()[1]["torch_extensions"]
        assert (row["stale_entries"], row["path"]) == (1, f"{home}/.cache/torch_extensions")
        assert row["real"] == f"{tmp_path}/data/torch_extensions"
        assert [it["path"] for it in row["stale"]] == [f"{tmp_path}/data/torch_extensions/py311_cu130/fused"]
        assert clear() == 0
        assert not old.exists()
        assert (home / ".cache").is_symlink()

    def test_a_folder_of_a_cache_may_itself_be_a_link(self, home, ask, clear, tmp_path, write):
        write(f".triton/cache/{HASH}/cuda_utils.so", OLD)
        shutil.move(home / ".triton/cache", tmp_path / "kernels")
        (home / ".triton/cache").symlink_to("../../kernels")
        assert ask()[1]["triton"]["real"] == f"{tmp_path}/kernels"
        assert clear() == 0
        assert list((tmp_path / "kernels").iterdir()) == []

    @pytest.mark.parametrize("link", [f".triton/cache/{HASH}", ".cache/torch_extensions/py311_cu130"])
    def test_a_link_inside_a_cache_is_not_followed(self, home, ask, clear, write, link):
        write("elsewhere/k.cubin", OLD)
        built = write("elsewhere/fused/build.ninja", OLD, torch_extension.ninja("fused"))
        (home / link).parent.mkdir(parents=True)
        (home / link).symlink_to(home / "elsewhere")
        assert sum(row["entries"] for row in ask()[1].values()) == 0
        assert clear() == 0
        assert built.exists()
        assert (home / link).is_symlink()

    def test_without_a_link_there_is_one_place(self, ask, write):
        write(f".triton/cache/{HASH}/cuda_utils.so", OLD)
        assert ask()[1]["triton"]["real"] is None

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a link away")
    def test_a_link_of_another_users_on_the_way_is_not_followed(self, home, ask, clear, write, capsys):
        kernel = write(f"data/triton/{HASH}/cuda_utils.so", OLD)
        (home / "way").symlink_to("data")
        os.chown(home / "way", 65534, 65534, follow_symlinks=False)
        variables = {"TRITON_CACHE_DIR": str(home / "way/triton")}
        row = ask(**variables)[1]["triton"]
        assert (row["entries"], row["real"]) == (0, None)
        why = f"{home}/way/triton cannot be looked into: {home}/way is a link of another user's"
        assert row["fault"] == why
        assert clear(variables=variables) == 1
        assert kernel.exists()
        assert why in capsys.readouterr().out

    @pytest.mark.parametrize("path", ["a/../b/./c", "b/c/", "up/c", "chain/c"])
    def test_where_a_path_ends(self, tmp_path, path):
        for name in ("a", "b/c"):
            (tmp_path / name).mkdir(parents=True)
        (tmp_path / "up").symlink_to(f"../{tmp_path.name}/b")
        (tmp_path / "chain").symlink_to(tmp_path / "up")
        assert own_way.resolve(f"{tmp_path}/{path}") == f"{tmp_path}/b/c"

    def test_links_in_a_circle_end_nowhere(self, tmp_path):
        (tmp_path / "x").symlink_to("y")
        (tmp_path / "y").symlink_to("x")
        with pytest.raises(OSError, match="Too many levels"):
            own_way.resolve(f"{tmp_path}/x")


class TestBlindFolders:
    @pytest.mark.parametrize(
        "case",
        [
            (f"tmp/torchinductor_{{user}}/ab/{GENERATED}", "tmp/torchinductor_{user}/cd"),
            (f"tmp/torchinductor_{{user}}/ab/{GENERATED}", "tmp/torchinductor_{user}/fxgraph"),
            (f"tmp/torchinductor_{{user}}/ab/{GENERATED}", "tmp/torchinductor_{user}/triton"),
            (f"tmp/torchinductor_{{user}}/triton/0/{HASH}/cuda_utils.so", "tmp/torchinductor_{user}/triton/1"),
            (f".triton/cache/{HASH}/cuda_utils.so", f".triton/cache/{HEX}"),
            (".cache/flashinfer/0.6.14/90a/cached_ops/x/x.so", ".cache/flashinfer/0.6.13"),
            (".cache/flashinfer/0.6.14/90a/cached_ops/x/x.so", ".cache/flashinfer/0.6.14/100a"),
            (
                ".cache/vllm/torch_compile_cache/0f0f0f/rank_0/vllm_compile_cache.py",
                ".cache/vllm/torch_compile_cache/torch_aot_compile",
            ),
            (".deep_gemm/cache/kernel.a.1/kernel.cubin", ".deep_gemm/cache/kernel.b.2"),
            (f".tilelang/cache/{HEX}/kernel_lib.so", ".tilelang/cache/0.1.9"),
            (".cache/torch_extensions/py311_cu130/fused/build.ninja", ".cache/torch_extensions/py312_cu130"),
        ],
    )
    def test_it_is_named_and_the_rest_is_judged(self, ask, write, close, case):
        kernel, closed = case
        user = ask()[0]["user"]
        old = write(kernel.format(user=user), OLD, torch_extension.ninja("fused"))
        blind = Path(str(old).removesuffix(kernel.format(user=user))) / closed.format(user=user)
        blind.mkdir(parents=True)
        close(blind)
        (row,) = (row for row in ask()[1].values() if row["blind"])
        assert (row["fault"], row["stale_entries"]) == (None, 1)
        assert (row["blind"], row["blind_folders"]) == ([f"{blind}: Permission denied"], 1)

    def test_the_rest_is_cleared_and_it_is_told(self, home, clear, write, close, capsys):
        old = write(f".triton/cache/{HASH}/cuda_utils.so", OLD)
        blind = home / f".triton/cache/{HEX}"
        blind.mkdir()
        close(blind)
        assert clear() == 0
        assert not old.parent.exists()
        assert f"{blind} is left: it cannot be looked into: Permission denied" in capsys.readouterr().out

    def test_what_can_hold_no_kernels_does_not_matter(self, home, ask, write, close):
        write(f".triton/cache/{HASH}/cuda_utils.so", NEW)
        (home / ".triton/cache/lost+found").mkdir()
        close(home / ".triton/cache/lost+found")
        row = ask()[1]["triton"]
        assert (row["fault"], row["entries"], row["blind"]) == (None, 1, [])

    def test_a_blind_part_of_an_entry_leaves_the_entry_open(self, home, ask, write, close):
        write(".cache/flashinfer/0.6.14/90a/cached_ops/x/x.so", NEW)
        blind = home / ".cache/flashinfer/0.6.14/90a/generated"
        blind.mkdir()
        close(blind)
        row = ask()[1]["flashinfer"]
        assert (row["stale_entries"], row["mixed_entries"]) == (0, 0)
        assert row["blind"] == [f"{blind}: Permission denied"]

    @pytest.mark.parametrize("enters", [False, True])
    def test_what_only_another_user_may_enter_is_of_no_use_to_the_tools(self, ask, write, close, monkeypatch, enters):
        blind = write(f".triton/cache/{HASH}/cuda_utils.so", NEW).parents[1] / HEX
        blind.mkdir()
        close(blind)
        real = os.lstat

        def owned_by_another(path):
            status = real(path)
            return os.stat_result([*status[:4], 12345, *status[5:]]) if os.fspath(path) == str(blind) else status

        monkeypatch.setattr(os, "lstat", owned_by_another)
        monkeypatch.setattr(os, "access", lambda path, mode: enters)
        assert ask()[1]["triton"]["blind"] == ([f"{blind}: Permission denied"] if enters else [])

    def test_a_cache_that_is_blind_itself_is_at_fault(self, home, ask, write, close):
        write(f".triton/cache/{HASH}/cuda_utils.so", OLD)
        close(home / ".triton/cache")
        assert "cannot be looked into: Permission denied" in ask()[1]["triton"]["fault"]


class TestExchanges:
    """Somebody is at work in the folders above while a cache is cleared."""

    @pytest.fixture
    def meanwhile(self, monkeypatch):
        """Return what has something done between the look at an entry and its removal."""
        real = removal.remove

        def before(deed):
            def remove(root, name, listing):
                deed()
                real(root, name, listing)

            monkeypatch.setattr(removal, "remove", remove)

        return before

    def test_a_link_in_the_place_of_a_cache_leads_nowhere(self, home, clear, write, meanwhile, tmp_path):
        judged = write(f".triton/cache/{HASH}/cuda_utils.so", OLD)
        precious = tmp_path / f"precious/cache/{HASH}/cuda_utils.so"
        precious.parent.mkdir(parents=True)
        shutil.copy2(judged, precious)

        def swap():
            (home / ".triton").rename(home / "aside")
            (home / ".triton").symlink_to(tmp_path / "precious")

        meanwhile(swap)
        assert clear() == 0
        assert precious.exists()
        assert list((home / "aside/cache").iterdir()) == [], "the judged one went, wherever it is by now"

    def test_what_is_put_beside_kernels_keeps_them(self, clear, write, meanwhile, capsys):
        kernel = write(f".triton/cache/{HASH}/cuda_utils.so", OLD)
        meanwhile(lambda: (kernel.parent / "notes.txt").write_text("mine"))
        assert clear() == 1
        assert sorted(path.name for path in kernel.parent.iterdir()) == ["cuda_utils.so", "notes.txt"]
        told = f"{kernel.parent} is not removed: {kernel.parent}/notes.txt changed after it was looked at"
        assert told in capsys.readouterr().out


def test_each_stale_entry_is_named_the_largest_first(ask, write, monkeypatch):
    monkeypatch.setattr(_kernel_caches, "MOST_NAMED", 3)
    for size in range(1, 16):
        write(f".triton/cache/{HASH[:-1]}{chr(64 + size)}/cuda_utils.so", OLD - size, bytes(size))
    row = ask()[1]["triton"]
    assert row["stale_entries"] == 15
    assert [(it["bytes"], it["written"]) for it in row["stale"]] == [(size, OLD - size) for size in (15, 14, 13)]
    assert row["stale"][0]["path"] == f"{row['path']}/{HASH[:-1]}O"


def test_somebody_elses_old_notes_make_no_kernel_old(ask, write):
    write(f".triton/cache/{HASH}/cuda_utils.so", NEW)
    write(f".triton/cache/{HASH}/notes.txt", OLD)
    write(f".triton/cache/{HASH}/mine/notes.cubin", OLD)
    row = ask()[1]["triton"]
    assert (row["entries"], row["stale_entries"], row["mixed_entries"]) == (1, 0, 0)


def test_all_that_is_not_the_tools_is_named(home, ask, write):
    place = ".cache/vllm/torch_compile_cache/0f0f0f/rank_0_0"
    write(f"{place}/vllm_compile_cache.py", OLD)
    for name in ("notes.txt", "train.parquet"):
        write(f"{place}/{name}", OLD)
    row = ask()[1]["vllm"]
    assert (row["stale_entries"], row["mixed_entries"], row["stray_count"]) == (0, 1, 2)
    assert row["strays"] == [f"{home}/{place}/notes.txt", f"{home}/{place}/train.parquet"]
