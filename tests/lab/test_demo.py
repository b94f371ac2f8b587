"""The demo: all scenes as told, and loud when one is not."""

import io
from dataclasses import replace

import pytest

from stackplan.lab import demo


def test_all_scenes_come_out_as_told(capfd):
    out = io.StringIO()
    assert demo.run(out) == 0, out.getvalue()
    shown = capfd.readouterr()
    assert "Traceback" not in shown.err + shown.out + out.getvalue()
    said = out.getvalue()
    for scene in demo.SCENES:
        assert scene.title in said
        assert f"(exit status {scene.exit_status})" in said
    assert said.count("$ stackplan apply playbooks/") == len(demo.SCENES)
    assert "Add `upgrade: true` at" in said
    assert "torch 2.10.0+cu128 → 2.11.0+cu130" in said
    assert said.rstrip().splitlines()[-1].startswith("✔ All 4 scenes came out as told, in ")


def test_a_scene_that_comes_out_otherwise_fails_the_demo_and_is_named(monkeypatch):
    first = demo.SCENES[0]
    monkeypatch.setattr(demo, "SCENES", (replace(first, exit_status=0, check=demo.went_through),))
    out = io.StringIO()
    assert demo.run(out) == 1
    assert "✘ scene 1: expected exit status 0, observed 3" in out.getvalue()
    assert "✘ scene 1: gpu-01: expected outcome ok, observed failed" in out.getvalue()


def test_a_command_that_breaks_before_its_run_fails_the_demo(monkeypatch):
    monkeypatch.setattr(demo, "SCENES", (replace(demo.SCENES[0], options=("-l", "no-such-node")),))
    out = io.StringIO()
    assert demo.run(out) == 1
    assert "expected exit status 3 and a journal of the run, observed 2 and none" in out.getvalue()


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch):
    """Playbooks are shown as people would type them from here."""
    monkeypatch.chdir(demo.shipped_playbook("cuda13-blackwell.yaml").resolve().parents[1])
