"""The kind `command`: how a read-only command ends and what it prints."""

import hashlib
import shlex
from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar, Self

from stackplan.conditions._answers import mapping, matching, one_line, unanswered
from stackplan.model.arguments import Arguments
from stackplan.model.change import Held, State
from stackplan.model.concern import Concern, Matter, named
from stackplan.model.facts import Facts, Plain, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.matcher import Matcher, read_matcher
from stackplan.model.secret import Text
from stackplan.model.verdict import Verdict, conjunction, held, not_held, unknown

DEFAULT_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Command(ConditionKind):
    """A command that only reads ends with an exit status and prints what matches.

    `run` is a text for `bash -euo pipefail`, `argv` a program with its words, without a shell. The standard input is
    empty and there is no terminal. It is asked before and after the step and again after later ones, so it must not
    change anything. A command that cannot be started or takes too long leaves the verdict unknown.
    """

    steady: ClassVar[bool] = False

    run: str | None = None
    argv: tuple[str, ...] = ()
    exit_code: int = 0
    stdout: Matcher | None = None
    stderr: Matcher | None = None
    environment: Mapping[str, Text] = field(default_factory=dict)
    timeout_s: float = DEFAULT_TIMEOUT_S

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        run, argv = arguments.optional_text("run"), arguments.texts("argv")
        if run is None and not argv:
            raise arguments.invalid("run", "neither `run` nor `argv` is given", expected="a command")
        if run is not None and argv:
            raise arguments.invalid("argv", "`run` and `argv` are both given", remedy="take one of them away")
        return cls(
            run=run,
            argv=argv,
            exit_code=arguments.integer("exit_code", 0),
            stdout=read_matcher(arguments, "stdout"),
            stderr=read_matcher(arguments, "stderr"),
            environment=arguments.environment(),
            timeout_s=arguments.duration_s("timeout", DEFAULT_TIMEOUT_S),
        )

    def describe(self) -> str:
        stated = [] if self.exit_code == 0 and (self.stdout or self.stderr) else [f"exits {self.exit_code}"]
        stated += [matching(word, it) for word, it in (("stdout", self.stdout), ("stderr", self.stderr)) if it]
        return f"`{self._shown}` {' and '.join(stated)}"

    def queries(self) -> tuple[Query, ...]:
        return (self._query,)

    def evaluate(self, facts: Facts) -> Verdict:
        text = self.describe()
        told = mapping(facts[self._query])
        if told is None:
            return unanswered(text, facts[self._query], expected=f"exit status {self.exit_code}")
        parts = [self._ending(told)]
        for stream, matcher in (("stdout", self.stdout), ("stderr", self.stderr)):
            if matcher is not None and parts[0].held:
                parts.append(self._printed(stream, matcher, told))
        return conjunction(text, tuple(parts))

    def concerns(self) -> tuple[Concern, ...]:
        # It looks only: what an installer would be told to install does not matter to it.
        return tuple(it for it in named(self.run or shlex.join(self.argv)) if it.matter is Matter.PROGRAM)

    def state(self, facts: Facts) -> State:
        told = mapping(facts[self._query])
        if told is None:
            return {}
        # What nobody looks at may differ each time (a date, a process number) and is no change of the node.
        watched = [str(told[stream]) for stream, it in (("stdout", self.stdout), ("stderr", self.stderr)) if it]
        first = one_line(watched[0].strip().partition("\n")[0], 80) if watched else ""
        text = f"{_ending_text(told)}: {first}" if first else _ending_text(told)
        return {("command", self._shown): Held(text, hashlib.sha256("\0".join(watched).encode()).hexdigest())}

    @property
    def _shown(self) -> str:
        return one_line(self.run or shlex.join(self.argv), 80)

    @property
    def _query(self) -> Query:
        command: Mapping[str, str | tuple[str, ...]]
        command = {"argv": self.argv} if self.run is None else {"run": self.run}
        return Query("command", {**command, "env": self.environment, "timeout_s": self.timeout_s})

    def _ending(self, told: Mapping[str, Plain]) -> Verdict:
        text = f"`{self._shown}` exits {self.exit_code}"
        observed = _ending_text(told)
        if told["exit_code"] == self.exit_code:
            return held(text, observed=observed)
        said = str(told["stderr"]).strip() or str(told["stdout"]).strip()
        last = one_line(said.splitlines()[-1]) if said else None
        return not_held(text, expected=f"exit status {self.exit_code}", observed=observed, evidence=last)

    def _printed(self, stream: str, matcher: Matcher, told: Mapping[str, Plain]) -> Verdict:
        text = matching(f"`{self._shown}` {stream}", matcher)
        printed = str(told[stream])
        observed = one_line(printed) or "nothing"
        if matcher.accepts(printed):
            return held(text, observed=observed)
        if told["truncated"]:
            return unknown(text, why="it printed more than was kept", expected=matcher.text)
        return not_held(text, expected=matcher.text, observed=observed)


def _ending_text(told: Mapping[str, Plain]) -> str:
    return f"ended by {told['signal']}" if told["signal"] is not None else f"exit status {told['exit_code']}"


KIND = Command
