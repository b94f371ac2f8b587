"""For which GPU architectures the installed torch has compiled code, asked of torch itself in a fresh interpreter.

Asked with `{"venv": …}` or `{"python": …}`. `archs` as torch 2.10.0+cu128 gives it: ["sm_70", "sm_75", "sm_80",
"sm_86", "sm_90", "sm_100", "sm_120"]; the list is compiled in and needs no GPU. An import that fails is a failure to
answer.
"""

from __future__ import annotations

from typing import Any

from stackplan.node.context import Context, ProbeFailed
from stackplan.node.queries import _environment, _interpret

_CODE = """
import torch
flags = getattr(getattr(torch, "_C", None), "_cuda_getArchFlags", None)
found = flags() if flags is not None else None
tell(found.split() if found else list(torch.cuda.get_arch_list()))
"""


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    interpreter, told = _environment.runnable(arguments, context)
    if interpreter is None:
        return dict(told, archs=None)
    try:
        return dict(told, archs=_interpret.told(interpreter, _CODE, None, context))
    except _interpret.Died as error:
        raise ProbeFailed(f"import torch: {error.why}", error.stderr) from error
