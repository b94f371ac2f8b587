"""Functions that a script calls only where it fails anyway: what they fail in changes nothing of that.

    note() { nvidia-bug-report.sh || true; }
    flash || { note; exit 1; }

A function that may end the script with 0 is none of them, nor is one that something else calls as well.
"""

from collections.abc import Iterator

from stackplan.language.lint._failing import function_body, leaves_well
from stackplan.language.lint._status import says
from stackplan.language.lint._trapped import after_failures
from stackplan.language.lint._tree import Block, Command, blocks, groups, own_blocks, own_pipelines, surface_of


def called_in(script: Block, told: frozenset[int]) -> frozenset[int]:
    """Return the identities of the blocks of functions that are called only in some blocks and pipelines."""
    bodies: dict[str, list[Block]] = {}
    for it in groups(script):
        for name in it.words[:1] if it.kind == "function" else ():
            bodies.setdefault(name, []).append(function_body(it))
    if not bodies:
        return frozenset()
    found = {*told, *(id(block) for text in after_failures(script) for block in own_blocks(text))}
    calls = _calls(script, frozenset(bodies))
    waiting = {name: own for name, own in bodies.items() if name in calls and not any(map(_ends_well, own))}
    while ready := [name for name in waiting if all(not found.isdisjoint(it) for it in calls[name])]:
        for name in ready:
            found.update(id(block) for body in waiting.pop(name) for block in own_blocks(body))
    return frozenset(found) - told


def _calls(script: Block, functions: frozenset[str]) -> dict[str, list[tuple[int, ...]]]:
    """Return where each function is called: the identities of the block and the pipeline of each call."""
    found: dict[str, list[tuple[int, ...]]] = {}
    for block in blocks(script):
        for pipeline in own_pipelines(block):
            for it in (part for part in pipeline.parts if isinstance(part, Command)):
                for name in functions.intersection(_may_run(it)):
                    found.setdefault(name, []).append((id(block), id(pipeline)))
    return found


def _may_run(it: Command) -> Iterator[str]:
    """Yield the words of a command that may be functions which it runs; the text of a trap is a block of its own."""
    yield from it.wrappers
    yield from it.words[:1] if it.program == "trap" or says(it) else it.words


def _ends_well(body: Block) -> bool:
    """Return whether a function may end the script with 0, or become another program."""
    return any((it.program == "exit" and leaves_well(it)) or "exec" in it.wrappers for it in surface_of(body))
