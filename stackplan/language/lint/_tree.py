"""What a shell text is read into: blocks of chains of pipelines of commands and groups.

    a | b && { c; d; } || e; f &

is a block of two chains. The first joins three pipelines by `&&` and `||`; the first of them has two parts, the
second a group with a block of its own. The second chain ends with `&`.
"""

import re
from collections.abc import Iterator
from dataclasses import field

from stackplan.model.cached import cached_property
from stackplan.model.frozen import dataclass
from stackplan.model.regular import regular

_NAMED = regular(r"\$\{?[#!]?([A-Za-z_]\w*)")
_NAMES = regular(r"\b[A-Za-z_]\w*")


@dataclass(frozen=True)
class Command:
    """One simple command; `start` is its offset in the script.

    `before` and `after` are the operators around it, "" at either end of a text. `tested` when an `if` or `while` asks
    for its status. `depth` counts the substitutions and `sh -c` texts around it; `pipefail` and `errexit` are False in
    a shell that stackplan's own options do not reach. `given` are the options of its wrappers, `user` is
    who runs it, where a wrapper says so. `elsewhere` when it runs in another root (`chroot`, a container), whose
    packages and services are not the node's; `remote` when it runs on another machine. `stdin` is the text of its
    here-document or here-string with its offset, None where that is not known.
    """

    words: tuple[str, ...]
    start: int
    before: str = ""
    after: str = ""
    tested: bool = False
    depth: int = 0
    pipefail: bool = True
    errexit: bool = True
    redirections: tuple[tuple[str, str], ...] = ()
    wrappers: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    assignments: tuple[str, ...] = ()
    user: str | None = None
    stdin: tuple[str, int | None] | None = None
    elsewhere: bool = False
    remote: bool = False
    inner: tuple["Block", ...] = field(default=(), compare=False, repr=False)
    handed: tuple["Block", ...] = field(default=(), compare=False, repr=False)

    @cached_property
    def program(self) -> str:
        """The name of the program without its folder; "" of a command that only assigns."""
        return self.words[0].rpartition("/")[2] if self.words else ""

    @cached_property
    def text(self) -> str:
        return " ".join((*self.assignments, *self.wrappers, *self.words))

    @cached_property
    def plain(self) -> tuple[str, ...]:
        """Its words behind the program that are no options."""
        return tuple(word for word in self.words[1:] if not word.startswith("-"))

    def operands(self, values: re.Pattern[str]) -> Iterator[str]:
        """Yield its words behind the program that are neither options nor their values, which `values` tells apart.

        A matching option takes the next word.
        """
        words = iter(self.words[1:])
        for word in words:
            if not word.startswith("-"):
                yield word
            elif values.fullmatch(word):
                next(words, None)

    @cached_property
    def variables(self) -> frozenset[str]:
        """The names of the variables that its words and assignments look at: `$rc`, `${rc}`, `(( rc > 0 ))`."""
        texts = [word for word in (*self.words, *self.assignments) if "$" in word or "((" in word]
        sums = [text.partition("((")[2] for text in texts if "((" in text]
        return frozenset([name for text in texts for name in _NAMED.findall(text)] + _NAMES.findall(" ".join(sums)))

    def has(self, *options: str) -> bool:
        """Return whether one of the options is given, alone or with a value behind `=`."""
        return any(word in options or word.partition("=")[0] in options for word in self.words)

    def has_flag(self, letter: str, *long: str) -> bool:
        """Return whether an option of one letter is given, alone or among others, or one of its long names."""
        flags = (word[1:] for word in self.words[1:] if letter in word and word.startswith("-"))
        return any(it.isalpha() and it.isascii() for it in flags) or (bool(long) and self.has(*long))

    def starts(self, *words: str) -> bool:
        """Return whether the command is `words[0]` with the others as its first words that are no options."""
        return self.program == words[0] and self.plain[: len(words) - 1] == words[1:]

    @cached_property
    def switched(self) -> tuple[tuple[str, bool], ...]:
        """The options of the shell that it switches: `set +eu -o pipefail` switches errexit off and pipefail on."""
        if self.program == "shopt":
            flags = "".join(word[1:] for word in self.words[1:] if word.startswith("-"))
            return tuple((it, "s" in flags) for it in self.plain if "o" in flags and ("s" in flags or "u" in flags))
        found: list[tuple[str, bool]] = []
        words = list(self.words[1:]) if self.program == "set" else []
        while words and words[0][:1] in ("-", "+") and words[0] not in ("-", "--"):
            option = words.pop(0)
            if "e" in option[1:]:
                found.append(("errexit", option[0] == "-"))
            if "o" in option[1:] and words:
                found.append((words.pop(0), option[0] == "-"))
        return tuple(found)


@dataclass(frozen=True)
class Group:
    """A compound command: `kind` is the word it begins with, `(`, `{`, `if`, `while`, `for`, `case`, `function`.

    Its blocks bear what they are: `test`, `body` or `else`. `words` are those behind `for` and `case`, or the name of a
    function.
    """

    kind: str
    start: int
    blocks: tuple[tuple[str, "Block"], ...] = ()
    words: tuple[str, ...] = ()
    redirections: tuple[tuple[str, str], ...] = ()
    inner: tuple["Block", ...] = field(default=(), compare=False, repr=False)

    @cached_property
    def variables(self) -> frozenset[str]:
        """The names of the variables that its own words look at: `case $rc in`."""
        return frozenset(name for word in self.words if "$" in word for name in _NAMED.findall(word))


Part = Command | Group


@dataclass(frozen=True)
class Pipeline:
    parts: tuple[Part, ...]
    negated: bool = False


@dataclass(frozen=True)
class Chain:
    """Pipelines joined by `&&` and `||`; `end` is the operator behind them."""

    pipelines: tuple[Pipeline, ...]
    operators: tuple[str, ...]
    end: str


@dataclass(frozen=True)
class Block:
    """Chains one after the other; `substituted` when their output becomes words."""

    chains: tuple[Chain, ...]
    substituted: bool = False


def flat(block: Block) -> Iterator[Command]:
    """Yield all commands of a block in their order, each followed by those inside of it."""
    for pipeline in own_pipelines(block):
        yield from within(pipeline)


def within(pipeline: Pipeline) -> Iterator[Command]:
    """Yield all commands of a pipeline in their order, each followed by those inside of it."""
    for part in pipeline.parts:
        if isinstance(part, Command):
            yield part
        for block in inside(part):
            yield from flat(block)


def inside(part: Part) -> Iterator[Block]:
    """Yield the blocks of a group, or the texts and substitutions of a command."""
    if isinstance(part, Command):
        yield from part.handed
    else:
        yield from (block for _, block in part.blocks)
    yield from part.inner


def own_pipelines(block: Block) -> Iterator[Pipeline]:
    for chain in block.chains:
        yield from chain.pipelines


def blocks(block: Block) -> Iterator[Block]:
    """Yield a block and all that are inside of it, at whatever depth."""
    yield block
    for pipeline in own_pipelines(block):
        for part in pipeline.parts:
            for it in inside(part):
                yield from blocks(it)


def groups(block: Block) -> Iterator[Group]:
    """Yield every group of a block, at whatever depth."""
    for it in pipelines(block):
        yield from (part for part in it.parts if isinstance(part, Group))


def pipelines(block: Block) -> Iterator[Pipeline]:
    """Yield every pipeline of a block, also those inside of its commands."""
    for it in blocks(block):
        yield from own_pipelines(it)


def surface(part: Part) -> Iterator[Command]:
    """Yield the commands that run in the place of a part: itself, those of a group, not those of texts in a command."""
    if isinstance(part, Command):
        yield part
    else:
        for _, block in part.blocks:
            yield from surface_of(block)


def own_blocks(block: Block) -> Iterator[Block]:
    """Yield a block and those of the groups in it, which run in its place; the bodies of functions do not."""
    yield block
    for pipeline in own_pipelines(block):
        for part in pipeline.parts:
            if isinstance(part, Group) and part.kind != "function":
                for _, it in part.blocks:
                    yield from own_blocks(it)


def surface_of(block: Block) -> Iterator[Command]:
    for pipeline in own_pipelines(block):
        for part in pipeline.parts:
            yield from surface(part)
