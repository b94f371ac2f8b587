"""A stand-in for journalctl on the lab's nodes: what the units of one node's folder wrote. Standard library only.

The stand-in for systemctl lets a unit's process write to `units/NAME.log`. Of that this prints the last lines: to
`journalctl --lines=N --unit=NAME`, as stackplan asks, and to `journalctl -u NAME [-n N]`, as people do. It knows no
times, so that `--since` changes nothing, and does not wait for more.
"""

import sys
from pathlib import Path

UNITS = Path(__file__).resolve().parents[1] / "units"
_LINES = 10
_IGNORED = frozenset({"--no-pager", "--quiet", "-q", "-e", "--pager-end", "-x", "--catalog", "--output=cat"})
_LONG = {"-u": "--unit", "-n": "--lines", "-S": "--since", "-o": "--output"}
_KNOWN = frozenset({"--unit", "--lines", "--since", "--output", "--boot", "-b"})
_WITH_A_VALUE = frozenset({"--unit", "--lines", "--since", "--output"})


def options(words: list[str]) -> dict[str, str]:
    """Return the options of a command line by their long names, whichever way their values are written."""
    told: dict[str, str] = {}
    left = [word for word in words if word not in _IGNORED]
    while left:
        name, equals, value = left.pop(0).partition("=")
        if not equals and name[:2] in _LONG and not name.startswith("--"):
            name, value = _LONG[name[:2]], name[2:]
        if not equals and not value and name in _WITH_A_VALUE and left:
            value = left.pop(0)
        told[name] = value
    return told


def main(words: list[str]) -> int:
    """Print the last lines of the unit that a command line names, and return its exit status."""
    told = options(words)
    name, lines = told.get("--unit", ""), told.get("--lines", str(_LINES))
    if told.keys() - _KNOWN or not name or not lines.isdigit():
        sys.stderr.write(f"this stand-in for journalctl does not know: {' '.join(words)}\n")
        sys.stderr.write("it knows `journalctl -u UNIT [-n LINES]`\n")
        return 1
    path = UNITS / f"{name.removesuffix('.service')}.log"
    written = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    sys.stdout.write("".join(f"{line}\n" for line in written[len(written) - min(int(lines), len(written)) :]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
