"""A stand-in for journalctl on the lab's nodes: what the units of one node's folder wrote. Standard library only.

The stand-in for systemctl lets a unit's process write to `units/NAME.log`. Of that this prints the last lines, in the
form in which stackplan asks for them: `journalctl --lines=N --unit=NAME`. It knows no times, so that `--since` changes
nothing.
"""

import sys
from pathlib import Path

UNITS = Path(__file__).resolve().parents[1] / "units"
_LINES = 10
_IGNORED = frozenset({"--no-pager", "--quiet", "-q", "--output=cat"})


def main(words: list[str]) -> int:
    """Print the last lines of the unit that a command line names, and return its exit status."""
    told = dict(word.partition("=")[::2] for word in words if word not in _IGNORED)
    name, lines = told.pop("--unit", ""), told.pop("--lines", str(_LINES))
    told.pop("--since", None)
    if told or not name or not lines.isdigit():
        sys.stderr.write(f"this stand-in for journalctl does not know: {' '.join(words)}\n")
        return 1
    path = UNITS / f"{name.removesuffix('.service')}.log"
    written = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    sys.stdout.write("".join(f"{line}\n" for line in written[len(written) - min(int(lines), len(written)) :]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
