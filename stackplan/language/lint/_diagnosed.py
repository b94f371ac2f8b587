"""What runs only where something failed, of which the script tells later all the same: it may fail as well.

    failed=0
    build || { failed=1; collect || true; }
    exit $failed

Told is what a variable holds that a later line of the same shell fails on, whatever runs in between; so it is with
`if [ $rc -ne 0 ]` before `exit $rc`, too. An ERR trap keeps the failure by itself, and an EXIT trap the status.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import field

from stackplan.language.lint._failing import ends_badly, failing_functions, function_body, leaves_well
from stackplan.language.lint._status import working
from stackplan.language.lint._trapped import trapped
from stackplan.language.lint._tree import Block, Chain, Command, Group, Part, Pipeline, own_blocks, surface_of
from stackplan.language.lint._variable_tests import (
    Value,
    defaults,
    holds,
    looked_at,
    status_fails,
    tested_name,
    values_set,
)
from stackplan.model.cached import cached_property
from stackplan.model.frozen import dataclass

_ROUNDS = frozenset({"for", "while", "until", "select"})
_MOST_VALUES = 20
"""A variable that is set to more than so many different values is no note of a failure."""
_Path = tuple[tuple[Block, int], ...]
"""The blocks of one shell around a place, each with the number of the chain that the place stands in."""


@dataclass(frozen=True)
class _Branch:
    """What runs in one case alone: a block, or one pipeline of a chain.

    `answer` is what answers a failure with it: an `if`, or the pipeline behind `||`. Without that, it is a `test` of a
    variable that leads there, where it ends as `holding` says.
    """

    within: Block | Pipeline
    path: _Path
    shell: int
    answer: Pipeline | Group | None = None
    test: Command | None = None
    holding: bool = False

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        within = self.within if isinstance(self.within, Block) else Block((Chain((self.within,), (), ""),))
        return tuple(surface_of(within))

    def may_run(self, value: Value) -> bool:
        """Return whether it may run where the variable that its test looks at has a value."""
        return self.test is not None and holds(self.test, value) is not (not self.holding)

    @cached_property
    def alone(self) -> tuple[Command, ...]:
        """The commands that it runs in any case."""
        return _in_any_case(self.within) if isinstance(self.within, Block) else ()

    @cached_property
    def recorded(self) -> dict[str, int]:
        """The variables that it sets in any case, with where; those that its functions set are added."""
        return {name: it.start for it in self.alone for name, _ in values_set(it, failed=True)}


@dataclass
class _Reading:
    """What stands in a script, in its order."""

    script: Block
    settings: dict[str, dict[Value | None, dict[int, list[int]]]] = field(default_factory=dict)
    """Where each variable is set to each value, by the shells or functions; None where it is not known to what."""
    leaving: list[int] = field(default_factory=list)
    """Where `exit` or `return` may end with 0, or the shell becomes another program."""
    turning: list[int] = field(default_factory=list)
    """Where a round of a loop is left."""
    branches: list[_Branch] = field(default_factory=list)
    tellers: dict[tuple[int, str], list[int]] = field(default_factory=dict)
    """The numbers of the chains of a block that may fail because of a variable."""
    after_failure: set[int] = field(default_factory=set)
    setting: dict[tuple[str, Value | None], frozenset[int]] = field(default_factory=dict)
    local: set[tuple[int, str]] = field(default_factory=set)
    functions: set[int] = field(default_factory=set)
    noting: dict[str, frozenset[str]] = field(default_factory=dict)
    """The variables that each function sets in any case."""
    leaves_from_functions: bool = False

    @cached_property
    def failing(self) -> frozenset[str]:
        return failing_functions(self.script)

    def walk(self, block: Block, shell: int, path: _Path) -> None:
        for number, chain in enumerate(block.chains):
            here = (*path, (block, number))
            for name in _told_of(chain):
                self.tellers.setdefault((id(block), name), []).append(number)
            # What the variables of another shell hold is lost with it.
            self._take_branches(chain, here if chain.end != "&" else (), shell)
            for pipeline in chain.pipelines:
                for part in pipeline.parts:
                    if isinstance(part, Command):
                        self._take(part, shell)
                    else:
                        alone = len(pipeline.parts) == 1 and chain.end != "&" and part.kind not in ("(", "function")
                        self._enter(part, here if alone else (), shell if alone else id(part))

    def _enter(self, group: Group, path: _Path, shell: int) -> None:
        if group.kind == "function":
            self.functions.add(shell)
            body = function_body(group)
            self.walk(body, shell, ())
            if (alone := _in_any_case(body)) and not any(map(leaves_well, surface_of(body))):
                noted = (name for it in alone for name, _ in values_set(it, failed=True))
                named = frozenset(it for it in noted if (shell, it) not in self.local)
                self.noting.update((name, named) for name in group.words[:1] if named)
            return
        if group.kind in ("for", "select") and group.words:
            self._set(group.words[0], None, group.start, shell)
        for _, block in group.blocks:
            self.walk(block, shell, path)

    def _take(self, it: Command, shell: int) -> None:
        for name, values in values_set(it, failed=it.before == "||" or id(it) in self.after_failure):
            for value in (None,) if values is None else values:
                self._set(name, value, it.start, shell)
        if it.program == "local":
            self.local.update((shell, word.partition("=")[0]) for word in it.plain)
        if it.program in ("break", "continue"):
            self.turning.append(it.start)
        elif leaves_well(it) or "exec" in it.wrappers:
            self.leaving.append(it.start)
            if shell in self.functions and it.program != "return" and looked_at("".join(it.words[1:])) in ("", "?"):
                self.leaves_from_functions = True
        for block in it.handed:
            self.walk(block, id(block), ())

    def _set(self, name: str, value: Value | None, start: int, shell: int) -> None:
        self.settings.setdefault(name, {}).setdefault(value, {}).setdefault(shell, []).append(start)

    def _take_branches(self, chain: Chain, here: _Path, shell: int) -> None:
        for left, operator, right in zip(chain.pipelines, chain.operators, chain.pipelines[1:], strict=False):
            part = right.parts[0]
            if operator == "||" and _is_braces(right) and isinstance(part, Group) and working(left):
                self._answered(part.blocks[0][1], here, shell, right)
        if chain.operators and (test := _alone(chain.pipelines[0])) is not None and tested_name(test):
            holding = (chain.operators[0] == "&&") != chain.pipelines[0].negated
            right = chain.pipelines[1]
            self.branches.append(_Branch(right, here, shell, test=test, holding=holding))
            part = right.parts[0]
            if _is_braces(right) and isinstance(part, Group):
                self.branches.append(_Branch(part.blocks[0][1], here, shell, test=test, holding=holding))
        part = chain.pipelines[0].parts[0]
        if len(chain.pipelines[0].parts) == 1 and isinstance(part, Group) and part.kind == "if":
            self._take_if(part, here, shell)

    def _take_if(self, group: Group, here: _Path, shell: int) -> None:
        if (asked := _only(group.blocks[0][1])) is None:
            return
        test = _alone(asked)
        for at in (1, 2) if [role for role, _ in group.blocks[1:]] == ["body", "else"] else (1,):
            block, holding = group.blocks[at][1], (at == 1) != asked.negated
            if test is not None and tested_name(test):
                self.branches.append(_Branch(block, here, shell, test=test, holding=holding))
            elif not holding and working(asked):
                # Behind `if !`, `$?` is 0.
                self._answered(block, here, shell, group, status=at > 1)

    def _answered(
        self, block: Block, here: _Path, shell: int, answer: Pipeline | Group, *, status: bool = True
    ) -> None:
        """Note a branch behind a failure, whose `status` its first command may look at."""
        if status and (first := _first(block)) is not None:
            self.after_failure.add(id(first))
        self.branches.append(_Branch(block, here, shell, answer))

    def told(self) -> Iterator[_Branch]:
        """Yield the branches that run only where the script fails later because of a variable."""
        by_shell = (it for values in self.settings.values() for it in values.values())
        for found in (self.leaving, self.turning, *(starts for it in by_shell for starts in it.values())):
            found.sort()
        for it in self.branches:
            for call in it.alone if self.noting else ():
                it.recorded.update((name, call.start) for name in self.noting.get(call.program, ()))
            names = it.recorded if it.test is None else (tested_name(it.test),)
            if any(self._is_told(it, name) for name in names):
                yield it

    def _is_told(self, branch: _Branch, name: str) -> bool:
        if not 0 < len(self.settings.get(name, ())) <= _MOST_VALUES or self.leaves_from_functions:
            return False
        start = min((it.start for it in branch.commands), default=-1)
        for at in range(len(branch.path) - 1, -1, -1):
            block, number = branch.path[at]
            for teller in self._behind(block, number, name):
                if start < _start(block.chains[teller]) and self._reaches(
                    branch, name, start, branch.path[: at + 1], teller
                ):
                    return True
        return False

    def _behind(self, block: Block, number: int, name: str) -> Sequence[int]:
        """Return the first chain behind a number that may fail because of a variable."""
        found = self.tellers.get((id(block), name), [])
        at = bisect_left(found, number + 1)
        return found[at : at + 1]

    def _reaches(self, branch: _Branch, name: str, start: int, path: _Path, teller: int) -> bool:
        """Return whether a chain fails whenever a branch has run, whatever its variable was set to in between."""
        block, number = path[-1]
        chain = block.chains[teller]
        bare = len(path) == 1 and (branch.shell not in self.functions or teller == len(block.chains) - 1)
        # What stands before a branch of a loop runs behind it as well.
        again = any(_goes_round(it.chains[place]) for it, place in branch.path[len(path) - 1 :])
        first, end = _start(block.chains[number]) if again else start, _start(chain)
        if _any_within(self.leaving, start, end) or (len(path) > 1 and _any_within(self.turning, start, end)):
            return False
        if branch.test is not None and any(branch.may_run(it) for it in defaults(branch.test)):
            return False
        if branch.test is None and _any_within(self.turning, start, branch.recorded[name]):
            return False
        for value, by_shell in self.settings[name].items():
            own = by_shell.get(branch.shell, [])
            shells = self._shells(name, value)
            elsewhere = len(shells) > (branch.shell in shells)
            if value is None:
                if elsewhere or (own and (own[-1] >= first or branch.test is not None)):
                    return False
            elif (elsewhere or _any_within(own, first, end) or (own and branch.may_run(value))) and not self._fails(
                chain, name, value, bare=bare
            ):
                return False
        return True

    def _shells(self, name: str, value: Value | None) -> frozenset[int]:
        """Return the shells and functions that set a variable to a value, less those that have one of their own."""
        if (name, value) not in self.setting:
            found = self.settings[name][value]
            self.setting[name, value] = frozenset(it for it in found if (it, name) not in self.local)
        return self.setting[name, value]

    def _fails(self, chain: Chain, name: str, value: Value, *, bare: bool) -> bool:
        """Return whether a chain ends the script with a failure where a variable holds a value.

        A test alone does so only where errexit is heard of: `bare`.
        """
        part = chain.pipelines[0].parts[0]
        if isinstance(part, Group):
            return self._if_fails(part, name, value)
        if not chain.operators and part.program in ("exit", "return"):
            return status_fails(part.words[1], name, value)
        verdict = holds(part, value)
        verdict = None if verdict is None else verdict != chain.pipelines[0].negated
        if not chain.operators:
            return verdict is False and bare and part.errexit and not part.tested and not chain.pipelines[0].negated
        return verdict is (chain.operators[0] == "&&") and self._ends_badly(chain.pipelines[1], name, value)

    def _if_fails(self, group: Group, name: str, value: Value) -> bool:
        asked = _only(group.blocks[0][1])
        test = _alone(asked) if asked is not None else None
        verdict = holds(test, value) if test is not None else None
        if verdict is None or asked is None:
            return False
        bodies = group.blocks[1:2] if verdict != asked.negated else group.blocks[2:]
        if len(bodies) != 1 or bodies[0][0] == "test":
            return False
        return self._block_ends_badly(bodies[0][1], name, value)

    def _ends_badly(self, pipeline: Pipeline, name: str, value: Value) -> bool:
        part = pipeline.parts[0]
        if len(pipeline.parts) == 1 and isinstance(part, Group) and part.kind == "{":
            return self._block_ends_badly(part.blocks[0][1], name, value)
        return self._block_ends_badly(Block((Chain((pipeline,), (), ""),)), name, value)

    def _block_ends_badly(self, block: Block, name: str, value: Value) -> bool:
        last = _alone(block.chains[-1].pipelines[0]) if block.chains and not block.chains[-1].operators else None
        if (
            last is not None
            and last.program in ("exit", "return")
            and len(last.words) == 2
            and looked_at(last.words[1])
        ):
            others = (it for it in surface_of(block) if it is not last)
            return status_fails(last.words[1], name, value) and not any(map(leaves_well, others))
        return ends_badly(block, self.failing) and not any(it.program == "false" for it in surface_of(block))


def diagnosed(script: Block) -> frozenset[int]:
    """Return the identities of what runs only where a script tells of a failure, and of what answers one so.

    They are those of blocks, of pipelines of a chain, and of an `if` or a pipeline behind `||` that notes a failure.
    """
    reading = _Reading(script)
    reading.walk(script, id(script), ())
    found: set[int] = set()
    for it in reading.told():
        found.add(id(it.answer if it.answer is not None else it.within))
        if isinstance(it.within, Block):
            found.update(map(id, own_blocks(it.within)))
    for block in trapped(script):
        found.update(map(id, own_blocks(block)))
    return frozenset(found)


def _told_of(chain: Chain) -> Iterator[str]:
    """Yield the variable because of which a chain may fail, where it looks at one alone."""
    first = chain.pipelines[0]
    part: Part = first.parts[0]
    if len(first.parts) != 1 or chain.end == "&" or len(chain.operators) > 1:
        return
    if isinstance(part, Group):
        asked = _only(part.blocks[0][1]) if part.kind == "if" and not chain.operators else None
        test = _alone(asked) if asked is not None else None
        name = tested_name(test) if test is not None else ""
    elif part.program in ("exit", "return"):
        name = looked_at(part.words[1]) if len(part.words) == 2 and not chain.operators else ""
    else:
        name = tested_name(part)
    if name:
        yield name


def _in_any_case(block: Block) -> tuple[Command, ...]:
    parts = (it.pipelines[0].parts for it in block.chains if it.end != "&")
    return tuple(it[0] for it in parts if len(it) == 1 and isinstance(it[0], Command))


def _first(block: Block) -> Command | None:
    part = block.chains[0].pipelines[0].parts[0] if block.chains else None
    return part if isinstance(part, Command) else None


def _only(block: Block) -> Pipeline | None:
    return block.chains[0].pipelines[0] if len(block.chains) == 1 and not block.chains[0].operators else None


def _alone(pipeline: Pipeline) -> Command | None:
    part = pipeline.parts[0]
    return part if len(pipeline.parts) == 1 and isinstance(part, Command) else None


def _is_braces(pipeline: Pipeline) -> bool:
    part = pipeline.parts[0]
    return len(pipeline.parts) == 1 and isinstance(part, Group) and part.kind == "{"


def _goes_round(chain: Chain) -> bool:
    return any(isinstance(it, Group) and it.kind in _ROUNDS for pipeline in chain.pipelines for it in pipeline.parts)


def _start(chain: Chain) -> int:
    return chain.pipelines[0].parts[0].start


def _any_within(starts: Sequence[int], first: int, end: int) -> bool:
    at = bisect_left(starts, first)
    return at < len(starts) and starts[at] < end
