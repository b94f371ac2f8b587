"""Where uv would take packages from, read from what `uv pip compile --format pylock.toml` prints.

Python 3.8 has no TOML reader, and only names and addresses are wanted of this output (uv 0.13.9):
    [[packages]]
    name = "torch"
    version = "2.11.0+cu130"
    wheels = [{ url = "https://…/torch-2.11.0%2Bcu130-cp311-…-x86_64.whl", hashes = { sha256 = "…" } }, …]
"""

from __future__ import annotations

import json
import platform
import re
import urllib.parse

_TEXT = r'"(?:[^"\\]|\\.)*"'
_PLACE = re.compile(rf'\b(?:url|path) = ({_TEXT})(?:[^{{}}]*hashes = \{{ sha256 = "([0-9a-f]{{64}})")?')
_NAME = re.compile(rf"^name = ({_TEXT})", re.MULTILINE)


def places(text: str, python_version: str) -> dict[str, tuple[str, str]]:
    """Return by canonical name the address or path that fits this machine and Python best, wheels before sources, with
    its SHA-256, or an empty text where the lock has none.
    """
    found = {}
    for block in re.split(r"^\[\[packages\]\]\s*$", text, flags=re.MULTILINE)[1:]:
        name = _NAME.search(block)
        offered = [(str(json.loads(place)), digest) for place, digest in _PLACE.findall(block)]
        if name and offered:
            found[str(json.loads(name.group(1)))] = min(offered, key=lambda it: _distance(it[0], python_version))
    return found


def _distance(place: str, python_version: str) -> tuple[int, int]:
    """Return how far a file is from what this machine would take; what several wheels of one version say is alike."""
    file = urllib.parse.unquote(urllib.parse.urlsplit(place).path).rpartition("/")[2]
    if not file.endswith(".whl"):
        return (9, 9)
    python, abi, system = file[: -len(".whl")].split("-")[-3:]
    here = system == "any" or ("linux" in system and system.endswith(platform.machine()))
    tag = "cp" + "".join(python_version.split(".")[:2])
    fits = tag in python.split(".") or abi == "abi3" or python.startswith("py")
    return (0 if here else 1, 0 if fits else 1)
