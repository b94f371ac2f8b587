"""Whether a virtual environment is whole on disk: a walk over every RECORD, without starting anything.

Asked with `{"venv": …}` or `{"python": …}`. The answer counts what was found by kind and shows the first of each:
    {"path": …, "exists": true, "environment": true, …, "distributions": 214, "files": 30112, "findings":
       {"missing-file": {"count": 2, "first": [{"distribution": "torch", "path": "torch/b.so", "detail": null}]}}}
Kinds: missing-file, no-plain-file (a folder, a pipe or a device in its place), wrong-size (another size than RECORD
says: a write that was cut short, or a file that something else has written), two-owners (one path in two RECORDs with
different hashes), two-versions (two dist-infos of one name), leftover (`~orch`, which an interrupted removal left),
missing-metadata, missing-record, unreadable. Compiled `__pycache__` files come and go and are not looked at; the same
small file in two wheels (`nvidia/__init__.py`) counts once. Contents are not hashed.
"""

from __future__ import annotations

import csv
import os
import stat
from typing import Any

from stackplan.node.context import Context, ProbeFailed
from stackplan.node.plain_file import RECORD_LIMIT, read_plain
from stackplan.node.queries import _environment
from stackplan.node.queries.distributions import canonical, metadata_folders, named_by_folder
from stackplan.node.record import recorded_rows

SHOWN = 10
_STREWN_FOLDERS = ("tests", "test", "docs", "doc", "examples", "example", "benchmarks", "benchmark")
# What only a build or a test run reads: flashinfer-python 0.7.2 and torch-c-dlpack-ext 0.1.5 bring a build_backend.py.
_STREWN_MODULES = ("build_backend.py", "conftest.py", "setup.py")


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    environment = _environment.find(arguments, context)
    walk = Walk()
    for folder in environment.own:
        walk.site_packages(folder)
    return dict(
        environment.answer(),
        distributions=walk.distributions,
        files=walk.files,
        findings={kind: {"count": len(rows), "first": rows[:SHOWN]} for kind, rows in sorted(walk.found().items())},
    )


class Walk:
    """One walk; every folder is listed once, however many files of it the RECORDs name."""

    def __init__(self) -> None:
        self.distributions = 0
        self.files = 0
        self._findings: dict[str, list[dict[str, str | None]]] = {}
        self._shared: set[str] = set()
        self._short: list[tuple[str, str, str, str]] = []
        self._owners: dict[str, tuple[str, str]] = {}
        self._folders: dict[str, dict[str, os.DirEntry[str]] | None] = {}
        self._packages = ""

    def found(self) -> dict[str, list[dict[str, str | None]]]:
        """Return the findings by kind. Of a file that two distributions wrote, the size can be right for one only."""
        short = [row for row in self._short if row[0] not in self._shared]
        rows: list[dict[str, str | None]]
        rows = [{"distribution": name, "path": path, "detail": detail} for _, name, path, detail in short]
        return {**self._findings, **({"wrong-size": rows} if rows else {})}

    def site_packages(self, folder: str) -> None:
        self._packages = folder
        try:
            names = os.listdir(folder)
        except FileNotFoundError:
            return
        except OSError as error:
            raise ProbeFailed(f"cannot look into {folder}: {error.strerror}") from error
        for name in sorted(names):
            if name.startswith("~"):
                self._found("leftover", named_by_folder(name)[0], name)
        seen: dict[str, str] = {}
        for entry in metadata_folders(folder):
            if not entry.endswith(".dist-info"):
                continue
            self.distributions += 1
            self._distribution(os.path.join(folder, entry), entry, seen)

    def _distribution(self, path: str, entry: str, seen: dict[str, str]) -> None:
        name = named_by_folder(entry)[0]
        if canonical(name) in seen:
            self._found("two-versions", name, entry, f"beside {seen[canonical(name)]}")
        seen[canonical(name)] = entry
        self._papers(path, entry, name)

    def _papers(self, path: str, entry: str, name: str) -> None:
        """Look for METADATA, and follow RECORD."""
        try:
            read_plain(os.path.join(path, "METADATA"))
        except FileNotFoundError:
            self._found("missing-metadata", name, entry + "/METADATA")
        except OSError as error:
            self._found("unreadable", name, entry + "/METADATA", error.strerror)
        try:
            raw = read_plain(os.path.join(path, "RECORD"), RECORD_LIMIT)
            self._record(raw.decode("utf-8", "surrogateescape"), name)
        except FileNotFoundError:
            self._found("missing-record", name, entry + "/RECORD")
        except (OSError, csv.Error) as error:
            self._found("unreadable", name, entry + "/RECORD", str(getattr(error, "strerror", error)))

    def _record(self, text: str, name: str) -> None:
        for recorded, digest, size in recorded_rows(text):
            self.files += 1
            self._file(recorded, digest, size, name)

    def _file(self, recorded: str, digest: str, size: str, name: str) -> None:
        path = os.path.join(self._packages, recorded)
        if ".." in recorded:
            path = os.path.normpath(path)
        owner = self._owners.setdefault(path, (name, digest))
        if owner[0] != name and not (digest and owner[1] == digest):
            self._shared.add(path)
            if not strewn(recorded):
                self._found("two-owners", name, recorded, f"also written by {owner[0]}")
        folder, _, base = path.rpartition("/")
        entries = self._listed(folder, name)
        if entries is None:
            return
        try:
            status = entries[base].stat()
        except (KeyError, FileNotFoundError):
            self._found("missing-file", name, recorded)
        except OSError as error:
            self._found("unreadable", name, recorded, error.strerror)
        else:
            if not stat.S_ISREG(status.st_mode):
                self._found("no-plain-file", name, recorded)
            elif size.isdigit() and status.st_size != int(size):
                self._short.append((path, name, _shown(recorded), f"{status.st_size} bytes instead of {size}"))

    def _listed(self, folder: str, name: str) -> dict[str, os.DirEntry[str]] | None:
        """Return the entries of a folder by name, none when it does not exist, None when it may not be looked into."""
        if folder not in self._folders:
            try:
                with os.scandir(folder) as entries:
                    self._folders[folder] = {entry.name: entry for entry in entries}
            except (FileNotFoundError, NotADirectoryError):
                self._folders[folder] = {}
            except OSError as error:
                self._folders[folder] = None
                self._found("unreadable", name, folder, error.strerror)
        return self._folders[folder]

    def _found(self, kind: str, distribution: str, path: str, detail: str | None = None) -> None:
        row = {"distribution": distribution, "path": _shown(path), "detail": detail}
        self._findings.setdefault(kind, []).append(row)


def strewn(path: str) -> bool:
    """Return whether a wheel dropped this beside its packages by oversight: a `tests` folder, a README, a setup.py.

    Nothing is loaded from there, and wheels that overwrite each other's do no harm by it.
    """
    top, slash, _ = path.partition("/")
    if slash:
        return top in _STREWN_FOLDERS
    return path in _STREWN_MODULES or not path.endswith((".py", ".so", ".pth"))


def _shown(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
