"""Which CUDA toolkit the user's shells lead to: CUDA_HOME and nvcc, in a login shell and in a non-interactive one.

Asked without arguments. A row of the answer's `shells`:
    {"shell": "login", "program": "/bin/bash", "fault": null, "cuda_home": "/usr/local/cuda",
     "cuda_home_leads_to": "/usr/local/cuda-13.0", "nvcc": "/usr/local/cuda/bin/nvcc", "release": "13.0",
     "nvcc_fault": null}
`cuda_home` is CUDA_HOME, else CUDA_PATH, null where neither is set; `nvcc` is what the shell's search path finds. It
is run, not only looked at: /usr/bin/nvcc may be a script that calls another one. A `fault` leaves the rest null.
"""

from __future__ import annotations

import os
import shutil
from typing import Any

from stackplan.node.context import CannotTell, Context, ProbeFailed
from stackplan.node.queries import _fresh_shells, nvcc


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:  # noqa: ARG001 - every query has this form
    return {"shells": [_row(shell) for shell in _fresh_shells.ask(context)]}


def _row(shell: _fresh_shells.FreshShell) -> dict[str, Any]:
    row = shell.described()
    row.update(cuda_home=None, cuda_home_leads_to=None, nvcc=None, release=None, nvcc_fault=None)
    environment = shell.environment
    if environment is None:
        return row
    home = environment.get("CUDA_HOME") or environment.get("CUDA_PATH")
    if home:
        row.update(cuda_home=home, cuda_home_leads_to=os.path.realpath(home) if os.path.exists(home) else None)
    path = shutil.which("nvcc", path=environment.get("PATH", ""))
    if path is None:
        return row
    row["nvcc"] = path
    try:
        row["release"] = nvcc.answer({"path": path}, Context(environment=environment))["release"]
    except (CannotTell, ProbeFailed) as error:
        row["nvcc_fault"] = error.why
    return row
