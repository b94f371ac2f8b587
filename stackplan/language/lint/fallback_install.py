"""`install A || install B`: what comes when the right build cannot be had."""

from collections.abc import Iterator
from itertools import pairwise

from stackplan.language.lint._installers import installs
from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._shell import Command
from stackplan.language.lint._status import mentions
from stackplan.language.lint._subject import Subject
from stackplan.language.lint._tree import Block, Chain, Group, Pipeline, blocks, own_pipelines, surface, surface_of

_TESTS = frozenset({"[", "[[", "test", "(("})
_REMEDY = "keep the first alone: a node that cannot have it has to stop"


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        assert step.script is not None
        for block in blocks(step.script.block):
            for it in dict.fromkeys(_second(block)):
                summary = "where the first install fails another build is installed, and the step is green"
                yield Finding(summary, step.command_at(it), _REMEDY, step.id)


def _second(block: Block) -> Iterator[Command]:
    """Yield the installs of a block that run because another one failed."""
    for chain in block.chains:
        yield from _behind_or(chain)
    for pipeline in own_pipelines(block):
        for part in pipeline.parts:
            if isinstance(part, Group) and part.kind in ("if", "until", "while"):
                yield from _in_branch(part)
            elif isinstance(part, Group) and part.kind == "for":
                yield from _in_turn(part)
    for first, second in pairwise(own_pipelines(block)):
        # `install A; [ $? -eq 0 ] || install B`, and the same with `if`.
        if any(mentions(it, "?") and it.program in _TESTS for part in second.parts for it in surface(part)):
            following = Block(tuple(it for it in block.chains if second in it.pipelines))
            yield from _others(_installing(first), surface_of(following))


def _behind_or(chain: Chain) -> Iterator[Command]:
    before: list[Command] = []
    for operator, left, right in zip(chain.operators, chain.pipelines, chain.pipelines[1:], strict=False):
        before += _installing(left)
        if operator == "||":
            yield from _others(before, (it for part in right.parts for it in surface(part)))


def _in_branch(group: Group) -> Iterator[Command]:
    """Look at `if ! install A; then install B; fi`, at the same with `else`, and at `until install A; do …; done`."""
    tried: list[Command] = []
    negated = group.kind == "until"
    for role, block in group.blocks:
        if role == "test":
            yield from _others(tried, surface_of(block))
            tried += [it for it in surface_of(block) if installs(it)]
            negated = (group.kind == "until") != any(it.negated for it in own_pipelines(block))
        elif role == "else" or negated:
            yield from _others(tried, surface_of(block))


def _in_turn(group: Group) -> Iterator[Command]:
    """Look at `for index in A B; do install --index-url $index … && break; done`."""
    name, words = group.words[:1], group.words[2:]
    if not name or not words or all(word.isdigit() or word.startswith(("$(seq", "{1..")) for word in words):
        return
    for block in (block for _, block in group.blocks):
        for chain in block.chains:
            leaves = any(it.program in ("break", "exit") for part in chain.pipelines[-1].parts for it in surface(part))
            for it in surface_of(Block((chain,))) if leaves else ():
                if installs(it) and (mentions(it, name[0]) or any(word in it.text for word in words)):
                    yield it


def _installing(pipeline: Pipeline) -> list[Command]:
    return [it for part in pipeline.parts for it in surface(part) if installs(it)]


def _others(tried: list[Command], later: Iterator[Command]) -> Iterator[Command]:
    """Yield what installs something else than what was tried; the same once more is a retry."""
    if tried:
        yield from (it for it in later if installs(it) and all(it.words != other.words for other in tried))


RULE = error(
    "SP161",
    "an install that falls back to another one",
    "`pip install X+cu130 || pip install X` installs the default build wherever the index of the right one is not "
    "reached, and the test after it passes with the wrong build; so does the same with `if`, or over a list of "
    "indexes. Let the step fail, and mend the index. The same command once more is a retry and not meant.",
    check,
)
