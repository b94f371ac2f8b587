"""Installed Python distributions, as the query `distributions` answers them.

Shape of a Known answer:
    {"path": "/home/ops/ml-env", "exists": true, "environment": true, "python_version": "3.11.7",
     "interpreter": "/home/ops/ml-env/bin/python", "site_packages": ["…"],
     "distributions": [{"name": "torch", "version": "2.10.0+cu128", "folder": "torch-2.10.0+cu128.dist-info",
                        "requires": ["filelock"], "record_sha256": "…" or null, "fault": null}],
     "markers": {"python_version": "3.11", …}}
`environment` false: the folder exists but is no virtual environment; `exists` false: there is none. In both cases
`distributions` is empty. Names and versions are those of METADATA, which need not agree with the wheel's file name;
where METADATA cannot be used they are those of the folder, and `fault` says why: missing-metadata, unreadable-metadata,
incomplete-metadata. (`not-utf-8` leaves them usable.) `markers` holds the values of environment markers (PEP 508).
"""

from dataclasses import dataclass
from functools import lru_cache

from packaging.utils import canonicalize_name

from stackplan.model.change import Held, State
from stackplan.model.facts import Answer, Known, Query


@dataclass(frozen=True, slots=True)
class Distribution:
    name: str
    version: str
    folder: str
    requires: tuple[str, ...]
    record_sha256: str | None
    fault: str | None = None

    @property
    def canonical(self) -> str:
        return canonical_name(self.name)


@lru_cache(maxsize=16384)
def canonical_name(name: str) -> str:
    """Return the name as indexes have it; a fleet has few names, and each is asked for very often."""
    return canonicalize_name(name)


def distributions_query(*, venv: str | None = None, python: str | None = None) -> Query:
    """Return the question for the distributions of a virtual environment's folder, or of an interpreter."""
    return Query("distributions", {"venv": venv} if venv is not None else {"python": python})


def distributions(answer: Known) -> tuple[Distribution, ...]:
    """Return the distributions of a Known answer, in its order; one name may stand more than once (a broken venv)."""
    return _read(_Same(answer))


@dataclass(frozen=True, slots=True, eq=False)
class _Same:
    """An answer as a key: the very same one, since what it holds is not compared fast."""

    answer: Known

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.answer is self.answer

    def __hash__(self) -> int:
        return id(self.answer)


# Every condition on an environment reads the same answer.
@lru_cache(maxsize=64)
def _read(same: _Same) -> tuple[Distribution, ...]:
    value = same.answer.value
    assert isinstance(value, dict)
    rows = value["distributions"]
    assert isinstance(rows, list)
    found = []
    for row in rows:
        assert isinstance(row, dict)
        requires = row.get("requires")
        record = row.get("record_sha256")
        found.append(
            Distribution(
                name=str(row["name"]),
                version=str(row["version"]),
                folder=str(row["folder"]),
                requires=tuple(str(item) for item in requires) if isinstance(requires, list) else (),
                record_sha256=str(record) if record is not None else None,
                fault=str(row["fault"]) if row.get("fault") is not None else None,
            )
        )
    return tuple(found)


def package_state(answer: Answer) -> State:
    """Return the state ("package", name) → version of an answer; empty when it is not Known."""
    if not isinstance(answer, Known):
        return {}
    state: dict[tuple[str, str], Held] = {}
    for it in distributions(answer):
        key = ("package", it.canonical)
        before = state.get(key)
        text = it.version if before is None else f"{before.text}, {it.version}"
        state[key] = Held(text, f"{before.fingerprint if before else ''}{it.folder}:{it.record_sha256}")
    return state
