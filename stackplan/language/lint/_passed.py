"""Which files the functions of a script are given to fill: `fetch() { curl -o "$2" "$1"; }`, then `fetch URL FILE`."""

from stackplan.language.lint._tree import Block, Command, flat, groups
from stackplan.model.regular import regular

_NUMBERED = regular(r"\$(?:(?P<number>[1-9])|\{(?P<braced>[1-9])\})(?:\.(?:part|tmp|download))?")
_NAMED = regular(r"\$(?:(?P<name>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)\})(?:\.(?:part|tmp|download))?")


class Passed:
    """The functions of a script with what they are given; looked at once for all that they fetch."""

    def __init__(self, script: Block) -> None:
        self._commands = {
            name: tuple(at for _, block in it.blocks for at in flat(block))
            for it in groups(script)
            if it.kind == "function"
            for name in it.words[:1]
        }
        self._calls: dict[str, list[Command]] = {}
        for it in flat(script) if self._commands else ():
            if it.program in self._commands:
                self._calls.setdefault(it.program, []).append(it)

    def files(self, command: Command, path: str) -> list[tuple[Command, str]]:
        """Return the calls of the function in which a command fills a path, with the path of each; none if unknown."""
        if not self._calls or "$" not in path:
            return []
        for name, own in self._commands.items():
            if any(it is command for it in own):
                number = _number(own, path)
                found = [(it, it.words[number]) for it in self._calls.get(name, ()) if 0 < number < len(it.words)]
                known = len(found) == len(self._calls.get(name, ())) and not any("$" in to for _, to in found)
                return found if known else []
        return []


def _number(commands: tuple[Command, ...], path: str) -> int:
    """Return which word of its call a function takes for a path; 0 where that is not told."""
    if any(it.program == "shift" for it in commands):
        return 0
    if match := _NAMED.fullmatch(path):
        name = match["name"] or match["braced"]
        words = [word for it in commands for word in (*it.assignments, *(it.words if it.program == "local" else ()))]
        values = [word.partition("=")[2] for word in words if word.partition("=")[0] == name]
        path = values[0] if len(values) == 1 else ""
    match = _NUMBERED.fullmatch(path)
    return int(match["number"] or match["braced"]) if match else 0
