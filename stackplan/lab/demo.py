"""`stackplan demo`: the whole story, told by the real command line on simulated nodes over real SSH.

Each scene is a command that a person could type. Its output is shown as it comes; what came of it is read from
the run's journal and held against what the scene tells, so that a demo which does not show what it says fails.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TextIO

from stackplan.engine.fold import fold
from stackplan.engine.journal import read
from stackplan.lab.laboratory import Lab, running_lab
from stackplan.lab.scene import (
    Scene,
    mismatches,
    nothing_ran,
    stopped_as_no_op,
    stopped_as_regression,
    went_through,
)
from stackplan.lab.shipped import shipped_playbook
from stackplan.model.report import Report

NODES = 2
SCENES = (
    Scene(
        "a step that does nothing",
        "The torch step names the CUDA 13.0 index and forgets `upgrade`. The installer will exit 0 all the same.",
        "examples/torch-without-upgrade.yaml",
        exit_status=3,
        check=stopped_as_no_op,
        nodes=1,
        options=("-l", "gpu-01"),
    ),
    Scene(
        "the upgrade, proven step by step",
        "The shipped playbook: first on one node, then on the others.",
        "cuda13-blackwell.yaml",
        exit_status=0,
        check=went_through,
        nodes=NODES,
    ),
    Scene(
        "the same again",
        "Everything holds already, so nothing runs.",
        "cuda13-blackwell.yaml",
        exit_status=0,
        check=nothing_ran,
        nodes=NODES,
    ),
    Scene(
        "a later step that undoes an earlier one",
        "Installing an application puts an old torch back. The installer will exit 0, and the application is there.",
        "examples/torch-pulled-back.yaml",
        exit_status=3,
        check=stopped_as_regression,
        nodes=1,
        options=("-l", "gpu-01"),
    ),
)


def run(out: TextIO) -> int:
    """Play all scenes on a lab of its own and return 0 if each came out as told, else 1."""
    began = time.monotonic()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="stackplan-demo-")))
        _say(out, f"Starting {NODES} simulated nodes and a package index on this machine…")
        lab = stack.enter_context(running_lab(NODES, folder / "lab"))
        failures = []
        for number, scene in enumerate(SCENES, 1):
            failures += [f"scene {number}: {it}" for it in _play(scene, number, lab, folder / f"state-{number}", out)]
    _say(out, "")
    for failure in failures:
        _say(out, f"✘ {failure}")
    if not failures:
        _say(out, f"✔ All {len(SCENES)} scenes came out as told, in {time.monotonic() - began:.0f} s.")
    return 1 if failures else 0


def _play(scene: Scene, number: int, lab: Lab, state: Path, out: TextIO) -> Iterator[str]:
    """Show a scene's command and its output; yield what did not come out as told."""
    playbook = shipped_playbook(scene.playbook)
    words = ("apply", str(playbook), "-i", str(lab.inventory), *scene.options, "--yes")
    _say(out, f"\n━━ {number}  {scene.title}\n   {scene.story}\n\n$ stackplan {' '.join(words)}\n")
    status = _show([sys.executable, "-m", "stackplan", *words], {**os.environ, "STACKPLAN_STATE": str(state)}, out)
    _say(out, f"\n(exit status {status})")
    report = last_report(state)
    if report is None:
        yield f"expected exit status {scene.exit_status} and a journal of the run, observed {status} and none"
    else:
        yield from mismatches(scene, status, report)


def _show(argv: list[str], environment: Mapping[str, str], out: TextIO) -> int:
    """Run a command and pass its output on; a terminal is handed over, so that progress looks as it does for people."""
    if out.isatty():
        return subprocess.run(argv, env=environment, check=False).returncode
    with subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout
        for line in process.stdout:
            _say(out, line.decode(errors="replace").rstrip("\n"))
    return process.returncode


def last_report(state: Path) -> Report | None:
    """Return what the newest run in a state folder came to, from its journal; None when there is none."""
    journals = sorted((state / "runs").glob("*/events.jsonl"))
    return fold(read(journals[-1])) if journals else None


def _say(out: TextIO, text: str) -> None:
    out.write(f"{text}\n")
    out.flush()
