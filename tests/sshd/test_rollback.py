"""Snapshots and rollback over sshd, with real uv: what a run wrote is put back, byte for byte."""

import hashlib
import os
from pathlib import Path

BREAKS = """
stackplan: 1
name: p
nodes: all
steps:
  - id: settings
    file: {path: ~/settings.ini, content: "new", mode: "0640"}
    postconditions:
      - file: {path: ~/settings.ini, exists: true}
  - id: torch
    python_packages:
      venv: "{{ venv }}"
      packages: [torch, torchvision, torchaudio]
      index_url: "{{ torch_index }}"
      upgrade: true
    postconditions:
      - torch: {venv: "{{ venv }}", cuda: 13.0}
  - id: script
    run: {script: echo there >~/left-over}
    postconditions:
      - file: {path: ~/left-over, exists: true}
  - id: sglang
    python_packages: {venv: "{{ venv }}", packages: [sglang==0.5.16], index_url: "{{ app_index }}", no_deps: true}
    on_failure: rollback
    postconditions:
      - package: {venv: "{{ venv }}", name: sglang, version: ">=99"}
"""


def tree(folder):
    """Return what stands in a folder, compiled files left out: type, mode, time, and content or target by path."""
    found = {}
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(it for it in folders if it != "__pycache__")
        for name in [*folders, *files]:
            path = os.path.join(root, name)
            status = os.lstat(path)
            if os.path.islink(path):
                about = os.readlink(path)
            elif os.path.isdir(path):
                about = None
            else:
                about = (status.st_mtime_ns, hashlib.sha256(Path(path).read_bytes()).hexdigest())
            found[os.path.relpath(path, folder)] = (status.st_mode, about)
    return found


def test_a_step_that_fails_takes_back_what_the_run_wrote(site):
    (node,) = site.nodes.values()
    venv, settings = node.sandbox.home / "ml-env", node.sandbox.home / "settings.ini"
    settings.write_text("old")
    settings.chmod(0o600)
    before = tree(venv)
    outcome = site.apply(site.playbook(BREAKS), check=3)
    print(outcome.stderr)
    print(outcome.node["message"])
    assert tree(venv) == before
    assert (settings.read_text(), settings.stat().st_mode & 0o777) == ("old", 0o600)
    assert outcome.outcomes() == {
        "settings": "rolled-back",
        "torch": "rolled-back",
        "script": "changed",
        "sglang": "failed",
    }
    assert outcome.node["stopped_at"] == "sglang"
    assert "not taken back: `script`" in outcome.node["message"]
    assert [it.name for it in node.sandbox.home.iterdir() if "stackplan" in it.name] == []
