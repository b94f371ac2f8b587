"""Installed Python distributions, as the query `distributions` answers them.

Shape of a Known answer:
    {"path": "/home/ops/ml-env", "exists": true, "environment": true, "python_version": "3.11.7",
     "interpreter": "/home/ops/ml-env/bin/python", "site_packages": ["…"],
     "distributions": [{"name": "torch", "version": "2.10.0+cu128", "folder": "torch-2.10.0+cu128.dist-info",
                        "requires": ["filelock"], "record_sha256": "…" or null, "fault": null}],
     "markers": {"python_version": "3.11", …}}
`environment` false: the folder exists but is no virtual environment; `exists` false: there is none. In both cases
`distributions` is empty. Names and versions are those of METADATA, which need not agree with the wheel's file name;
where METADATA cannot be used they are those of the folder, and `fault` says why: missing-metadata, unreadable-metadata
(then `why` holds the reason, such as "not a regular file"), incomplete-metadata. (`not-utf-8` leaves them usable.)
`markers` holds the values of environment markers (PEP 508). `through` are the links on the way to `path` and its end,
where there are any.
"""

from functools import lru_cache
from types import MappingProxyType

from stackplan.model.change import Held, State
from stackplan.model.facts import Answer, Known, Plain, Query
from stackplan.model.frozen import dataclass
from stackplan.model.pep503 import canonical_name
from stackplan.model.same import Same

_KEPT = 64
"""Environments that are kept at hand, read: a plan goes back and forth between a few at a time."""


@dataclass(frozen=True, slots=True)
class Distribution:
    name: str
    version: str
    folder: str
    requires: tuple[str, ...]
    record_sha256: str | None
    fault: str | None = None
    why: str | None = None

    @property
    def canonical(self) -> str:
        return canonical_name(self.name)


def distributions_query(*, venv: str | None = None, python: str | None = None) -> Query:
    """Return the question for the distributions of a virtual environment's folder, or of an interpreter."""
    return Query("distributions", {"venv": venv} if venv is not None else {"python": python})


def distributions(answer: Known) -> tuple[Distribution, ...]:
    """Return the distributions of a Known answer, in its order; one name may stand more than once (a broken venv)."""
    return _read(_rows(answer))


def named(answer: Known, canonical: str) -> tuple[Distribution, ...]:
    """Return the distributions of that canonical name in a Known answer, in its order."""
    return _by_name(_rows(answer)).get(canonical, ())


def _rows(answer: Known) -> Same[list[Plain]]:
    """Return the rows as a key: nodes whose answers differ in a path alone share them where they were recorded."""
    value = answer.value
    assert isinstance(value, dict)
    rows = value["distributions"]
    assert isinstance(rows, list)
    return Same(rows)


@lru_cache(maxsize=_KEPT)
def _by_name(rows: Same[list[Plain]]) -> dict[str, tuple[Distribution, ...]]:
    found: dict[str, tuple[Distribution, ...]] = {}
    for it in _read(rows):
        found[it.canonical] = (*found.get(it.canonical, ()), it)
    return found


# Every condition on an environment reads the same answer.
@lru_cache(maxsize=_KEPT)
def _read(rows: Same[list[Plain]]) -> tuple[Distribution, ...]:
    found = []
    for row in rows.it:
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
                why=str(row["why"]) if row.get("why") is not None else None,
            )
        )
    return tuple(found)


def package_state(answer: Answer) -> State:
    """Return the state ("package", name) → version of an answer; empty when it is not Known."""
    return _state(_rows(answer)) if isinstance(answer, Known) else {}


@lru_cache(maxsize=_KEPT)
def _state(rows: Same[list[Plain]]) -> State:
    state: dict[tuple[str, str], Held] = {}
    for it in _read(rows):
        key = ("package", it.canonical)
        before = state.get(key)
        text = it.version if before is None else f"{before.text}, {it.version}"
        state[key] = Held(text, f"{before.fingerprint if before else ''}{it.folder}:{it.record_sha256}")
    return MappingProxyType(state)
