"""`|| true` and its like: a failure that nobody hears of."""

import re
from collections.abc import Iterator

from stackplan.language.lint._called import called_in
from stackplan.language.lint._diagnosed import diagnosed
from stackplan.language.lint._failing import failing, installs
from stackplan.language.lint._half_way import half_way
from stackplan.language.lint._looking import imports
from stackplan.language.lint._negated import stopping_nothing
from stackplan.language.lint._predicates import predicates
from stackplan.language.lint._rounds import unheard
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._script import Script
from stackplan.language.lint._shell import Command
from stackplan.language.lint._status import asked, asks, mentions, nothing, passes_over, says, shows, working, works
from stackplan.language.lint._subject import Subject
from stackplan.language.lint._tree import Block, Chain, Group, Pipeline, blocks, surface, surface_of, within
from stackplan.language.lint._unstopped import Lost, Unstopped, in_own_shell
from stackplan.model.cached import cached_property

_AS_IF = "write it as `if`, and `exit 1` in it"
_GREPS = frozenset({"grep", "egrep", "fgrep", "zgrep", "rg"})
_SHORT = 30
_OFF = "from here on every failure is passed over"


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        assert step.script is not None
        for command, summary, remedy in _found(step.script):
            yield Finding(summary, step.command_at(command), remedy, step.id)
        for command in stopping_nothing(step.script.block) if "!" in step.script.text else ():
            summary = f"`! {command.program} …` stops nothing, whatever {command.program} ends with"
            yield Finding(summary, step.command_at(command), _AS_IF, step.id)


def _found(script: Script) -> Iterator[Lost]:
    told = _Told(script.block)
    unstopped = Unstopped.of(script.block)
    answering = predicates(unstopped.functions)
    traps = [it for it in script.commands if it.program == "trap"] if script.mentions("trap") else []
    trapped = {id(it) for command in traps for it in command.handed}
    for block in blocks(script.block):
        found = _in_block(block, script, unstopped.functions, answering)
        yield from (lost for lost in found if not told.covers(block, lost[0]))
        for number, chain in enumerate(block.chains):
            last = number == len(block.chains) - 1
            passed = [it for it in _passed_over(chain, block, script, last=last) if it[0][0].program not in answering]
            # What a trap runs has no say in how the script ends.
            for lost, left, right in passed if id(block) not in trapped else ():
                # Behind a branch that ends so the script fails anyway: nothing but a diagnosis is passed over.
                if not told.covers(block, lost[0]) and not told.covers(left, lost[0]) and id(right) not in told:
                    yield lost
            if not last:
                yield from _ended_well(chain, block.chains[number + 1])
            if not passed:
                yield from (it for it in unstopped.in_chain(chain) if it[0].program not in answering)
            found = (it for it in _in_parts(chain, told, script) if it[0].program not in answering)
            yield from (lost for lost in found if not told.covers(block, lost[0]))


def _in_block(block: Block, script: Script, functions: dict[str, Block], answering: frozenset[str]) -> Iterator[Lost]:
    """Look at the loops of a block, at what runs behind `set +e` in it, and at what `&&` leaves out."""
    yield from unheard(block)
    yield from _switched_off(block, script, functions)
    for first, left_out in half_way(block):
        if first.program not in answering:
            summary = f"where `{_start(first)}` fails, {left_out.program} is left out and the script goes on"
            yield first, summary, "write one command a line: each failure then stops the script"


class _Told:
    """What of a script runs only where that fails anyway; looked at when it is first asked for."""

    def __init__(self, script: Block) -> None:
        self._script = script

    def __contains__(self, identity: int) -> bool:
        return identity in self._found

    def covers(self, place: Block | Pipeline, lost: Command) -> bool:
        """Return whether what fails at a place is a part of a diagnosis, and not the trap that ends the script."""
        return id(place) in self._found and not installs(lost) and lost.program != "trap"

    @cached_property
    def _found(self) -> frozenset[int]:
        found = failing(self._script) | diagnosed(self._script)
        return found | called_in(self._script, found)


def _in_parts(chain: Chain, told: _Told, script: Script) -> Iterator[Lost]:
    for pipeline in chain.pipelines:
        for part in pipeline.parts:
            if isinstance(part, Group):
                yield from (it for it in _told_only(part, script) if id(part) not in told) if part.kind == "if" else ()
            elif part.handed:
                yield from in_own_shell(part)


def _start(command: Command) -> str:
    return command.text if len(command.text) <= _SHORT else f"{command.program} …"


def _passed_over(
    chain: Chain, block: Block, script: Script, *, last: bool
) -> Iterator[tuple[Lost, Pipeline, Pipeline]]:
    """Look at `A || B` for a B that makes nothing of A's failure; with that come A and B."""
    for at, operator in enumerate(chain.operators):
        left, right = chain.pipelines[at], chain.pipelines[at + 1]
        answer = Block((Chain((right,), (), ""),))
        if operator == "||" and _is_lost(answer, block, script):
            lost = working(left)
        elif operator == "&&" and at == len(chain.operators) - 1 and not last and all(map(says, surface_of(answer))):
            lost = [it for it in working(left) if not it.tested]
        else:
            continue
        if lost:
            yield _said(lost[-1], f"{operator} {_short(right)}"), left, right


def _ended_well(chain: Chain, following: Chain) -> Iterator[Lost]:
    """Look at `sh -c 'A; true'`: where a failure does not stop the text, what is last gives it its status."""
    last = following.pipelines[0].parts[0]
    if (
        isinstance(last, Command)
        and nothing(last)
        and len(following.pipelines[0].parts) == len(following.pipelines) == 1
    ):
        lost = [it for it in working(chain.pipelines[-1]) if not it.errexit and not it.tested]
        if lost:
            yield _said(lost[-1], f"; {last.text}")


def _said(command: Command, behind: str) -> Lost:
    summary = f"`{command.program} … {behind}` passes over every failure of {command.program}"
    return command, summary, f"test for the case that is meant: `if …; then {command.program} …; fi`"


def _short(pipeline: Pipeline) -> str:
    found = [it for part in pipeline.parts for it in surface(part)]
    text = found[0].text if len(found) == 1 else "{ … }"
    return text if len(text) <= _SHORT else f"{found[0].program} …"


def _is_lost(answer: Block, block: Block, script: Script) -> bool:
    found = list(surface_of(answer))
    if block.substituted and any((says(it) or shows(it)) and len(it.words) > 1 for it in found):
        # `$(command || echo none)` is a value of its own.
        return False
    if len(found) == 1 and not found[0].words:
        return _noted_for_nothing(found[0], script)
    return passes_over(answer) and not _kept_in_file(found, script)


def _kept_in_file(found: list[Command], script: Script) -> bool:
    """Return whether something is written into a file that a question looks at later: `[ -s "$failed" ]`."""
    targets = {to for it in found for sign, to in it.redirections if ">" in sign and not to.startswith("/dev/")}
    behind = max((it.start for it in found), default=0)
    later = (it for it in script.commands if it.start > behind and asks(it) and not shows(it)) if targets else ()
    return any(to in it.text or ("<", to) in it.redirections for it in later for to in targets - {""})


def _noted_for_nothing(it: Command, script: Script) -> bool:
    """Return whether the variable of `|| rc=$?` is never looked at."""
    names = [word.partition("=")[0].rstrip("+") for word in it.assignments]
    return bool(names) and script.variables.isdisjoint(names)


def _told_only(group: Group, script: Script) -> Iterator[Lost]:
    """Look at `if ! A; then echo; fi`, in which a failure leads to nothing but words."""
    tests = [block for role, block in group.blocks if role == "test"]
    bodies = [block for role, block in group.blocks if role == "body"]
    otherwise = [block for role, block in group.blocks if role == "else"]
    if len(tests) != 1 or len(tests[0].chains) != 1:
        return
    chain = tests[0].chains[0]
    negated = chain.pipelines[0].negated
    failed = bodies[:1] if negated else otherwise
    if (
        failed
        and passes_over(failed[0])
        and not _kept_in_file(list(surface_of(failed[0])), script)
        and not _is_question(chain.pipelines[-1])
        and (worked := working(chain.pipelines[-1]))
    ):
        command = worked[-1]
        summary = f"a failure of {command.program} leads to words alone, and the script goes on"
        yield command, summary, "end the branch with `exit 1`"


def _is_question(pipeline: Pipeline) -> bool:
    """Return whether a silent grep answers for all before it, or Python is asked for a module."""
    last = pipeline.parts[-1]
    if not isinstance(last, Command):
        return False
    if len(pipeline.parts) > 1 and last.program in _GREPS:
        return last.has_flag("q", "--quiet", "--silent") or any(to == "/dev/null" for _, to in last.redirections)
    return imports(last)


def _switched_off(block: Block, script: Script, functions: dict[str, Block]) -> Iterator[Lost]:
    """Look at what runs between `set +e` and its end; whose status is looked at may fail."""
    pipelines = [it for chain in block.chains for it in chain.pipelines]
    for command in _first_of_each(pipelines):
        if command.program == "trap" and _ends_well(command, functions):
            yield command, f"`{command.text[:40]}` ends the script with 0 after a failure", "take it out"
    for command in reversed(list(_passing_over(pipelines, script))):
        yield command, f"`{command.text}`: {_OFF}", "take it out, and test the one command that may fail"


def _first_of_each(pipelines: list[Pipeline]) -> Iterator[Command]:
    return (it.parts[0] for it in pipelines if isinstance(it.parts[0], Command))


def _passing_over(pipelines: list[Pipeline], script: Script) -> Iterator[Command]:
    """Yield each `set +e` behind which something fails unheard before `set -e`, the last one first."""
    if not any(("errexit", False) in it.switched for it in _first_of_each(pipelines)):
        return
    unheard = False
    for at in range(len(pipelines) - 1, -1, -1):
        parts = pipelines[at].parts
        if unheard and isinstance(parts[0], Command) and ("errexit", False) in parts[0].switched:
            yield parts[0]
        if any(isinstance(it, Command) and ("errexit", True) in it.switched for it in parts):
            unheard = False
        else:
            unheard = unheard or _unheard(pipelines[at], pipelines[at + 1 : at + 2], script)


def _unheard(pipeline: Pipeline, following: list[Pipeline], script: Script) -> bool:
    """Return whether nobody looks at the status of something that works: no `$?`, `if` or `||`."""
    if not any(works(it) and not it.tested and it.after not in ("&&", "||") for it in working(pipeline)):
        return False
    for it in (command for other in following for command in within(other)):
        if mentions(it, "?"):
            names = [
                word.partition("=")[0] for word in (*it.assignments, *it.words[1:]) if re.match(r"\w+=.*\$\{?\?", word)
            ]
            return bool(names) and script.variables.isdisjoint(names)
    return not any(map(asked, following))


def _ends_well(command: Command, functions: dict[str, Block]) -> bool:
    """Return whether `trap TEXT EXIT` gives the script a status of its own, by itself or by a function that it runs."""
    ends = {"EXIT", "ERR", "0"} & set(command.plain[1:])
    found = [it for block in command.handed for it in surface_of(block)]
    if found and (body := functions.get(found[-1].program)) is not None:
        found[-1:] = surface_of(body)
    return bool(ends) and bool(found) and nothing(found[-1]) and found[-1].program == "exit" and not asks(found[0])


RULE = warning(
    "SP160",
    "a failure that is passed over",
    "`pip uninstall … || true` was written for one harmless case (a missing RECORD) and hides every other failure of "
    "that line; `|| echo failed`, `if` with words alone for the failure, and `set +e` hide them too. stackplan runs "
    "scripts with -euo pipefail so that the first failure stops the step; a status turned round by an exclamation "
    "mark never does, so a negated grep in the middle of a script is no check; nor does what "
    "fails before the last of several commands joined by `&&`, so `cd X && make install` leaves the work out and the "
    "next line runs; nor what fails within `f || …`, `if f` or `{ …; } || …` before the last command there, in "
    "`x=$(a; b)`, where bash has switched errexit off, or in the "
    "text of a shell without -e, such as `ssh NODE 'a; b'`. Programs that answer with their status, such as grep and "
    "test, are otherwise not meant, nor what takes away something that may be gone already (rm, kill, umount), nor "
    "what sends word to somebody, nor a status that is looked at (`rc=$?`), nor a diagnosis in a branch that ends with "
    "`exit 1`, behind a failure that the script notes in a variable and ends with later (`exit $failed`), or in what a "
    "trap runs behind one.",
    check,
    by_step=True,
)
