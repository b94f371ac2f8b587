"""What the CUDA compiler of a toolkit says of itself.

Asked with `{"prefix": "/usr/local/cuda-13.0"}` or `{"path": "/usr/bin/nvcc"}`. `exists` false: there is none. The
output that is understood (CUDA 13.0; a wrapper script may print lines before it):
    Cuda compilation tools, release 13.0, V13.0.88
    Build cuda_13.0.r13.0/compiler.36424714_0
"""

from __future__ import annotations

import os
import re
from typing import Any

from stackplan.node.context import CannotTell, Context, ProbeFailed

_RELEASE = re.compile(r"^Cuda compilation tools, release (\d+\.\d+), V(\d+(?:\.\d+)+)\s*$", re.MULTILINE)


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    given = arguments.get("path")
    path = context.expand(given or os.path.join(arguments["prefix"], "bin", "nvcc"))
    told: dict[str, Any] = {"path": path, "exists": False, "leads_to": None, "release": None, "version": None}
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return dict(told, leads_to=os.path.realpath(path) if os.path.islink(path) else None)
    except OSError as error:
        raise ProbeFailed(f"cannot look at {path}: {error.strerror}") from error
    ran = context.run([path, "--version"])
    if ran.exit_code != 0:
        raise ProbeFailed(f"{path} --version ended with exit status {ran.exit_code}", ran.error_text())
    match = _RELEASE.search(ran.text())
    if match is None:
        raise CannotTell(f"{path} --version does not name a release as nvcc does")
    return dict(told, exists=True, release=match.group(1), version=match.group(2))
