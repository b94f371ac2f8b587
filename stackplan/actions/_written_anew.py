"""Whether an installer wrote a package anew that ends with the very same files: by the times of the RECORDs. Pure.

A wheel that is installed again leaves the same RECORD, which only its time tells from the one before. It counts for
packages that `reinstall` names, and for no other: a time is another one on every node, and says nothing else.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from stackplan.actions._wishes import Selection
from stackplan.model.change import State
from stackplan.model.facts import Answer, Known, Plain, Query


def record_times_query(venv: str) -> Query:
    return Query("record_times", {"venv": venv})


def told_apart(packages: State, wanted: Selection, answer: Answer) -> State:
    """Return the state of packages with the time at which each was written that `wanted` covers, where it is known."""
    times = _written(answer.value) if isinstance(answer, Known) else {}
    return {
        (kind, name): replace(it, fingerprint=f"{it.fingerprint} {times[name]}")
        if name in times and wanted.covers(name)
        else it
        for (kind, name), it in packages.items()
    }


def foretold_times(answer: Answer, changed: Collection[str], left: Collection[str], token: int) -> Answer:
    """Return what the node would answer once the packages `changed` are written anew; `left` are those that are there.

    `token` tells one round of writing from another.
    """
    if not isinstance(answer, Known) or not isinstance(answer.value, dict):
        return answer
    before = _written(answer.value)
    names = sorted({*before, *changed}.intersection(left))
    written: dict[str, Plain] = {name: [-token] if name in changed else before[name] for name in names}
    return Known({**answer.value, "written": written})


def _written(value: Plain) -> Mapping[str, Plain]:
    written = value.get("written") if isinstance(value, dict) else None
    return written if isinstance(written, dict) else {}
