"""A node that is told what it answers: before anything is done, and after each step.

What a case does not tell is unknown to it, so nothing holds by oversight. `facts` names cases of `tests/facts`, which
hold what nodes truly answer; `packages` stands for all that a node tells of an environment with these packages. The
questions named in `really` are put to the node program itself, which finds the `files` and `programs` of the case.
"""

import copy
import importlib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from stackplan.connection.failure import ConnectionLost
from stackplan.connection.holders import Holders
from stackplan.model.arguments import Value
from stackplan.model.facts import Answer, Failed, Known, Query, Unknown
from stackplan.model.job import Absent, Ended, Ending, Exited, Rebooted, Signalled, TimedOut, Whereabouts
from stackplan.node.context import CannotTell, Context, ProbeFailed
from tests.actions.conftest import installer_answer
from tests.audit.conftest import healthy

FACTS = Path(__file__).parents[1] / "facts"
HEAD: dict[str, Any] = {
    "path": "/home/ops/ml-env",
    "exists": True,
    "environment": True,
    "interpreter": "/home/ops/ml-env/bin/python",
    "interpreter_fault": None,
    "python_version": "3.11.7",
    "site_packages": ["/home/ops/ml-env/lib/python3.11/site-packages"],
}
ROOM = {"state": "/home/ops/.local/state/stackplan/gpu-01/snapshots", "kept": False, "was": "environment", "rooms": []}
MARKERS = {
    "implementation_name": "cpython",
    "implementation_version": "3.11.7",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "platform_release": "6.8.0-45-generic",
    "platform_system": "Linux",
    "platform_version": "#45-Ubuntu SMP",
    "python_full_version": "3.11.7",
    "python_version": "3.11",
    "sys_platform": "linux",
}


class ToldNode:
    """The node, and a session with it. `starts` counts how often each job was started."""

    def __init__(self, told: Mapping[str, Any], folder: Path) -> None:
        self.folder = folder
        self.really: tuple[str, ...] = tuple(told.get("really", ()))
        for name, text in told.get("files", {}).items():
            path = folder / "root" / name.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        for name, text in told.get("programs", {}).items():
            path = folder / "bin" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"#!/bin/sh\n{text}", "utf-8")
            path.chmod(0o755)
        self.layers: list[Mapping[str, Any]] = [told]
        self.steps: Mapping[str, Mapping[str, Any]] = told.get("steps", {})
        self.starts: dict[str, int] = {}
        self.endings: dict[str, tuple[bytes, Ending]] = {}
        self.kept: list[dict[str, Any]] = []
        self.drops = int(told.get("drops", 0))
        """So many times the connection is lost while a job is watched."""

    def ask(self, queries: Any) -> dict[Query, Answer]:
        return {query: self.answer(query) for query in queries}

    def answer(self, query: Query) -> Answer:
        """Return what was told last of a question, else what follows from the packages, else that it is unknown."""
        for layer in reversed(self.layers):
            for row in _rows(layer):
                if _fits(row, query):
                    return _answer(row)
        if query.kind in self.really:
            return self._asked(query)
        return (
            self._of_packages(query) or self._of_settings(query) or Unknown(f"the report does not say ({query.kind})")
        )

    def _asked(self, query: Query) -> Answer:
        """Return what the node program makes of the files and programs of this node."""
        module = importlib.import_module(f"stackplan.node.queries.{query.kind}")
        environment = {"HOME": str(self.folder), "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin"}
        try:
            context = Context(root=str(self.folder / "root"), environment=environment)
            return Known(module.answer(dict(query.arguments), context))
        except CannotTell as error:
            return Unknown(error.why)
        except ProbeFailed as error:
            return Failed(error.why, error.stderr)

    def _of_settings(self, query: Query) -> Answer | None:
        if query.kind == "environment_audit":
            return Known(merged(healthy(), self._laid("audit")))
        if query.kind == "snapshot_room":
            self.kept.append({"path": query.arguments["path"], "complete": True})
            return Known({**ROOM, "path": str(query.arguments["path"])})
        if query.kind == "snapshots":
            return Known([*self.kept])
        if query.kind == "installer":
            return Known(installer_answer(**self._laid("installer"))) if self._told("packages", "installer") else None
        if query.kind != "dry_run":
            return None
        found = [it for layer in self.layers for it in layer.get("dry_runs", ())]
        rows = [it for it in found if list(query.arguments["names"]) == it["names"]]  # type: ignore[arg-type]
        return Known(self._dry_run(rows[-1])) if rows else None

    def _of_packages(self, query: Query) -> Answer | None:
        if not self._told("packages"):
            return None
        packages = self.packages
        if query.kind == "distributions":
            return Known(
                {**HEAD, "markers": MARKERS, "distributions": [_row(name, it) for name, it in packages.items()]}
            )
        if query.kind == "records":
            found = [layer["findings"] for layer in self.layers if "findings" in layer]
            findings = {
                kind: {"count": len(rows), "first": rows} for kind, rows in (found[-1] if found else {}).items()
            }
            return Known({**HEAD, "distributions": len(packages), "files": 9000, "findings": findings})
        if query.kind == "imports" and self._told("imports"):
            return Known({**HEAD, "modules": self._laid("imports")})
        return Known(_torch(packages.get("torch"))) if query.kind == "torch" else None

    @property
    def packages(self) -> dict[str, Any]:
        every = self._laid("packages").items()
        return {name: it if isinstance(it, dict) else {"version": str(it)} for name, it in every if it is not None}

    def _told(self, *keys: str) -> bool:
        return any(key in layer for layer in self.layers for key in keys)

    def _laid(self, key: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for layer in self.layers:
            found.update(layer.get(key, {}))
        return found

    def _dry_run(self, told: Mapping[str, Any]) -> dict[str, Any]:
        before = {name: str(it["version"]) for name, it in self.packages.items()}
        after = told.get("changes", {})
        changes = [{"name": name, "before": before.get(name), "after": version} for name, version in after.items()]
        requires = told.get("requires", {})
        about = {
            name: {**_row(name, {"version": version, "requires": requires.get(name, [])}), "why": None}
            for name, version in after.items()
            if version is not None
        }
        refused = told.get("refused")
        if refused is not None:
            refused = {"stage": "install", "reason": str(refused["output"]).splitlines()[0], "exit_code": 1, **refused}
        return {"refused": refused, "changes": changes, "metadata": about, "made": None, "index_findings": []}

    def start(self, work: Any) -> object:
        # What the engine starts on its own account, to drop a snapshot, belongs to no step.
        step = self.steps[work.step] if work.step is not None else {}
        if work.name not in self.starts:
            self.starts[work.name] = 1
            self.layers.append(step)
            self.endings[work.name] = (_output(step), _ending(step))
        return object()

    def watch(self, name: str, on_output: Any, *, patience_s: float | None = None) -> Ending:
        output, ending = self.endings[name]
        if self.drops:
            self.drops -= 1
            on_output(output[: len(output) // 2])
            raise ConnectionLost("the connection was cut")
        on_output(output)
        return ending

    def terminate(self, name: str, grace_s: float) -> None:
        raise AssertionError(f"{name} was to end by itself")

    def find(self, name: str) -> Whereabouts:
        return Ended(self.endings[name][1]) if name in self.endings else Absent()

    def lock(self, owner: object, began: object = None, *, again: bool = False) -> None:
        return None

    def holders(self) -> Holders:
        return Holders(held=False)

    def record(self, entry: object) -> None:
        return None

    def close(self) -> None:
        return None


def merged(under: Any, over: Any) -> Any:
    """Return data with other data laid over it, mapping by mapping; lists are replaced."""
    if not (isinstance(under, dict) and isinstance(over, dict)):
        return over
    return {**under, **{key: merged(under.get(key), it) for key, it in over.items()}}


def _rows(layer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from layer.get("answers", ())
    for name in layer.get("facts", ()):
        yield from _recorded(name)


@cache
def _recorded(name: str) -> tuple[Mapping[str, Any], ...]:
    return tuple(json.loads((FACTS / f"{name}.json").read_text("utf-8"))["answers"])


def _fits(row: Mapping[str, Any], query: Query) -> bool:
    """Return whether a row answers a question: its kind, and every argument that the row states."""
    stated = row.get("arguments", {})
    return row["kind"] == query.kind and all(frozen(it) == query.arguments.get(key) for key, it in stated.items())


def _answer(row: Mapping[str, Any]) -> Answer:
    if "known" in row:
        return Known(copy.deepcopy(row["known"]))
    return Unknown(row["unknown"]) if "unknown" in row else Failed(row["failed"], row.get("stderr", ""))


def frozen(value: Any) -> Value:
    """Return JSON data as the language hands arguments over: lists as tuples."""
    if isinstance(value, list):
        return tuple(map(frozen, value))
    return {key: frozen(it) for key, it in value.items()} if isinstance(value, dict) else value


def _row(name: str, about: Mapping[str, Any]) -> dict[str, Any]:
    version = about["version"]
    return {
        "name": name,
        "version": version,
        "folder": f"{name.replace('-', '_')}-{version}.dist-info",
        "requires": list(about.get("requires", ())),
        "requires_python": None,
        "provides_extra": [],
        "record_sha256": "0" * 64,
        "fault": None,
    }


def _torch(about: Mapping[str, Any] | None) -> dict[str, Any]:
    if about is None:
        return {**HEAD, "installed": False}
    label = about["version"].partition("+")[2]
    cuda = about.get("cuda") or (f"{label[2:-1]}.{label[-1]}" if label.startswith("cu") else None)
    file = f"{HEAD['site_packages'][0]}/torch/version.py"
    return {**HEAD, "installed": True, "file": file, "version": about["version"], "cuda": cuda}


def _output(step: Mapping[str, Any]) -> bytes:
    return bytes.fromhex(step["bytes"]) if "bytes" in step else str(step.get("output", "")).encode()


def _ending(step: Mapping[str, Any]) -> Ending:
    if "rebooted" in step:
        return Rebooted(*step["rebooted"])
    if "signal" in step:
        return Signalled(step["signal"])
    return TimedOut(step["timed_out"]) if "timed_out" in step else Exited(step.get("exit", 0))
