"""What an offline plan of a fleet costs: 200 recorded nodes, each with other free space, on the shipped playbook.

    python benchmarks/offline_plan.py [--nodes 200] [--distributions 150] [--rounds 5] [--homes]

Records a node of the lab and writes its facts once for each node of the fleet: with as many distributions in its
environment, all of them satisfied, and free space of its own. With `--homes` each node's folders are its own, too, so
that hardly an answer is the same on two of them. Measures the whole process of `stackplan plan --facts` and of
`stackplan diff --facts`, prints the median of each, and exits with 1 when the plan took more than 2 seconds or the
diff more than 4. With `--homes` nothing is demanded.
"""

import argparse
import copy
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from stackplan.lab.laboratory import running_lab

MOST_S = {"plan": 2.0, "diff": 4.0}
PLAYBOOK = Path(__file__).parent.parent / "playbooks" / "cuda13-blackwell.yaml"
CHANGED = ("sglang_version: 0.5.16", "sglang_version: 0.5.15")
NAME = "gpu-01"
INDENT = 6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--distributions", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--homes", action="store_true", help="Give each node folders of its own.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        _record(place)
        names = [f"gpu-{number:03d}" for number in range(given.nodes)]
        _fleet(place, names, given.distributions, homes=given.homes)
        took_s = {word: _median_s(line, place, given.rounds) for word, line in _lines(place).items()}
    print(f"{given.nodes} nodes, at least {given.distributions} distributions each, Python {sys.version.split()[0]}")
    for word, seconds in took_s.items():
        print(f"{word}: {seconds:.2f} s ({seconds / given.nodes * 1000:.1f} ms a node), at most {MOST_S[word]:.0f} s")
    return 1 if not given.homes and any(seconds > MOST_S[word] for word, seconds in took_s.items()) else 0


def _record(place: Path) -> None:
    """Record the facts of a node of the lab, and keep its inventory: the dry runs were asked with its addresses."""
    with running_lab(nodes=1) as lab:
        inventory = lab.inventory.read_text()
        (place / "one.yaml").write_text(inventory)
        _run(["facts", str(PLAYBOOK), "-i", str(lab.inventory), "-o", str(place / "one")], place)


def _fleet(place: Path, names: list[str], distributions: int, *, homes: bool) -> None:
    head = (place / "one.yaml").read_text().partition(f"{' ' * INDENT}{NAME}:")[0]
    nodes = "".join(f"{' ' * INDENT}{name}: {{host: 127.0.0.1}}\n" for name in names)
    (place / "fleet.yaml").write_text(head + nodes)
    one = json.loads((place / "one" / f"{NAME}.json").read_text())
    (place / "facts").mkdir()
    for number, name in enumerate(names):
        facts = _node(one, name, number, distributions)
        text = json.dumps(facts, indent=2, sort_keys=True)
        (place / "facts" / f"{name}.json").write_text(text.replace(f"/{NAME}/", f"/{name}/") if homes else text)


def _node(one: dict[str, Any], name: str, number: int, distributions: int) -> dict[str, Any]:
    """Return the facts of a node that has other free space than all others."""
    facts = copy.deepcopy(one)
    facts["node"] = name
    for row in facts["answers"]:
        told = row["answer"].get("known")
        if row["query"]["kind"] == "disk":
            told["free_bytes"] += number * 4096
        elif row["query"]["kind"] == "distributions":
            there = told["distributions"]
            there += [_distribution(it) for it in range(distributions - len(there))]
    return facts


def _distribution(number: int) -> dict[str, Any]:
    """Return a distribution that asks for three others, which are there."""
    return {
        "name": f"filler-{number}",
        "version": f"1.{number}.0",
        "folder": f"filler_{number}-1.{number}.0.dist-info",
        "requires": [f"filler-{number // part}>=1.0; python_version >= '3.8'" for part in (2, 3, 5)],
        "record_sha256": f"{number:064x}",
        "fault": None,
    }


def _lines(place: Path) -> dict[str, list[str]]:
    """Return the command lines by their word; the diff's two playbooks stand apart by a version."""
    text = PLAYBOOK.read_text()
    old, new = place / "old.yaml", place / "new.yaml"
    old.write_text(text)
    new.write_text(text.replace(*CHANGED))
    where = ["-i", str(place / "fleet.yaml"), "--facts", str(place / "facts"), "--format", "markdown"]
    return {"plan": ["plan", str(old), *where], "diff": ["diff", str(old), str(new), *where]}


def _median_s(line: list[str], place: Path, rounds: int) -> float:
    took_s = []
    for number in range(rounds + 1):
        started = time.perf_counter()
        _run(line, place)
        # The first round fills caches.
        if number:
            took_s.append(time.perf_counter() - started)
    return statistics.median(took_s)


def _run(line: list[str], place: Path) -> None:
    """Run stackplan. Exit status 3 (a step would fail) is no error here: what an old version's dry run says is open."""
    environment = {**os.environ, "STACKPLAN_STATE": str(place / "state")}
    done = subprocess.run(
        [sys.executable, "-m", "stackplan", *line], check=False, capture_output=True, text=True, env=environment
    )
    if done.returncode not in (0, 3):
        raise SystemExit(f"stackplan {line[0]} exited with {done.returncode}:\n{done.stderr}")


if __name__ == "__main__":
    sys.exit(main())
