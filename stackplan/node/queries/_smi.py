"""Asking nvidia-smi, whose errors come on the standard output and whose fields depend on the driver's age.

True samples: `0, GPU-5c…, 580.95.05, 12.0, 97887, Enabled, …` for a row; `Field "compute_cap" is not a valid field to
query.` (exit status 2) from a 470 driver; `No devices were found` (0 or 6); `Failed to initialize NVML: Driver/library
version mismatch` (18); `NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver…` (9).
"""

from __future__ import annotations

import re

from stackplan.node.context import CannotTell, Context, ProbeFailed

TIMEOUT_S = 60.0
_REFUSED = re.compile(r'^Field "([^"]+)" is not a valid field to query', re.MULTILINE)
_NOTHING = re.compile(r"^No (devices were|running (compute )?process(es)?) found\.?$", re.IGNORECASE)
_ABSENT = re.compile(r"^\[?(N/A|Not Supported|Not Available)\]?$", re.IGNORECASE)


def rows(what: str, fields: list[str], context: Context) -> list[dict[str, str | None]]:
    """Return one mapping of field to text for each line of `--query-<what>`; None where it says that it has no value.

    A field that this nvidia-smi does not know is left out and missing in the rows. The last field may hold commas.
    Raise CannotTell where there is no nvidia-smi or it knows none of the fields, ProbeFailed for a failure of it or a
    line that is no row.
    """
    program = context.which("nvidia-smi")
    if program is None:
        raise CannotTell(f"there is no nvidia-smi on the search path of {context.user}")
    asked = list(fields)
    while True:
        argv = [program, "--query-{}={}".format(what, ",".join(asked)), "--format=csv,noheader,nounits"]
        ran = context.run(argv, timeout_s=TIMEOUT_S)
        refused = _REFUSED.search(ran.text() + "\n" + ran.error_text())
        if refused is None:
            break
        if asked == [refused.group(1)]:
            raise CannotTell(f"this nvidia-smi is too old to know the field {refused.group(1)}")
        if refused.group(1) not in asked:
            raise ProbeFailed(f"nvidia-smi does not know the field {refused.group(1)}", ran.error_text())
        asked.remove(refused.group(1))
    lines = [line.strip() for line in ran.text().splitlines() if line.strip()]
    if not lines and ran.exit_code == 0 and what == "gpu":
        raise ProbeFailed("nvidia-smi printed nothing", ran.error_text())
    if lines and all(_NOTHING.match(line) for line in lines):
        return []
    if ran.exit_code != 0:
        said = lines[0] if lines else ran.error_text().strip().partition("\n")[0]
        raise ProbeFailed(f"nvidia-smi ended with exit status {ran.exit_code}: {said}", ran.error_text())
    return [_row(line, asked) for line in lines if not line.upper().startswith("WARNING")]


def _row(line: str, fields: list[str]) -> dict[str, str | None]:
    parts = [part.strip() for part in line.split(",", len(fields) - 1)]
    if len(parts) != len(fields):
        raise ProbeFailed(f"nvidia-smi answered with a line that is no row: {line}")
    return {field: None if _ABSENT.match(part) else part for field, part in zip(fields, parts)}
