"""The figures of docs/playbooks.md, from the playbooks themselves: what each step does, and what proves it.

`python -m tests.playbooks.page` prints the page's tables as they have to be.
"""

import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "playbooks"
_NOT_A_KIND = ("name", "message", "within", "recheck")
_NOT_AN_ACTION = ("id", "name", "why", "when", "preconditions", "postconditions", "timeout", "become", "user")


def playbooks():
    """Return the documents of the shipped playbooks by name, those of the examples left out."""
    return {path.stem: yaml.safe_load(path.read_text()) for path in sorted(FOLDER.glob("*.yaml"))}


def figure(document):
    """Return a playbook's table: a line a step, and before them what has to hold first."""
    rows = [("", "before the first step", kinds(document.get("preconditions", [])))]
    for step in document["steps"]:
        (action,) = [key for key in step if key not in _NOT_AN_ACTION]
        named = f"`{step['id']}`" + (f" (where `{step['when']}`)" if "when" in step else "")
        rows.append((named, f"`{action}`", kinds(step["postconditions"])))
    lines = [f"| {' | '.join(row)} |" for row in rows if row[2]]
    return "\n".join(["| step | does | proven by |", "| --- | --- | --- |", *lines]) + "\n"


def kinds(conditions):
    """Return the kinds in the order in which they are stated, with how often each is."""
    found = {}
    for condition in conditions:
        (kind,) = [key for key in condition if key not in _NOT_A_KIND]
        if kind in ("any", "all"):
            kind = f" {'or' if kind == 'any' else 'and'} ".join(f"`{next(iter(it))}`" for it in condition[kind])
        else:
            kind = f"`{kind}`"
        found[kind] = found.get(kind, 0) + 1
    return ", ".join(kind if number == 1 else f"{number} of {kind}" for kind, number in found.items())


if __name__ == "__main__":
    for name, document in playbooks().items():
        sys.stdout.write(f"## {name}\n\n{figure(document)}\n")
