"""`install A || install B`: what comes when the right build cannot be had."""

from bisect import bisect_left
from collections.abc import Iterator

from stackplan.language.lint._installers import installs
from stackplan.language.lint._noted import Note, after_failure, notes
from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._shell import Command
from stackplan.language.lint._status import mentions
from stackplan.language.lint._subject import Subject
from stackplan.language.lint._tree import Block, Chain, Group, Pipeline, blocks, own_pipelines, surface, surface_of
from stackplan.model.frozen import dataclass

Tried = set[tuple[str, ...]]
"""The words of the installs before."""
_MOST_LOOKS = 10
_REMEDY = "keep the first alone: a node that cannot have it has to stop"


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        assert step.script is not None
        if not step.script.mentions("install", "sync", "add"):
            continue
        found = _Fallbacks(_own_installers(step.script.block))
        for block in blocks(step.script.block):
            for it in dict.fromkeys(found.of_block(block)):
                summary = "where the first install fails another build is installed, and the step is green"
                yield Finding(summary, step.command_at(it), _REMEDY, step.id)


def _own_installers(script: Block) -> frozenset[str]:
    """Return the functions of a script that install something."""
    groups = [
        part
        for block in blocks(script)
        for pipeline in own_pipelines(block)
        for part in pipeline.parts
        if isinstance(part, Group) and part.kind == "function"
    ]
    return frozenset(it.words[0] for it in groups if any(map(installs, surface(it))))


@dataclass(frozen=True, slots=True)
class _Fallbacks:
    """Finds the installs that run because another one failed; `functions` are those of the script that install."""

    functions: frozenset[str]

    def of_block(self, block: Block) -> Iterator[Command]:
        for chain in block.chains:
            yield from self._behind_or(chain)
        for pipeline in own_pipelines(block):
            for part in pipeline.parts:
                if isinstance(part, Group) and part.kind in ("if", "until", "while"):
                    yield from self._in_branch(part)
                elif isinstance(part, Group) and part.kind == "for":
                    yield from self._in_turn(part)
        looks: dict[str, list[int]] | None = None
        for number, chain in enumerate(block.chains):
            if tried := {it.words for pipeline in chain.pipelines for it in self._installing(pipeline)}:
                looks = _looks(block) if looks is None else looks
                yield from self._by_note(block, number, tried, looks)

    def _installs(self, it: Command) -> bool:
        return installs(it) or (it.program in self.functions and bool(it.words))

    def _by_note(self, block: Block, number: int, tried: Tried, looks: dict[str, list[int]]) -> Iterator[Command]:
        """Look at `install A; [ $? -eq 0 ] || install B`, and at the same with a variable that was given the status."""
        following = block.chains[number + 1 : number + 2]
        noted = notes(block.chains[number], following)
        for it in following:
            yield from self._others(tried, after_failure(it, [*noted, Note("?", None)]))
        for at in sorted({at for it in noted for at in _next_few(looks.get(it.name, []), number + 2)}):
            yield from self._others(tried, after_failure(block.chains[at], noted))

    def _behind_or(self, chain: Chain) -> Iterator[Command]:
        before: Tried = set()
        for operator, left, right in zip(chain.operators, chain.pipelines, chain.pipelines[1:], strict=False):
            before |= {it.words for it in self._installing(left)}
            if operator == "||":
                yield from self._others(before, (it for part in right.parts for it in surface(part)))

    def _in_branch(self, group: Group) -> Iterator[Command]:
        """Look at `if ! install A; then install B; fi`, the same with `else`, and at `until install A; do …; done`."""
        tried: Tried = set()
        negated = group.kind == "until"
        for role, block in group.blocks:
            if role == "test":
                yield from self._others(tried, surface_of(block))
                tried |= {it.words for it in surface_of(block) if self._installs(it)}
                negated = (group.kind == "until") != any(it.negated for it in own_pipelines(block))
            elif role == "else" or negated:
                yield from self._others(tried, surface_of(block))

    def _in_turn(self, group: Group) -> Iterator[Command]:
        """Look at `for index in A B; do install --index-url $index … && break; done`."""
        name, words = group.words[:1], group.words[2:]
        if not name or not words or all(word.isdigit() or word.startswith(("$(seq", "{1..")) for word in words):
            return
        for block in (block for _, block in group.blocks):
            for chain in block.chains:
                ends = any(
                    it.program in ("break", "exit") for part in chain.pipelines[-1].parts for it in surface(part)
                )
                for it in surface_of(Block((chain,))) if ends else ():
                    if self._installs(it) and (mentions(it, name[0]) or any(word in it.text for word in words)):
                        yield it

    def _installing(self, pipeline: Pipeline) -> list[Command]:
        return [it for part in pipeline.parts for it in surface(part) if self._installs(it)]

    def _others(self, tried: Tried, later: Iterator[Command]) -> Iterator[Command]:
        """Yield what installs something else than what was tried; the same once more is a retry."""
        if tried:
            yield from (it for it in later if self._installs(it) and it.words not in tried)


def _looks(block: Block) -> dict[str, list[int]]:
    """Return the numbers of the chains that begin with a look at a variable, by its name."""
    found: dict[str, list[int]] = {}
    for number, chain in enumerate(block.chains):
        parts = chain.pipelines[0].parts
        tests = [it for part in parts if isinstance(part, Group) for _, it in part.blocks[:1]]
        seen = [*(it for it in parts if isinstance(it, Command)), *(it for test in tests for it in surface_of(test))]
        for name in {name for it in seen for name in it.variables}:
            found.setdefault(name, []).append(number)
    return found


def _next_few(numbers: list[int], first: int) -> list[int]:
    """Return those of sorted numbers from `first` on, the nearest; a status is looked at soon, or never."""
    at = bisect_left(numbers, first)
    return numbers[at : at + _MOST_LOOKS]


RULE = error(
    "SP161",
    "an install that falls back to another one",
    "`pip install X+cu130 || pip install X` installs the default build wherever the index of the right one is not "
    "reached, and the test after it passes with the wrong build; so does the same with `if`, or over a list of "
    "indexes. Let the step fail, and mend the index. The same command once more is a retry and not meant.",
    check,
    by_step=True,
)
