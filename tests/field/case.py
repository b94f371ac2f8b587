"""A case: one report of the field, its playbook, what its node answers, and what has to catch it.

A case is a file of `cases/`, named by the report's number. Each of its `replays` is a playbook (`preconditions`, each
the text of one, and `steps`, without which it is an upgrade of torch to cu130), a `node`, and the list of what has
`caught` it:

    lint: CODE            a rule finds it in the playbook
    finding: CODE         the audit of the node's environment, part of every plan, finds it
    precondition: KIND    the plan says that a precondition does not hold, and a run stops at it
    predicted: KIND       the plan foretells that a condition of this kind will not hold; `action`: that the action
                          fails
    stopped: KIND         the run stops at `step`, with `reason` and often a diagnosis `code`; `action`: the action
                          failed
    differs: TRAIT        the plan of several nodes shows that they differ in it
    harmless: WHY         the run goes through it and ends proven, nothing done twice
    missed: WHY           nothing catches it
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

UPGRADE = """
- id: torch
  python_packages:
    venv: ~/ml-env
    packages: [torch==2.11.0+cu130, torchvision==0.26.0+cu130, torchaudio==2.11.0+cu130]
    index_url: https://download.pytorch.org/whl/cu130
  postconditions:
    - torch: {venv: ~/ml-env, cuda: "13.0"}
"""
"""The step of a replay that is about what comes before any step."""
CU128: Mapping[str, Any] = {
    "packages": {"torch": "2.10.0+cu128", "torchvision": "0.25.0+cu128", "torchaudio": "2.10.0+cu128"},
    "dry_runs": [
        {
            "names": ["torch", "torchvision", "torchaudio"],
            "changes": {"torch": "2.11.0+cu130", "torchvision": "0.26.0+cu130", "torchaudio": "2.11.0+cu130"},
        }
    ],
}
CASES = Path(__file__).parent / "cases"
STAGES = ("lint", "finding", "precondition", "predicted", "stopped", "differs", "harmless", "missed")
BEFORE = frozenset({"lint", "finding", "precondition", "predicted", "differs"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Catch:
    """`what` is the code, kind or word that the stage names; the others are what else has to be so, where stated."""

    stage: str
    what: str
    step: str | None = None
    reason: str | None = None
    code: str | None = None
    remedy: str | None = None
    verdict: str = "not-held"
    observed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """`others` are further nodes, by name."""

    report: int
    number: int
    playbook: str
    node: Mapping[str, Any]
    others: Mapping[str, Mapping[str, Any]]
    caught: tuple[Catch, ...]

    @property
    def id(self) -> str:
        return f"{self.report}-{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    report: int
    name: str
    happens: str
    replays: tuple[Replay, ...]

    @property
    def caught(self) -> tuple[Catch, ...]:
        return tuple(it for replay in self.replays for it in replay.caught)


def cases() -> tuple[Case, ...]:
    """Return all cases, by the numbers of their reports."""
    return tuple(sorted(map(read, CASES.glob("*.yaml")), key=lambda case: case.report))


def read(path: Path) -> Case:
    """Return the case of a file, whose name is the report's number and name."""
    number, _, name = path.stem.partition("-")
    told = yaml.safe_load(path.read_text("utf-8"))
    replays = tuple(_replay(int(number), index, it) for index, it in enumerate(told["replays"], start=1))
    return Case(report=int(number), name=name, happens=told["happens"].strip(), replays=replays)


def _replay(report: int, number: int, told: Mapping[str, Any]) -> Replay:
    before = "".join(f"  - {it}\n" for it in told.get("preconditions", ()))
    before = f"preconditions:\n{before}" if before else ""
    head = f"stackplan: 1\nname: report-{report}\nnodes: all\n{before}steps:\n"
    return Replay(
        report=report,
        number=number,
        playbook=head + "".join(f"  {line}\n" for line in told.get("steps", UPGRADE).splitlines()),
        node={**(CU128 if "steps" not in told else {}), **told.get("node", {})},
        others=told.get("others", {}),
        caught=tuple(map(_catch, told["caught"])),
    )


def _catch(told: Mapping[str, Any]) -> Catch:
    (stage,) = set(told) & set(STAGES)
    return Catch(stage=stage, what=str(told[stage]), **{key: it for key, it in told.items() if key != stage})
