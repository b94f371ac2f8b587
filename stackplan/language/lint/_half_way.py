"""`cd X && make install` before another line: `set -e` does not hear what fails before the last `&&`."""

from collections.abc import Iterator

from stackplan.language.lint._status import asked, working
from stackplan.language.lint._tree import Block, Command, Pipeline, surface

_ENTERING = frozenset({"cd", "pushd"})


def half_way(block: Block) -> Iterator[tuple[Command, Command]]:
    """Yield each command of a block behind whose failure the rest of its line is left out and the script goes on.

    With it comes the work that is left out. A line whose status is looked at, or which ends the block, is none of them.
    """
    for chain, following in zip(block.chains, block.chains[1:], strict=False):
        if (
            chain.operators
            and set(chain.operators) == {"&&"}
            and chain.end != "&"
            and not asked(following.pipelines[0])
        ):
            left_out = working(chain.pipelines[-1])
            lost = [it for pipeline in chain.pipelines[:-1] for it in _work(pipeline)]
            if lost and left_out and all(it.errexit and not it.tested for it in (*lost, *left_out)):
                yield lost[0], left_out[-1]


def _work(pipeline: Pipeline) -> list[Command]:
    if pipeline.negated:
        return []
    entering = [it for part in pipeline.parts for it in surface(part) if it.program in _ENTERING]
    return entering or working(pipeline)
