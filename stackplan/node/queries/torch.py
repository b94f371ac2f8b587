"""What the installed torch says of itself in `torch/version.py`, read without importing torch.

Asked with `{"venv": …}` or `{"python": …}`. `installed` tells whether the file is there. The file, in torch 2.10:
    __version__ = '2.10.0+cu128'
    cuda: Optional[str] = '12.8'
    hip: Optional[str] = None
"""

from __future__ import annotations

import ast
import os
from typing import Any

from stackplan.node.context import CannotTell, Context, ProbeFailed
from stackplan.node.plain_file import read_plain
from stackplan.node.queries import _environment


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    environment = _environment.find(arguments, context)
    told: dict[str, Any] = dict(environment.answer(), installed=False, file=None, version=None, cuda=None)
    for folder in environment.own + environment.inherited:
        path = os.path.join(folder, "torch", "version.py")
        raw = _read(path)
        if raw is None:
            continue
        stated = constants(raw, path)
        for name in ("__version__", "cuda"):
            if name not in stated:
                raise CannotTell(f"{path} does not assign `{name}`")
        return dict(told, installed=True, file=path, version=stated["__version__"], cuda=stated["cuda"])
    return told


def _read(path: str) -> bytes | None:
    """Return a file's bytes, None when there is none."""
    try:
        return read_plain(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ProbeFailed(f"cannot read {path}: {error.strerror}") from error


def constants(raw: bytes, path: str) -> dict[str, Any]:
    """Return the names that a module's top level assigns a text or None to. Raise CannotTell when it is no Python."""
    try:
        tree = ast.parse(raw)
    except (SyntaxError, ValueError) as error:
        raise CannotTell(f"{path} is not readable as Python: {error}") from error
    found: dict[str, Any] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            targets, value = statement.targets, statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets, value = [statement.target], statement.value
        else:
            continue
        if isinstance(value, ast.Constant) and (value.value is None or isinstance(value.value, str)):
            found.update({target.id: value.value for target in targets if isinstance(target, ast.Name)})
    return found
