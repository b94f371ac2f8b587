"""Which variables of an environment an audit tells of, and what of their values may be seen.

Nothing that may let somebody in leaves the node: of a variable whose name speaks of a secret only the name is told,
of an address neither its login nor what stands behind its question mark.
"""

from __future__ import annotations

import re
from typing import Iterable, Mapping

MOST_VARIABLES = 200
MOST_CHARACTERS = 300
_FAMILIES = ("UV_", "PIP_", "FLASHINFER_", "TORCH_", "TORCHINDUCTOR_", "TRITON_")
_NAMES = frozenset(
    {
        "CONDA_DEFAULT_ENV",
        "CONDA_PREFIX",
        "CUDA_HOME",
        "CUDA_PATH",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "PYTHONHOME",
        "PYTHONPATH",
        "TMPDIR",
        "VIRTUAL_ENV",
        "XDG_CACHE_HOME",
        "http_proxy",
        "https_proxy",
        "no_proxy",
        "all_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "ALL_PROXY",
    }
)
_SECRET = re.compile(r"TOKEN|KEY|PASSW|SECRET|CREDENTIAL|AUTH|USERNAME", re.IGNORECASE)
_LOGIN = re.compile(r"(?<=://)\S*@")
_QUESTION = re.compile(r"(://[^\s?#]*)\?\S*")


def telling(variables: Mapping[str, str]) -> dict[str, str]:
    """Return those of a command's variables that may surprise a playbook, with what may be seen of them."""
    names = [name for name in variables if name in _NAMES or name.startswith(_FAMILIES)]
    return {readable(name): masked(name, variables[name]) for name in sorted(names)[:MOST_VARIABLES]}


def masked(name: str, value: str) -> str:
    """Return what may be seen of a variable's value; of a long one the beginning."""
    if _SECRET.search(name):
        return "***"
    # Masked before it is cut, for a login that is cut off no longer ends in an @.
    text = _QUESTION.sub(r"\1?***", _LOGIN.sub("***@", readable(value)))
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + "…"


def readable(text: str) -> str:
    """Return text with the bytes replaced that are not UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def parsed(block: bytes) -> dict[str, str]:
    """Return the variables of what `env -0` prints, in the form of `os.environ`."""
    return dict(_pairs(os_text(it) for it in block.split(b"\0")))


def os_text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _pairs(lines: Iterable[str]) -> Iterable[tuple[str, str]]:
    for line in lines:
        name, equals, value = line.partition("=")
        if equals and name:
            yield name, value
