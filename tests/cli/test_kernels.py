"""Kernel caches from end to end, with this machine as the node: foretold, removed, proven, and then satisfied.

The torch is a stand-in: an environment with a torch/version.py and metadata, and nothing to import.
"""

import json
import os
import venv
from pathlib import Path

import pytest

HASH = "4XQ7" * 13
OLD = 1_000_000_000
PLAYBOOK = """\
stackplan: 1
name: kernels
nodes: all
steps:
  - id: kernels
    why: what was compiled for the old torch is loaded again without a word
    clear_caches: {venv: ~/ml-env}
    env: {TRITON_CACHE_DIR: ~/elsewhere}
    postconditions:
      - file: {path: ~/ml-env}
  - id: proof
    checkpoint: {}
    postconditions:
      - no_stale_caches: {venv: ~/ml-env}
"""


@pytest.fixture
def home(environment):
    """A home with an environment, a kernel from before it, one from after it, one that only the step's `env` names."""
    home = Path(environment["HOME"])
    venv.create(home / "ml-env", with_pip=False, symlinks=True)
    (packages,) = (home / "ml-env").glob("lib/python*/site-packages")
    for name, text in {
        "torch/version.py": "__version__ = '2.11.0+cu130'\ncuda = '13.0'\n",
        "torch-2.11.0+cu130.dist-info/METADATA": "Metadata-Version: 2.4\nName: torch\nVersion: 2.11.0+cu130\n",
        "torch-2.11.0+cu130.dist-info/RECORD": "",
    }.items():
        (packages / name).parent.mkdir(exist_ok=True)
        (packages / name).write_text(text)
    kernels = {f".triton/cache/{HASH}": OLD, f".triton/cache/{'0f' * 32}": 4_000_000_000, f"elsewhere/{HASH}": OLD}
    for name, age in kernels.items():
        kernel = home / name / "cuda_utils.so"
        kernel.parent.mkdir(parents=True)
        kernel.write_bytes(bytes(2048))
        os.utime(kernel, (age, age))
    return home


def test_stale_kernels_go_and_the_others_stay(stackplan, project, home):
    (project / "kernels.yaml").write_text(PLAYBOOK)
    temporary = {"TMPDIR": str(home)}

    ended = stackplan("verify", "kernels.yaml", "--local", **temporary)
    assert ended.returncode == 3, ended.stderr
    observed = f"1 entry (2.0 KiB) in {home}/.triton/cache: older than torch 2.11.0+cu130"
    assert observed in " ".join(ended.stdout.split())

    ended = stackplan("plan", "kernels.yaml", "--local", "--format", "json", **temporary)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    first, second = json.loads(ended.stdout)["nodes"][0]["steps"]
    assert first["outcome"] == "would-change"
    assert first["predicted"] == [
        {"kind": "cache", "name": f"{home}/.triton/cache", "before": "2 files (4.0 KiB)", "after": "1 file (2.0 KiB)"}
    ]
    kernel = f"{home}/.triton/cache/{HASH} (2.0 KiB, written 2001-09-09)"
    assert first["details"] == [f"- {kernel}"]
    assert second["outcome"] == "satisfied"
    shown = stackplan("plan", "kernels.yaml", "--local", **temporary).stdout
    assert kernel in " ".join(shown.split())
    assert (home / ".triton/cache" / HASH).exists(), "a plan changes nothing"

    ended = stackplan("apply", "kernels.yaml", "--local", "--yes", "--format", "json", **temporary)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    step = json.loads(ended.stdout)["nodes"][0]["steps"][0]
    assert (step["outcome"], step["changes"]) == ("changed", first["predicted"])
    assert [path.name for path in (home / ".triton/cache").iterdir()] == ["0f" * 32]
    assert (home / "elsewhere" / HASH / "cuda_utils.so").exists(), "no plan named it"

    ended = stackplan("apply", "kernels.yaml", "--local", "--yes", "--format", "json", **temporary)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert [step["outcome"] for step in json.loads(ended.stdout)["nodes"][0]["steps"]] == ["satisfied", "satisfied"]


def test_behind_a_step_that_writes_into_the_environment_what_is_stale_now_is_named(stackplan, project, home):
    (packages,) = (home / "ml-env").glob("lib/python*/site-packages")
    before = f"""\
  - id: path
    why: the team's own modules are found by it
    file: {{path: {packages}/team.pth, content: "/srv/team\\n"}}
    postconditions:
      - file: {{path: {packages}/team.pth}}
"""
    (project / "kernels.yaml").write_text(PLAYBOOK.replace("steps:\n", f"steps:\n{before}"))
    ended = stackplan("plan", "kernels.yaml", "--local", "--format", "json", TMPDIR=str(home))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    step = json.loads(ended.stdout)["nodes"][0]["steps"][1]
    assert (step["id"], step["outcome"], step["predicted"]) == ("kernels", "unknown", None)
    assert step["details"] == [
        "as things stand now this is stale:",
        f"- {home}/.triton/cache/{HASH} (2.0 KiB, written 2001-09-09)",
        "by then more may be, of what is in",
        f"  {home}/.triton/cache (2 entries (4.0 KiB))",
    ]
    shown = stackplan("plan", "kernels.yaml", "--local", TMPDIR=str(home)).stdout
    assert f"{home}/.triton/cache/{HASH}" in "".join(shown.split())
