"""`! COMMAND` where a shell passes over it: `set -e` never ends a script because of a status that `!` turned round."""

from collections.abc import Iterator

from stackplan.language.lint._status import asks, mentions, works
from stackplan.language.lint._tree import Block, Chain, Command, Group, Pipeline, surface, within

_LOOPS = frozenset({"for", "while", "until", "select"})
_OWN_STATUS = frozenset({"(", "function"})
"""Groups whose own status ends a script, also where a `!` in them gave it."""


def stopping_nothing(block: Block) -> Iterator[Command]:
    """Yield the commands of a script behind a `!` whose answer leads to nothing, wherever they stand in it."""
    yield from _of_block(block, last=True)


def _of_block(block: Block, *, last: bool) -> Iterator[Command]:
    for number, chain in enumerate(block.chains):
        ends = last and number == len(block.chains) - 1
        following = block.chains[number + 1 : number + 2]
        if not ends and _alone(chain) and not any(_looks_back(it) for it in following):
            yield from _turned(chain.pipelines[0])
        for at, pipeline in enumerate(chain.pipelines):
            last_here = ends and at == len(chain.pipelines) - 1
            for part in pipeline.parts:
                if isinstance(part, Group):
                    # Within a pipe it is a shell of its own, whose end is its status.
                    yield from _of_group(part, last=last_here or len(pipeline.parts) > 1)
                else:
                    for text in (*part.handed, *part.inner):
                        yield from _of_block(text, last=True)


def _of_group(group: Group, *, last: bool) -> Iterator[Command]:
    for role, block in group.blocks:
        # The last command of a test is what the test asks for; a round of a loop is followed by another.
        within_it = role == "test" or group.kind in _OWN_STATUS or (last and group.kind not in _LOOPS)
        yield from _of_block(block, last=within_it)
    for block in group.inner:
        yield from _of_block(block, last=True)


def _alone(chain: Chain) -> bool:
    return len(chain.pipelines) == 1 and chain.pipelines[0].negated and chain.end != "&"


def _looks_back(chain: Chain) -> bool:
    """Return whether the chain behind asks for the status: `! grep -q x log; failed=$?`."""
    return any(mentions(it, "?") for pipeline in chain.pipelines[:1] for it in within(pipeline))


def _turned(pipeline: Pipeline) -> Iterator[Command]:
    found = [it for part in pipeline.parts for it in surface(part) if it.words and not it.tested]
    worked = [it for it in found if works(it)]
    # What only looks is an assertion, where the shell would have stopped without the `!`.
    yield from worked or [it for it in found[-1:] if asks(it) and it.errexit]
