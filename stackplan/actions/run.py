"""Running a script or a program whose effects are its author's business."""

import re
from collections.abc import Mapping
from typing import ClassVar

from stackplan.actions._invocation import Invocation, Word, words
from stackplan.actions._script_failures import explain_script_failure
from stackplan.model.arguments import Arguments
from stackplan.model.concern import Concern, named
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.facts import Facts, Query
from stackplan.model.frozen import dataclass
from stackplan.model.job import Exited, Job
from stackplan.model.kind import ActionKind, Evidence
from stackplan.model.secret import MASK, Secret, Text, reveal, without_passwords


@dataclass(frozen=True, slots=True)
class Run(ActionKind):
    """Runs a bash script (`-euo pipefail`) or an argv; what it changes is not declared, so plans say "would run".

    A script may hold secrets: it reaches bash as a file in memory, never on a command line. It may read its standard
    input (`stdin`, else nothing) without eating the rest of itself. No argv may hold secrets; `env`, `stdin` may.
    """

    predicts: ClassVar[bool] = False

    script: Text | None
    argv: tuple[str, ...]
    environment: Mapping[str, Text]
    cwd: str | None
    stdin: Text | None

    @classmethod
    def read(cls, arguments: Arguments) -> "Run":
        if ("script" in arguments) == ("argv" in arguments):
            what = "both a script and an argv" if "script" in arguments else "neither a script nor an argv"
            key = "argv" if "argv" in arguments else "script"
            raise arguments.invalid(key, f"`run` has {what}", expected="exactly one of `script`, `argv`")
        script = arguments.optional_secret_text("script")
        if script is not None and not reveal(script).strip():
            raise arguments.invalid("script", "the script is empty", remedy="write it, or use `checkpoint: {}`")
        argv = arguments.texts("argv")
        if script is None and (not argv or not argv[0].strip()):
            raise arguments.invalid("argv", "`argv` names no program", expected="a program and its arguments")
        tilde = next((index for index, word in enumerate(argv) if word == "~" or word.startswith("~/")), None)
        if tilde is not None:
            place = arguments.place("argv", tilde)
            summary = f"`{argv[tilde]}` stays as it is: no shell expands `~` in an `argv`"
            remedy = "write the whole path, or use `script`"
            raise Invalid([Diagnosis(summary=summary, observed=argv[tilde], at=place, remedy=remedy)])
        for text in (*argv, reveal(script) if script is not None else ""):
            if "\0" in text:
                key = "argv" if argv else "script"
                raise arguments.invalid(key, f"`{key}` holds a NUL character, which no program can be given")
        return cls(
            script=script,
            argv=argv,
            environment=arguments.environment(),
            cwd=arguments.optional_text("cwd"),
            stdin=arguments.optional_secret_text("stdin"),
        )

    def describe(self) -> str:
        if self.script is None:
            return f"run {' '.join(word.shown for word in words(*self.argv))}"
        lines = [line.strip() for line in without_passwords(reveal(self.script)).splitlines()]
        lines = [line for line in lines if line and not line.startswith("#")]
        if isinstance(self.script, Secret):
            return f"run a script of {len(lines)} {'line' if len(lines) == 1 else 'lines'}"
        more = (
            f" and {len(lines) - 1} more lines" if len(lines) > 2 else " and one more line" if len(lines) == 2 else ""
        )
        return f"run `{lines[0] if lines else ''}`{more}"

    def queries(self) -> tuple[Query, ...]:
        return ()

    def concerns(self) -> tuple[Concern, ...]:
        return named(" ".join(self.argv) if self.script is None else reveal(self.script))

    def job(self, facts: Facts) -> Job:  # noqa: ARG002 - it depends on nothing
        return Job((self._invocation().stage(),))

    def diagnose(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        ending = evidence.ending
        key = "script" if self.script is not None else "argv"
        if not isinstance(ending, Exited) or ending.code not in (126, 127):
            return explain_script_failure(evidence, key)
        match = re.search(
            r"(?:bash|/dev/fd/\d+)(?:: line (\d+))?: ([^\n:]+): (?:command not found|No such file)", evidence.output
        )
        if match is None:
            match = re.search(r"there is no program `?()([^`\s]+)`?", evidence.output)
        if match is None:
            return ()
        where = f" (line {match[1]} of the script)" if match[1] else ""
        summary = f"There is no program `{match[2]}` on the PATH of the step{where}."
        remedy = (
            "Name it by its whole path: a step has the login's environment, without what an interactive shell adds."
        )
        place = evidence.arguments.place(key)
        return (Diagnosis(code="SP241", summary=summary, at=place, step=evidence.step, remedy=remedy, remedy_at=place),)

    def _invocation(self) -> Invocation:
        if self.script is None:
            line = words(*self.argv)
        else:
            shown = MASK if isinstance(self.script, Secret) else without_passwords(self.script).rstrip("\n")
            line = (*words("bash", "-euo", "pipefail"), Word(f"<<'SCRIPT'\n{shown}\nSCRIPT", file=self.script))
        return Invocation(line=line, environment=self.environment, stdin=self.stdin, cwd=self.cwd)


KIND = Run
