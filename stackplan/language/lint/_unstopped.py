"""Failures that `set -e` does not hear: in `f || …`, `if f`, `! f`, `{ …; } || …`, `x=$(a; b)`, and in `sh -c 'a; b'`.

Bash switches errexit off for whatever stands where a status is asked for, through all functions that are called there;
only the last command of it then counts. In `$(…)` it is off unless `shopt -s inherit_errexit` says otherwise. A shell
that is started without -e has never had it on.
"""

from collections.abc import Iterator
from dataclasses import field
from itertools import chain as joined

from stackplan.language.lint._proving import proven_up_to
from stackplan.language.lint._status import asked, nothing, working
from stackplan.language.lint._tree import Block, Chain, Command, Group, Pipeline, blocks, surface, surface_of, within
from stackplan.model.frozen import dataclass

Lost = tuple[Command, str, str]
_ASKING = frozenset({"if", "while", "until"})
_ROUNDS = frozenset({"for", "while", "until", "select"})
_WATCHING = frozenset({"watch", "at", "batch", "find"})
_SHORT = 30
MASKING = frozenset({"export", "local", "declare", "readonly", "typeset"})
"""They end with 0, whatever the command ended with whose output they take."""
_INHERITING = "inherit_errexit"
_INHERIT = f"write `shopt -s {_INHERITING}` at the head of the script, or join the commands by `&&`"


@dataclass
class Unstopped:
    """Finds what a script goes on after, though it fails; each function is looked at once."""

    functions: dict[str, Block]
    inherits: bool = False
    looked: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, script: Block) -> "Unstopped":
        functions = {name: block for it in _functions(script) for name in it.words[:1] for _, block in it.blocks}
        return cls(functions, any(_INHERITING in it.words for it in surface_of(script)))

    def in_chain(self, chain: Chain) -> Iterator[Lost]:
        """Yield what fails unheard in the parts of a chain whose status is asked for, with the reason and an edit."""
        for pipeline in chain.pipelines[:-1]:
            yield from self._in_tested(pipeline, f"{_start(pipeline)} {chain.operators[0]} …")
        last = chain.pipelines[-1]
        if last.negated:
            yield from self._in_tested(last, f"! {_start(last)}")
        for part in joined.from_iterable(it.parts for it in chain.pipelines):
            if isinstance(part, Command):
                yield from self._given_to_function(part)
                yield from self._in_substitutions(part) if part.inner and not self.inherits else ()
            elif part.kind in _ASKING:
                for pipeline in (
                    it.pipelines[-1] for role, test in part.blocks if role == "test" for it in test.chains
                ):
                    # The chain of a test is looked at for itself: of what stands behind `!` or before `&&` it tells.
                    if not pipeline.negated:
                        yield from self._in_tested(pipeline, f"{part.kind} {_start(pipeline)}")

    def _in_tested(self, pipeline: Pipeline, told: str) -> Iterator[Lost]:
        summary = f"`set -e` is off within `{told}`: where this fails, what stands behind it runs"
        for part in pipeline.parts:
            if isinstance(part, Group):
                for role, block in part.blocks if part.kind != "function" else ():
                    if role != "test":
                        yield from _reported(_lost(block, last=part.kind not in _ROUNDS), summary)
        yield from self._in_called(self._calls(Block((Chain((pipeline,), (), ""),))), summary)

    def _given_to_function(self, command: Command) -> Iterator[Lost]:
        """Look at `retry build`, where `retry` asks for the status of what it is given, as `"$@" && return` does."""
        if command.wrappers and command.program in self.functions and command.wrappers[0] in self.functions:
            name = command.wrappers[0]
            if any(_asks_given(block) for block in blocks(self.functions[name])):
                told = f"{name} {command.program}"
                summary = f"`set -e` is off within `{told}`: where this fails, what stands behind it runs"
                yield from self._in_called([command.program], summary)

    def _in_substitutions(self, command: Command) -> Iterator[Lost]:
        """Look at `x=$(a; b)`, in which bash switches errexit off, and of which b alone counts."""
        # What another shell is handed may be for one that leaves it on; of `export x=$(…)` no status is heard at all.
        written = any(it in word for word in (*command.assignments, *command.words) for it in ("$(", "`"))
        if command.depth or not written or command.program in MASKING:
            return
        summary = "bash switches `set -e` off within `$(…)`: where this fails, what stands behind it runs"
        for block in command.inner:
            if any(("errexit", True) in it.switched for it in surface_of(block)):
                continue
            for it in _reported(_lost(block, last=True), summary):
                yield it[0], it[1], _INHERIT
            for it in self._in_called(self._calls(block), summary):
                yield it[0], it[1], _INHERIT

    def _in_called(self, called: list[str], summary: str) -> Iterator[Lost]:
        while called:
            name = called.pop()
            if name not in self.looked:
                self.looked.add(name)
                yield from _reported(_lost(self.functions[name], last=True), summary)
                called += self._calls(self.functions[name])

    def _calls(self, block: Block) -> list[str]:
        """Return the functions of the script that a block calls where it stands."""
        return [it.program for it in surface_of(block) if it.program in self.functions] if self.functions else []


def in_own_shell(command: Command) -> Iterator[Lost]:
    """Yield what fails unheard in the texts that a command hands to a shell without -e."""
    if (command.depth == 0 and not command.errexit) or command.program in _WATCHING:
        return
    for block in command.handed:
        if len(block.chains) > 1:
            summary = (
                f"the shell of `{command.program} …` runs without -e: where this fails, what stands behind it runs"
            )
            for it in _lost(block, last=True):
                if not it.errexit:
                    yield it, summary, "begin the text with `set -e`, or join its commands by `&&`"


def _reported(found: Iterator[Command], summary: str) -> Iterator[Lost]:
    for it in found:
        if it.errexit:
            yield (
                it,
                summary,
                "write `|| return 1` (`|| exit 1`) behind it, or ask for no status of what it stands in",
            )


def _lost(block: Block, *, last: bool) -> Iterator[Command]:
    """Yield the commands whose failure does not become the status of a block; `last` where its end does count."""
    checked = proven_up_to(block, last=last)
    for at, chain in enumerate(block.chains):
        counts = last and at == len(block.chains) - 1
        following = block.chains[at + 1] if at + 1 < len(block.chains) else None
        if at < checked or chain.end == "&" or "||" in chain.operators or _answered(following):
            continue
        for part in chain.pipelines[-1].parts:
            if isinstance(part, Command):
                yield from (it for it in working(Pipeline((part,))) if not counts)
            elif part.kind != "function":
                for role, inner in part.blocks:
                    if role != "test":
                        yield from _lost(inner, last=counts and part.kind not in _ROUNDS)


def _answered(following: Chain | None) -> bool:
    """Return whether what follows looks at the status, or ends with 0 in any case, of which another finding speaks."""
    if following is None:
        return False
    found = list(within(following.pipelines[0]))
    return asked(following.pipelines[0]) or (len(found) == 1 and nothing(found[0]))


def _asks_given(block: Block) -> bool:
    """Return whether the status of `"$@"` is asked for where a block has it run."""
    for chain in block.chains:
        for pipeline in chain.pipelines:
            asked = pipeline.negated or pipeline is not chain.pipelines[-1]
            for it in (command for part in pipeline.parts for command in surface(part)):
                if it.program in ("$@", "$*") and (asked or it.tested):
                    return True
    return False


def _functions(script: Block) -> Iterator[Group]:
    for block in blocks(script):
        for chain in block.chains:
            for pipeline in chain.pipelines:
                yield from (it for it in pipeline.parts if isinstance(it, Group) and it.kind == "function")


def _start(pipeline: Pipeline) -> str:
    """Return how a pipeline begins, in a few words."""
    part = pipeline.parts[0]
    if isinstance(part, Group):
        return {"{": "{ … }", "(": "( … )"}.get(part.kind, f"{part.kind} …")
    return part.text if len(part.text) <= _SHORT else f"{part.program} …"
