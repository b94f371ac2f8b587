"""The value of an expression in a fresh interpreter of an environment.

Asked with `{"venv": …, "expr": "torch.cuda.is_available()", "imports": ["torch"]}`, or `python` instead of `venv`.
`text` is the value as `str` gives it, `type` the name of its type, `truth` what `bool` makes of it (null where it
refuses). An expression that raises has no value: a failure to answer, with the traceback's last line.
"""

from __future__ import annotations

from typing import Any

from stackplan.node.context import Context, ProbeFailed
from stackplan.node.queries import _environment, _interpret

LONGEST = 65536
_CODE = """
import importlib
scope = {}
for name in argument["imports"]:
    importlib.import_module(name)
    scope[name.partition(".")[0]] = sys.modules[name.partition(".")[0]]
value = eval(compile(argument["expr"].strip(), "<expr>", "eval"), scope)
try:
    truth = bool(value)
except Exception:
    truth = None
tell({"text": str(value)[:argument["longest"]], "type": type(value).__name__, "truth": truth})
"""


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    interpreter, told = _environment.runnable(arguments, context)
    if interpreter is None:
        return dict(told, text=None, type=None, truth=None)
    asked = {"expr": arguments["expr"], "imports": arguments.get("imports") or [], "longest": LONGEST}
    try:
        value = _interpret.told(interpreter, _CODE, asked, context)
    except _interpret.Died as error:
        raise ProbeFailed(error.why, error.stderr) from error
    return dict(told, **value)
