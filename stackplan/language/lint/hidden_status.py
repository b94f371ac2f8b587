"""A status that nobody hears of: a pipe in a shell without pipefail, a command in the background, `export A=$(…)`."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, pairwise, zip_longest

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._shell import Command
from stackplan.language.lint._status import asks, mentions, passes_over, says, works
from stackplan.language.lint._subject import Subject
from stackplan.language.lint._tree import Block, Chain, Group, Part, Pipeline, blocks, flat, surface, within
from stackplan.language.lint._unstopped import MASKING
from stackplan.language.lint._waiting import gathered, hears_the_last, tells_of_all
from stackplan.model.cached import cached_property
from stackplan.model.frozen import dataclass
from stackplan.model.regular import regular

_FEEDING = frozenset({"yes", "echo", "printf", "cat", "true", ":"})
_OWN_LIFE = frozenset({"tail", "sleep", "watch", "ssh-agent"})
_ENDING = frozenset({"kill", "pkill", "killall", "skill", "timeout"})
_ONE_BY_ONE = "wait for each of them: `for pid in …; do wait $pid || failed=1; done`"
_SEARCHING = frozenset({"grep", "egrep", "fgrep", "zgrep", "rg"})
_LOOKED_AFTER = regular(r"\$!|%\d|\$\{!\}")


@dataclass
class _Jobs:
    """What the commands of a script have to do with those in the background; looked at once for all of them."""

    script: Block
    commands: tuple[Command, ...]

    @cached_property
    def looked_after(self) -> bool:
        return any(_LOOKED_AFTER.search(it.text) for it in self.commands)

    @cached_property
    def waits(self) -> list[Command]:
        return [it for it in self.commands if it.program == "wait"]

    @cached_property
    def named(self) -> bool:
        """Whether a `wait` names a process, or tells of each."""
        return tells_of_all(self.script, self.waits)

    @cached_property
    def gathered(self) -> frozenset[str]:
        """The variables that hold the numbers of several processes."""
        return gathered(self.commands)

    @cached_property
    def last_question(self) -> int:
        """The offset of the last command that asks for something; -1 where none does."""
        return max((it.start for it in self.commands if asks(it)), default=-1)

    @cached_property
    def last_check(self) -> int:
        """The offset of the last command that asks for something else than a process; -1 where none does."""
        return max((it.start for it in self.commands if it.program != "wait" and asks(it)), default=-1)

    @cached_property
    def ended(self) -> bool:
        """Whether the script ends a process itself, whose status then says no more than that."""
        return any(it.program in _ENDING for it in self.commands)

    @cached_property
    def works(self) -> bool:
        """Whether something that works is sent into the background."""
        chains = (it for block in blocks(self.script) for it in block.chains if it.end == "&")
        found = (it for chain in chains for part in chain.pipelines[-1].parts for it in surface(part))
        return any(works(it) and it.program not in _OWN_LIFE for it in found)

    @cached_property
    def _ordered(self) -> tuple[list[int], list[int], str]:
        """The offsets of the commands in the script, those in a text of all of them, and that text."""
        ordered = sorted(self.commands, key=lambda it: it.start)
        texts = [f"{it.text}\n" for it in ordered]
        return [it.start for it in ordered], list(accumulate(map(len, texts), initial=0)), "".join(texts)

    def speak_of(self, text: str, *, behind: int) -> bool:
        """Return whether a command behind an offset has a text in its words."""
        starts, offsets, whole = self._ordered
        return whole.find(text, offsets[bisect_right(starts, behind)]) >= 0


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        assert step.script is not None
        jobs = _Jobs(step.script.block, step.commands)
        for wait in jobs.waits:
            if hears_the_last(wait, jobs.gathered):
                summary = f"`{wait.text[:40]}` has the status of the last process alone, whatever the others ended with"
                yield Finding(summary, step.command_at(wait), _ONE_BY_ONE, step.id)
        for block in blocks(step.script.block):
            for command, summary, remedy in _hidden(block, jobs):
                yield Finding(summary, step.command_at(command), remedy, step.id)


def _hidden(block: Block, jobs: _Jobs) -> Iterator[tuple[Command, str, str]]:
    for chain, following in zip_longest(block.chains, block.chains[1:]):
        for pipeline in chain.pipelines:
            if following is None or not _asks_each(following):
                yield from _in_pipe(pipeline)
            for it in (command for part in pipeline.parts if isinstance(part, Command) for command in (part,)):
                if it.program in MASKING and any(_fails(it, word) for word in it.words[1:]):
                    summary = f"`{it.program} NAME=$(…)` ends with 0, also when the command in it fails"
                    yield it, summary, f"assign first, then `{it.program} NAME`"
        yield from _in_background(chain, jobs)
        yield from _waited_for_nothing(chain, jobs) if "||" in chain.operators and jobs.waits else ()
        yield from _detached(chain, jobs)


def _fails(it: Command, word: str) -> bool:
    """Return whether a word takes the output of a command that may fail: `$(hostname)` hardly does."""
    if re.match(r"\w+=.*(?:\$\((?!\()|`)", word, re.DOTALL) is None:
        return False
    inner = [command for block in it.inner for command in flat(block)]
    return not inner or any(command.program not in _HARDLY_FAIL for command in inner)


_HARDLY_FAIL = frozenset(
    {"pwd", "date", "hostname", "uname", "whoami", "id", "nproc", "echo", "printf", "basename", "dirname"}
)


def _asks_each(chain: Chain) -> bool:
    """Return whether a chain looks at the status of each program of the pipe before it."""
    return any("PIPESTATUS" in word for it in within(chain.pipelines[0]) for word in (*it.words, *it.assignments))


def _in_pipe(pipeline: Pipeline) -> Iterator[tuple[Command, str, str]]:
    last = pipeline.parts[-1]
    if isinstance(last, Command) and last.program in _SEARCHING and last.has_flag("q", "--quiet", "--silent"):
        # What fails prints nothing that could be found.
        return
    for first, second in pairwise(pipeline.parts):
        for it in _last(first):
            if not it.pipefail and not it.tested and it.program not in _FEEDING and not asks(it):
                name = next((command.program for command in surface(second)), "…")
                summary = f"this shell has no pipefail: of `{it.program} … | {name}` only the end counts"
                yield (
                    it,
                    summary,
                    "write it as `script`, which stackplan runs with -euo pipefail, or `bash -o pipefail -c`",
                )
                return


def _last(part: Part) -> list[Command]:
    return list(surface(part))[-1:]


def _in_background(chain: Chain, jobs: _Jobs) -> Iterator[tuple[Command, str, str]]:
    if chain.end != "&":
        return
    found = [
        it for part in chain.pipelines[-1].parts for it in surface(part) if works(it) and it.program not in _OWN_LIFE
    ]
    if not found or jobs.looked_after:
        return
    if not jobs.waits:
        summary = f"`{found[0].program} … &` goes on by itself, and nobody hears how it ends"
        yield found[0], summary, "take the `&` out, or `wait` for its process: `wait $!`"
    elif not jobs.named and not _tells(chain, jobs):
        summary = f"a `wait` that names no process ends with 0, also when `{found[0].program} … &` failed"
        if any("-n" in it.words for it in jobs.waits):
            summary = f"`wait -n` tells of one process, and others such as `{found[0].program} … &` may fail unheard"
        yield found[0], summary, "keep its number, `pid=$!`, and `wait $pid`"


def _waited_for_nothing(chain: Chain, jobs: _Jobs) -> Iterator[tuple[Command, str, str]]:
    """Look at `wait $pid || true`, where nobody asks later for what the process was to do."""
    for left, right, operator in zip(chain.pipelines, chain.pipelines[1:], chain.operators, strict=False):
        it = left.parts[-1]
        if operator != "||" or not isinstance(it, Command) or it.program != "wait" or left.negated:
            continue
        lost = passes_over(Block((Chain((right,), (), ""),))) and jobs.works
        if lost and not jobs.ended and jobs.last_check <= it.start:
            summary = f"`{it.text[:40]} || …` passes over how the process ended"
            yield it, summary, "note it, `wait $pid || failed=1`, and `exit $failed` at the end"


def _detached(chain: Chain, jobs: _Jobs) -> Iterator[tuple[Command, str, str]]:
    """Look at what a program of its own sends into the background: `screen -dmS`, `tmux new -d`, `daemonize`."""
    for it in (part for pipeline in chain.pipelines for part in pipeline.parts if isinstance(part, Command)):
        if _detaches(it) and jobs.last_question <= it.start:
            summary = f"`{it.program} …` leaves its command running by itself, and nobody hears how it ends"
            yield it, summary, "run it as a step of its own, or as a unit with `service`"


def _detaches(it: Command) -> bool:
    if it.program == "tmux":
        return bool({"new", "new-session"} & set(it.plain[:1])) and it.has_flag("d")
    if it.program == "screen":
        return it.has_flag("d") and it.has_flag("m") and len(it.plain) > 1
    if it.program == "start-stop-daemon":
        return it.has("--background", "-b") and it.has("--start", "-S")
    return it.program == "daemonize"


def _tells(chain: Chain, jobs: _Jobs) -> bool:
    """Return whether a job itself leaves word of how it ended, or of what it did: a file that is looked at later."""
    groups = [part for part in chain.pipelines[-1].parts if isinstance(part, Group)]
    inner = [it for group in groups for _, block in group.blocks for it in blocks(block)]
    if any(_leads_on(it) for it in (chain, *(it for block in inner for it in block.chains))):
        return True
    if any(mentions(it, "?") for it in within(chain.pipelines[-1])):
        return True
    last = max(it.start for it in within(chain.pipelines[-1]))
    targets = [
        target.partition("$")[0]
        for part in chain.pipelines[-1].parts
        for redirections in (part.redirections, *(it.redirections for it in surface(part)))
        for _, target in redirections
        if target != "/dev/null"
    ]
    return any(target and jobs.speak_of(target, behind=last) for target in targets)


def _leads_on(chain: Chain) -> bool:
    """Return whether something other than more work hangs on how a command ends: `A || B`, `A && touch FILE`."""
    last = [it for part in chain.pipelines[-1].parts for it in surface(part)]
    return "||" in chain.operators or (bool(chain.operators) and all(says(it) or it.program == "touch" for it in last))


RULE = warning(
    "SP162",
    "a construct that hides an exit status",
    "`uv pip install … 2>&1 | tail -30` has the status of tail. In a `script` stackplan sets pipefail; in a text for "
    "`sh -c`, or after `set +o pipefail`, nobody does. `export A=$(command)` has the status of export everywhere, and "
    "a command with `&` behind it has none unless somebody waits for it by its number: a `wait` alone ends with 0, "
    "`wait -n` tells of one process, `wait A B` of B, and `wait A || true` of none.",
    check,
    by_step=True,
)
