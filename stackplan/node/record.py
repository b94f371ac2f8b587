"""RECORD: which files an installer wrote for a distribution, with digest and size."""

from __future__ import annotations

import csv
from typing import Iterator


def recorded_rows(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield path, digest and size of the files that a RECORD names, compiled ones left out. Raise csv.Error.

    virtualenv lists the folders of compiled files as well, where it puts pip into an environment.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    # Splitting at commas is right, and fast, for all but the few paths that hold a comma or a quote.
    rows = list(csv.reader(lines)) if '"' in text else [line.rsplit(",", 2) for line in lines]
    for row in rows:
        if len(row) == 3 and not row[0].endswith(("/", ".pyc", "/__pycache__")) and "__pycache__/" not in row[0]:
            yield row[0], row[1], row[2]
