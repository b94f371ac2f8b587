"""Processes killed by name, or whoever holds a GPU."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for it in step.commands:
            if _kills(it):
                summary = f"`{it.text[:40]}` ends jobs of people who do not know of this upgrade"
                remedy = "drain the node before (`slurm_node`, `kubernetes_node`), or stop the unit with `service`"
                yield Finding(summary, step.command_at(it), remedy, step.id)


def _kills(it: Command) -> bool:
    if it.program in ("pkill", "killall", "killall5"):
        # With signal 0 it only asks.
        return not {"-0", "--version"} & set(it.words)
    short = "".join(word[1:] for word in it.words[1:] if word.startswith("-") and not word.startswith("--"))
    return it.program == "fuser" and ("k" in short or "--kill" in it.words) and any("nvidia" in it for it in it.words)


RULE = error(
    "SP173",
    "processes killed by name",
    "`pkill python` and `fuser -k /dev/nvidia*` end whatever matches, other people's jobs included, and a supervisor "
    "starts it again a second later while the driver is being replaced. Drain the node, stop what holds the GPUs by "
    "its unit, and state `gpu: {processes: none}` as a precondition.",
    check,
)
