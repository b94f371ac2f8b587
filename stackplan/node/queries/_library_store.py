"""What shared libraries state, kept on the node by the RECORD that names them: a look at an environment that did not
change opens none of them.

A row counts only for a file that is still as large, and as old, as when it was read: another package, or a person, may
have written over it and left the RECORD as it was.
"""

from __future__ import annotations

from typing import Any, Dict, List

from stackplan.node.queries._store import Store

STORE = Store("libraries", most=2000, largest=64 * 1024 * 1024)
FORM = 2

Rows = Dict[str, List[Any]]
"""By path as RECORD has it: size, modification time in nanoseconds, and `Elf.plain()`, or None for no ELF file."""


def kept(sha256: str) -> Rows:
    """Return what is kept of the libraries of a RECORD, empty where nothing is."""
    about = STORE.kept(sha256)
    rows = about.get("rows") if isinstance(about, dict) and about.get("form") == FORM else None
    if not isinstance(rows, dict):
        return {}
    return {path: row for path, row in rows.items() if isinstance(row, list) and len(row) == 3}


def keep(sha256: str, rows: Rows) -> None:
    """Keep the rows of a RECORD."""
    STORE.keep(sha256, {"form": FORM, "rows": rows})
