"""Snapshots and rollback over sshd, with real uv: what a run wrote is put back, byte for byte."""

import hashlib

import pytest

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
    """Return what stands in a folder, compiled files left out: mode, time, and digest or target by path."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if "__pycache__" in path.parts:
            continue
        status = path.lstat()
        if path.is_symlink():
            about = path.readlink()
        elif path.is_dir():
            about = None
        else:
            about = (status.st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        found[path.relative_to(folder)] = (status.st_mode, about)
    return found


def strays(node):
    return [path for path in node.sandbox.home.iterdir() if "stackplan" in path.name]


def test_a_step_that_fails_takes_back_what_the_run_wrote(site):
    (node,) = site.nodes.values()
    venv, settings = node.sandbox.home / "ml-env", node.sandbox.home / "settings.ini"
    settings.write_text("old")
    settings.chmod(0o600)
    before = tree(venv)
    outcome = site.apply(site.playbook(BREAKS), check=3)
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
    assert strays(node) == []


def rolled_back(site, run, *words, check=0):
    return site.run("rollback", run, "--yes", "--format", "json", *words, check=check)


def test_a_run_is_taken_back_afterwards_and_proven(site):
    (node,) = site.nodes.values()
    venv = node.sandbox.home / "ml-env"
    before = tree(venv)
    done = site.apply(site.playbook(BREAKS.replace(">=99", ">=0")), check=0)
    assert tree(venv) != before
    # One clone, though two steps write there.
    assert len(strays(node)) == 1
    outcome = rolled_back(site, done.report["run"])
    assert tree(venv) == before
    assert not (node.sandbox.home / "settings.ini").exists()
    assert (outcome.report["command"], outcome.report["outcome"]) == ("rollback", "ok")
    assert outcome.outcomes() == {
        "settings": "rolled-back",
        "torch": "rolled-back",
        "script": "skipped",
        "sglang": "rolled-back",
    }
    moved = {(it["name"], it["after"]) for it in outcome.step("torch")["changes"]}
    assert ("torch", "2.10.0+cu128") in moved
    assert strays(node) == []
    # It is a run of its own, and can be shown; and it can be done again to the same end.
    shown = site.run("show", outcome.report["run"], check=0)
    assert "rolled-back" in shown.stdout or "↩" in shown.stdout
    assert rolled_back(site, done.report["run"]).outcomes()["torch"] == "satisfied"


def test_what_people_did_in_the_environment_since_is_named_and_kept(site):
    (node,) = site.nodes.values()
    venv = node.sandbox.home / "ml-env"
    before = tree(venv)
    done = site.apply(site.playbook(BREAKS.replace(">=99", ">=0")), check=0)
    (venv / "models").mkdir()
    (venv / "models/weights").write_text("precious")
    # In place: a text is copied, so that the snapshot stays what it is.
    module = next(venv.glob("lib/python*/site-packages/torch/__init__.py"))
    with module.open("a") as file:
        file.write("# by hand")
    outcome = rolled_back(site, done.report["run"])
    assert tree(venv) == before
    (kept,) = [path for path in strays(node) if path.name.endswith("-kept")]
    assert (kept / "models/weights").read_text() == "precious"
    assert (kept / module.relative_to(venv)).read_text().endswith("# by hand")
    assert kept.name in outcome.node["message"]
    said = outcome.node["message"]
    assert "changed since the run wrote it: " in said
    assert all(name in said for name in ("models is new", "models/weights is new", "__init__.py: another size"))
    assert outcome.step("settings")["message"].endswith("as before the run")


def test_what_changed_since_cannot_be_proven_and_says_so_first(site):
    (node,) = site.nodes.values()
    done = site.apply(site.playbook(BREAKS.replace(">=99", ">=0")), check=0)
    (clone,) = strays(node)
    # Somebody writes into the clone.
    metadata = next(clone.glob("lib/python*/site-packages/torch-*.dist-info/METADATA"))
    metadata.write_text("Name: torch\nVersion: 6.6.6\n")
    now = tree(node.sandbox.home / "ml-env")
    outcome = rolled_back(site, done.report["run"], check=3)
    assert outcome.node["message"].startswith("THE ROLLBACK FAILED: ")
    assert "not trusted" in outcome.node["message"] or "METADATA" in outcome.node["message"]
    assert str(clone.name) in outcome.node["message"]
    assert tree(node.sandbox.home / "ml-env") == now
    assert outcome.outcomes()["settings"] == "rolled-back"


def test_what_changes_nothing_leaves_no_snapshot(site):
    (node,) = site.nodes.values()
    no_op = BREAKS.replace("      upgrade: true\n", "").replace("on_failure: rollback", "on_failure: stop")
    outcome = site.apply(site.playbook(no_op), check=3)
    assert outcome.node["reason"] == "no-op"
    assert strays(node) == []
    assert site.run("rollback", outcome.report["run"], "--yes", check=0).status == 0


UPGRADE = """
stackplan: 1
name: p
nodes: all
steps:
  - id: torch
    python_packages:
      venv: "{{ venv }}"
      packages: [torch, torchvision, torchaudio]
      index_url: "{{ torch_index }}"
      upgrade: true
    postconditions:
      - package: {venv: "{{ venv }}", name: torch, version: ">=2.11.0.dev0"}
"""


def on_small_disk(node, room):
    """Put the node's environment on a disk of its own, with `room` KiB left, and a link where it was; return both."""
    home = node.sandbox.home
    disk = home / "disk"
    disk.mkdir()
    node.run_as_root("mount", "-t", "tmpfs", "-o", "size=60m,mode=755", "tmpfs", disk)
    node.run_as_root("cp", "-a", home / "ml-env", disk / "ml-env")
    (home / "ml-env").rename(home / "old-env")
    (home / "ml-env").symlink_to(disk / "ml-env")
    script = 'mount -o "remount,size=$(($(df --output=used -k "$0" | tail -1) + $1))k" "$0"'
    node.run_as_root("sh", "-c", script, disk, str(room))
    return disk, node.inside(disk / "ml-env")


def recorded_files(venv):
    """Return the files that installed distributions say that they have."""
    (packages,) = venv.glob("lib/python*/site-packages")
    records = [it / "RECORD" for it in packages.glob("*.dist-info")]
    lines = [line for it in records if it.exists() for line in it.read_text().splitlines()]
    return [packages / line.partition(",")[0] for line in lines] + records


@pytest.mark.usefixtures("needs_isolation")
def test_a_disk_too_small_for_the_snapshot_stops_before_anything_starts(site):
    (node,) = site.nodes.values()
    _, venv = on_small_disk(node, 8)
    before = tree(venv)
    outcome = site.apply(site.playbook(UPGRADE), check=3)
    assert (outcome.node["stopped_at"], outcome.node["reason"]) == ("torch", "precondition")
    assert "no room for a snapshot" in outcome.node["message"]
    assert "8 KiB are free" in outcome.node["message"] or "8.0 KiB are free" in outcome.node["message"]
    assert tree(venv) == before


@pytest.mark.usefixtures("needs_isolation")
def test_a_disk_that_fills_up_during_an_install_is_seen_by_the_next_run_and_taken_back(site):
    (node,) = site.nodes.values()
    disk, venv = on_small_disk(node, 20_000)
    before = tree(venv)
    program = node.sandbox.programs / "uv"
    real = program.resolve()
    program.unlink()
    # Somebody else fills the disk while the installer is at work.
    program.write_text(
        f"""#!/bin/sh
case "$*" in
*--dry-run*) ;;
*"pip install"*) [ -e ~/filled ] || {{ >~/filled; dd if=/dev/zero of={disk}/filler bs=4k status=none \\
    count=$(($(df --output=avail -k {disk} | tail -1) / 4 - 2)); }} ;;
esac
exec {real} "$@"
"""
    )
    program.chmod(0o755)
    # uv installs side by side, so it may fail between two packages; then each of them is whole, or not there.
    for _ in range(8):
        first = site.apply(site.playbook(UPGRADE), check=3)
        assert (first.node["stopped_at"], first.node["reason"]) == ("torch", "action")
        assert "disk" in first.step("torch")["diagnoses"][0]["summary"]
        node.run_as_root("rm", disk / "filler")
        if not all(it.exists() for it in recorded_files(venv)):
            break
        rolled_back(site, first.report["run"])
        assert tree(venv) == before
        (node.sandbox.home / "filled").unlink()
    # There is room again. The retry says that there is nothing to do, and is not believed.
    second = site.apply(site.playbook(UPGRADE), check=3)
    assert second.node["stopped_at"] == "torch"
    (whole,) = [it for it in second.step("torch")["conditions"] if it["kind"] == "environment_intact"]
    assert whole["verdict"] == "not-held"
    rolled_back(site, first.report["run"])
    assert tree(venv) == before


def test_an_installer_that_writes_in_place_is_noticed_and_its_snapshot_not_used(site):
    (node,) = site.nodes.values()
    module = next((node.sandbox.home / "ml-env").glob("lib/python*/site-packages/torch/__init__.py"))
    # It is linked to the cache from which the nodes of other tests are installed: what is written here is to stay here.
    text = module.read_text()
    module.unlink()
    module.write_text(text)
    program = node.sandbox.programs / "uv"
    real = program.resolve()
    program.unlink()
    program.write_text(
        f"""#!/bin/sh
case "$*" in
*--dry-run*) ;;
*"pip install"*) echo '# in place' >>{module} ;;
esac
exec {real} "$@"
"""
    )
    program.chmod(0o755)
    done = site.apply(site.playbook(UPGRADE), check=0)
    (clone,) = strays(node)
    (copy,) = clone.glob("lib/python*/site-packages/torch/__init__.py")
    # A filesystem that shares blocks keeps the clone apart; a hard link is the same file.
    spoiled = "# in place" in copy.read_text()
    assert any("__init__.py" in it["summary"] for it in done.step("torch")["diagnoses"]) is spoiled
    outcome = rolled_back(site, done.report["run"], check=3 if spoiled else 0)
    assert ("THE ROLLBACK FAILED" in (outcome.node["message"] or "")) is spoiled
    assert clone.exists() is spoiled
