"""Which jobs in the background a script's `wait` tells of: all, one of them, or the last alone.

wait            ends with 0 in any case
wait -n         has the status of the first that ends
wait $a $b      has that of $b
"""

import re
from collections.abc import Iterator

from stackplan.language.lint._tree import Block, Command, Group, blocks, inside, own_pipelines
from stackplan.model.regular import regular

_ROUNDS = frozenset({"for", "while", "until"})
_SEVERAL = regular(r"\$\{\w+\[[@*]\]\}|\$\(\s*jobs\b|`\s*jobs\b")
_GATHERED = regular(r"(?P<name>[A-Za-z_]\w*)(?:\+=[^(]*|=.*\s)\$!", re.DOTALL)
_VARIABLE = regular(r"\$\{?(?P<name>[A-Za-z_]\w*)\}?")


def tells_of_all(script: Block, waits: list[Command]) -> bool:
    """Return whether one of a script's waits names a process, or waits for any as often as there are some."""
    if any(_processes(it) for it in waits):
        return True
    if not any("-n" in it.words for it in waits):
        return False
    rounds = {id(it) for loop in _loops(script) for it in loop}
    return any("-n" in it.words and id(it) in rounds for it in waits) or _jobs(script) <= sum(
        "-n" in it.words for it in waits
    )


def gathered(commands: tuple[Command, ...]) -> frozenset[str]:
    """Return the variables that hold the numbers of several processes: `pids="$pids $!"`, `pids+=" $!"`."""
    words = [word for it in commands for word in it.assignments if "$!" in word]
    return frozenset(match["name"] for it in words if (match := _GATHERED.match(it)))


def hears_the_last(wait: Command, several: frozenset[str]) -> bool:
    """Return whether a `wait` is given several processes, and so has the status of the last of them."""
    found = _processes(wait)
    if len(found) > 1 or any(_SEVERAL.search(it) for it in found):
        return "-n" not in wait.words
    return any((match := _VARIABLE.fullmatch(it)) is not None and match["name"] in several for it in found)


def _processes(wait: Command) -> list[str]:
    """Return what a `wait` is given, less its options and the variable behind `-p`."""
    words = list(wait.words[1:])
    if "-p" in words:
        del words[words.index("-p") : words.index("-p") + 2]
    return [it for it in words if not it.startswith("-")]


def _jobs(script: Block) -> int:
    """Return how many jobs a script starts at least; two where it does so in rounds."""
    inner = {id(block) for block in _bodies(script)}
    found = [(id(block) in inner, chain) for block in blocks(script) for chain in block.chains if chain.end == "&"]
    return sum(2 if again else 1 for again, _ in found)


def _loops(script: Block) -> Iterator[list[Command]]:
    """Yield the commands of each block that runs in rounds."""
    for block in _bodies(script):
        yield [it for pipeline in own_pipelines(block) for it in pipeline.parts if isinstance(it, Command)]


def _bodies(script: Block) -> Iterator[Block]:
    for block in blocks(script):
        for pipeline in own_pipelines(block):
            for part in pipeline.parts:
                if isinstance(part, Group) and part.kind in _ROUNDS:
                    for it in inside(part):
                        yield from blocks(it)
