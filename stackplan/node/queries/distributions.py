"""Which distributions are installed in an environment: their METADATA on disk, read without importing anything.

Asked with `{"venv": "~/ml-env"}` or `{"python": "/usr/bin/python3"}`; the answer's shape stands in
`stackplan/model/distribution.py`. A row whose METADATA cannot be used still stands there, named after its folder, with
`fault` missing-metadata, unreadable-metadata (and the reason in `why`) or incomplete-metadata; `not-utf-8` alone leaves
the row usable. `markers` holds the values of PEP 508's environment markers. What an environment inherits from the
system comes last, without what it has itself.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
from typing import Any

from stackplan.node.context import Context, ProbeFailed
from stackplan.node.plain_file import RECORD_LIMIT, read_plain
from stackplan.node.queries import _environment


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    environment = _environment.find(arguments, context)
    rows = [row for folder in environment.own for row in _rows(folder)]
    own = {canonical(row["name"]) for row in rows}
    inherited = [row for folder in environment.inherited for row in _rows(folder) if canonical(row["name"]) not in own]
    return dict(
        environment.answer(),
        markers=_markers(environment),
        distributions=rows + [dict(row, inherited=True) for row in inherited],
    )


def canonical(name: str) -> str:
    """Return the form in which distribution names are compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def metadata_folders(site_packages: str) -> list[str]:
    """Return the names of the dist-info and egg-info entries, sorted; leftovers (`~orch-…`) are not among them."""
    try:
        names = os.listdir(site_packages)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ProbeFailed(f"cannot look into {site_packages}: {error.strerror}") from error
    return sorted(name for name in names if name.endswith((".dist-info", ".egg-info")) and not name.startswith("~"))


def named_by_folder(folder: str) -> tuple[str, str]:
    """Return name and version as a folder's name gives them: `sgl_kernel-0.3.21+cu130.dist-info`."""
    stem = folder.rsplit(".", 1)[0]
    name, _, rest = stem.partition("-")
    version = re.sub(r"-py\d(\.\d+)?(-.*)?$", "", rest) if folder.endswith(".egg-info") else rest
    return name.replace("_", "-"), version


def headers(text: str) -> dict[str, list[str]]:
    """Return the header fields of METADATA by name in lower case, continuation lines folded; the body is not read."""
    found: dict[str, list[str]] = {}
    last: list[str] | None = None
    for line in map(str.rstrip, text.split("\n")):
        if not line:
            break
        if line[0] in " \t":
            if last:
                last[-1] += " " + line.strip()
            continue
        name, colon, value = line.partition(":")
        last = found.setdefault(name.strip().lower(), []) if colon else None
        if last is not None:
            last.append(value.strip())
    return found


def _rows(site_packages: str) -> list[dict[str, Any]]:
    return [_row(site_packages, folder) for folder in metadata_folders(site_packages)]


def _row(site_packages: str, folder: str) -> dict[str, Any]:
    path = os.path.join(site_packages, folder)
    name, version = named_by_folder(folder)
    row: dict[str, Any] = {
        "name": name,
        "version": version,
        "folder": folder,
        "requires": [],
        "record_sha256": None,
        "fault": None,
    }
    egg = folder.endswith(".egg-info")
    file = path if egg and not os.path.isdir(path) else os.path.join(path, "PKG-INFO" if egg else "METADATA")
    try:
        raw = read_plain(file)
    except FileNotFoundError:
        row["fault"] = "missing-metadata"
    except OSError as error:
        row["fault"] = "unreadable-metadata"
        row["why"] = error.strerror
    else:
        _describe(row, raw)
    if not egg:
        row["record_sha256"] = _sha256(os.path.join(path, "RECORD"))
    return row


def _describe(row: dict[str, Any], raw: bytes) -> None:
    text = raw.decode("utf-8", "replace")
    fields = headers(text)
    names, versions = fields.get("name"), fields.get("version")
    if not (names and names[0] and versions and versions[0]):
        row["fault"] = "incomplete-metadata"
        return
    row["name"], row["version"] = names[0], versions[0]
    row["requires"] = fields.get("requires-dist", [])
    if "�" in text and not _is_utf8(raw):
        row["fault"] = "not-utf-8"


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _sha256(path: str) -> str | None:
    try:
        return hashlib.sha256(read_plain(path, RECORD_LIMIT)).hexdigest()
    except OSError:
        return None


def _markers(environment: _environment.Environment) -> dict[str, str]:
    """Return the marker values of the environment's Python; the machine's are the node program's own."""
    version = environment.python_version or ""
    implementation = environment.implementation
    names = {"cpython": "CPython", "pypy": "PyPy"}
    return {
        "implementation_name": implementation,
        "implementation_version": version,
        "os_name": os.name,
        "platform_machine": platform.machine(),
        "platform_python_implementation": names.get(implementation, implementation),
        "platform_release": platform.release(),
        "platform_system": platform.system(),
        "platform_version": platform.version(),
        "python_full_version": version,
        "python_version": ".".join(version.split(".")[:2]),
        "sys_platform": "linux" if platform.system() == "Linux" else platform.system().lower(),
    }
