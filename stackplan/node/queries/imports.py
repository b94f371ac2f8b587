"""Which modules import, each in a fresh interpreter of its own: what one module loads must not help the next.

Asked with `{"venv": …, "modules": ["torch"]}`, or `python` instead of `venv`. `modules` in the answer holds null for a
module that imports, else one line: the traceback's last, or the signal that ended the interpreter.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from stackplan.node.context import Context
from stackplan.node.queries import _environment, _interpret

# A large package takes seconds and a gigabyte to import: a few at a time, and not all.
TOGETHER = 4
_CODE = """
import importlib
importlib.import_module(argument)
tell(None)
"""


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    interpreter, told = _environment.runnable(arguments, context)
    names = [str(name) for name in arguments["modules"]]
    if interpreter is None:
        return dict(told, modules={})
    with ThreadPoolExecutor(max_workers=TOGETHER) as pool:
        lines = list(pool.map(lambda name: _line(interpreter, name, context), names))
    return dict(told, modules=dict(zip(names, lines)))


def _line(interpreter: str, name: str, context: Context) -> str | None:
    try:
        _interpret.told(interpreter, _CODE, name, context)
    except _interpret.Died as error:
        return error.why
    return None
