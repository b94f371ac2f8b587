"""Functions of a script that answer with their status, as grep does, or only say something, as echo does.

has_switch() { lspci | grep -q NVSwitch; }
log() { echo "$(date) $*"; }
"""

from collections.abc import Mapping

from stackplan.language.lint._status import asks, says, works
from stackplan.language.lint._tree import Block, Command, flat


def predicates(functions: Mapping[str, Block]) -> frozenset[str]:
    """Return the names of those functions whose failure is an answer: nothing in them works, and the end asks or says.

    One that rests on others before it counts as well.
    """
    found: set[str] = set()
    for name, body in functions.items():
        if _answers(body, found) and not any(works(it) and it.program not in found for it in flat(body)):
            found.add(name)
    return frozenset(found)


def _answers(block: Block, known: set[str]) -> bool:
    if not block.chains:
        return False
    last = block.chains[-1].pipelines[-1].parts[-1]
    if isinstance(last, Command):
        return last.program in known or last.program == "return" or (bool(last.words) and (asks(last) or says(last)))
    bodies = [body for role, body in last.blocks if role != "test"]
    return bool(bodies) and last.kind != "function" and all(_answers(it, known) for it in bodies)
