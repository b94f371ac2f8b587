"""How the node program gets onto a node: one shell command line, and the bundle that is sent after it.

The command line has to pass through any login shell (fish, tcsh, nushell), so what stands between its single quotes
holds no single quote, backslash, exclamation mark or newline. The bundle is all of `stackplan/node/` as source text,
compressed; it is imported from memory, nothing is written to the node's disk.
"""

from __future__ import annotations

import re
import zlib
from typing import Mapping

# Runs before anything is read, so that a Python that is too old can be passed over. No quotes, see above.
BOOT = (
    "import sys,zlib;sys.version_info<(3,8)and sys.exit(99);"
    "i=sys.stdin.buffer;exec(zlib.decompress(i.read(int(i.readline()))))"
)
TOO_OLD = 99
REPORT = "stackplan-boot:"
# A plain interpreter first: the shim of pyenv, which tends to come first on the search path, costs 60 ms.
_CANDIDATES = (
    "/usr/bin/python3 /usr/local/bin/python3 python3 python3.14 python3.13 python3.12 python3.11 python3.10"
    " python3.9 python3.8 /usr/libexec/platform-python"
)
_UNQUOTABLE = re.compile(r"['\"\\!`$\x00-\x1f]")

_LOADER = '''
import importlib.util, sys
class _Bundle:
    """Finds the modules of the bundle, which live in memory alone."""
    sources = SOURCES
    def find_spec(self, name, path=None, target=None):
        if name not in self.sources:
            return None
        package = any(other.startswith(name + ".") for other in self.sources)
        return importlib.util.spec_from_loader(name, self, origin="<" + name + ">", is_package=package)
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        exec(compile(self.sources[module.__name__], "<" + module.__name__ + ">", "exec"), module.__dict__)
    def get_source(self, name):
        return self.sources.get(name)
sys.meta_path.insert(0, _Bundle())
import stackplan.node.entry
stackplan.node.entry.main()
'''


class PythonUnusable(ValueError):
    """The path that the inventory gives for the node's Python cannot stand in the command line."""


def bundle(sources: Mapping[str, str]) -> bytes:
    """Return what BOOT reads: a line with the length, then the compressed sources of the modules, by full name."""
    packed = zlib.compress(f"SOURCES = {dict(sources)!r}\n{_LOADER}".encode("utf-8", "surrogatepass"), 6)
    return b"%d\n" % len(packed) + packed


def shell_command(python: str | None = None, *, become: bool = False) -> str:
    """Return the command line that finds a Python on the node and starts BOOT in it.

    `python`, where given, is the only one tried. `become` runs it under `sudo -n`, unless the login is root already.
    Where no Python will do, the command prints lines that begin with REPORT and exits 97 (96: no sudo).
    """
    candidates = _CANDIDATES if python is None else _quoted(python)
    sudo = (
        f'[ "$(id -u)" = 0 ] || s="sudo -n -H"; '
        f'[ -z "$s" ] || command -v sudo >/dev/null 2>&1 || '
        f'{{ echo; echo "{REPORT} no-sudo"; exit 96; }}; '
        if become
        else ""
    )
    return (
        f"/bin/sh -c 's=; o=; d=; {sudo}for p in {candidates}; do "
        'command -v "$p" >/dev/null 2>&1 || continue; '
        f'$s "$p" -I -u -c "{BOOT}"; r=$?; '
        'case $r in 99) o=1; v=$("$p" -V 2>&1); '
        f'echo; echo "{REPORT} too-old $p $v";; '
        f'126|127) d=1; echo; echo "{REPORT} not-started $p";; '
        "*) exit $r;; esac; done; "
        f'[ "$o$d" ] || {{ echo; echo "{REPORT} no-python"; }}; exit 97\''
    )


def _quoted(python: str) -> str:
    """Return a path as it may stand between double quotes within the single quotes of the command line."""
    if _UNQUOTABLE.search(python):
        raise PythonUnusable(f"the path of a Python may not hold quotes, backslashes, `$` or `!`: {python}")
    if python.startswith("~/"):
        return f'"$HOME/{python[2:]}"'
    return f'"{python}"'
