"""systemctl in a script: it ends with 0 before the service is up."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Subject

_VERBS = frozenset(
    {"start", "stop", "restart", "reload", "try-restart", "reload-or-restart", "enable", "disable", "mask"}
)


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for it in step.commands:
            done = _verb(it)
            if done == "daemon-reload":
                summary = "`daemon-reload` takes the GPUs away from running containers"
                yield Finding(summary, step.command_at(it), "drain the node in a step before", step.id)
            elif done in _VERBS and "--user" not in it.words:
                summary = f"`systemctl {done}` ends with 0 as soon as the program runs, and is hidden in a script here"
                yield Finding(summary, step.command_at(it), "write it as a step `service`", step.id)


def _verb(it: Command) -> str | None:
    if it.program == "service":
        return it.words[2] if len(it.words) > 2 else None
    plain = [word for word in it.words[1:] if not word.startswith("-")]
    return plain[0] if it.program == "systemctl" and plain else None


RULE = warning(
    "SP172",
    "a service started or stopped in a script",
    "systemctl is content when the program was started; one that dies of its configuration a moment later is not "
    "noticed. The action `service` reads the unit's own state and waits. `daemon-reload` makes running containers "
    "lose their GPUs (`Failed to initialize NVML: Unknown Error`) while the host looks healthy. Units of a user "
    "(`--user`) are not meant.",
    check,
)
