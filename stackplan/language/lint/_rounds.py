"""Loops that go on as if nothing had failed: `for … do A && break; done`, and `A || continue` over a list."""

from collections.abc import Iterator

from stackplan.language.lint._status import asks, says, working
from stackplan.language.lint._tree import Block, Chain, Command, Group, Pipeline, surface, surface_of

_ENDING = frozenset({"exit", "return", "false"})


def unheard(block: Block) -> Iterator[tuple[Command, str, str]]:
    """Yield what fails in the loops of a block, and nobody hears of it, with the reason and the smallest edit."""
    loops = [(at, loop) for at, chain in enumerate(block.chains) if (loop := _loop(chain)) is not None]
    if not loops:
        return
    checked = max((at for at, chain in enumerate(block.chains) if _checks(chain)), default=-1)
    done = {it.words: at for at, chain in enumerate(block.chains) for it in _worked(chain)}
    for at, loop in loops:
        body = next((it for role, it in loop.blocks if role == "body"), Block(()))
        inside = list(surface_of(body))
        if at < checked or any(it.program in _ENDING or not it.words for it in inside):
            continue
        if loop.kind == "for":
            yield from (it for it in _tried(body, last=at == len(block.chains) - 1) if done.get(it[0].words, at) <= at)
        if not any(it.program == "break" for it in inside) and (loop.kind == "for" or _over_lines(loop)):
            yield from _left_out(body)


def _loop(chain: Chain) -> Group | None:
    """Return the loop that a chain is, where nothing hangs on how it ends."""
    loop = chain.pipelines[0].parts[-1] if len(chain.pipelines) == 1 and not chain.pipelines[0].negated else None
    return loop if isinstance(loop, Group) and loop.kind in ("for", "while") else None


def _worked(chain: Chain) -> list[Command]:
    return [it for pipeline in chain.pipelines for it in working(pipeline)]


def _checks(chain: Chain) -> bool:
    """Return whether a chain behind a loop asks for something, or ends the script."""
    found = [it for pipeline in chain.pipelines for part in pipeline.parts for it in surface(part)]
    return any(it.program in _ENDING or (it.words and asks(it)) for it in found)


def _over_lines(loop: Group) -> bool:
    return any(it.program == "read" for role, block in loop.blocks if role == "test" for it in surface_of(block))


def _tried(body: Block, *, last: bool) -> Iterator[tuple[Command, str, str]]:
    """Look at `A && break`, which leaves the loop early, and behind which nobody asks whether it ever did."""
    for number, chain in enumerate(body.chains):
        # At the end of a text, the status of a loop is that of its last round.
        if not last or number < len(body.chains) - 1:
            for it in _then(chain, "&&", "break", negated=False):
                summary = f"when `{it.program} …` fails in every round, the script goes on behind the loop"
                yield it, summary, "test behind the loop for what it was to reach, and `exit 1`"


def _left_out(body: Block) -> Iterator[tuple[Command, str, str]]:
    """Look at `A || continue`, by which a loop over a list passes over those that fail."""
    for chain in body.chains:
        for it in _then(chain, "||", "continue", negated=True):
            summary = f"`{it.program} … || continue` passes over every failure of {it.program}"
            yield it, summary, "note it, `failed=1`, and `exit $failed` behind the loop"


def _then(chain: Chain, operator: str, word: str, *, negated: bool) -> Iterator[Command]:
    """Yield the work that leads, by an operator or an `if`, to words at most and then to `break` or `continue`."""
    told = Block((Chain(chain.pipelines[1:], (), ""),))
    if chain.operators == (operator,) and not chain.pipelines[0].negated and _says_and(told, word):
        yield from working(chain.pipelines[0])[-1:]
    for part in chain.pipelines[0].parts if not chain.operators else ():
        if isinstance(part, Group) and part.kind == "if" and [role for role, _ in part.blocks] == ["test", "body"]:
            test = _only(part.blocks[0][1])
            if test is not None and test.negated is negated and _says_and(part.blocks[1][1], word):
                yield from working(test)[-1:]


def _only(block: Block) -> Pipeline | None:
    return block.chains[0].pipelines[0] if len(block.chains) == 1 and len(block.chains[0].pipelines) == 1 else None


def _says_and(block: Block, word: str) -> bool:
    found = list(surface_of(block))
    return bool(found) and found[-1].program == word and all(map(says, found[:-1]))
