"""systemctl in a script: it ends with 0 before the service is up."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Looked, Statement, Subject
from stackplan.model.regular import regular

_VERBS = frozenset({
    "start", "stop", "restart", "reload", "try-restart", "condrestart", "reload-or-restart", "reload-or-try-restart",
    "try-reload-or-restart", "force-reload", "force-restart", "kill", "isolate",
})  # fmt: skip
# These write links alone, unless `--now` starts or stops the unit as well.
_WITH_NOW = frozenset({"enable", "disable", "reenable", "mask"})
_MILD = regular(r"(?:^|=|\s|-s)(?:SIG)?(?:HUP|USR1|USR2|WINCH|CONT)$")
_TAKING = frozenset({
    "-H", "-M", "-t", "-p", "-P", "-s", "-n", "-o", "--host", "--machine", "--type", "--property", "--signal",
    "--state", "--root", "--job-mode",
})  # fmt: skip


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for it in step.commands:
            done = _verb(it)
            if done is None or it.elsewhere or not {"--user", "--help"}.isdisjoint(it.words):
                continue
            if done == "daemon-reload":
                if found := _of_reload(step):
                    yield Finding(found[0], step.command_at(it), found[1], step.id)
            elif done == "kill":
                if not any(_MILD.search(word) for word in it.words):
                    summary = (
                        f"`{it.program} kill` ends with 0 before the service is gone, and is hidden in this script"
                    )
                    yield Finding(summary, step.command_at(it), "write it as a step `service`", step.id)
            elif done in _VERBS or (done in _WITH_NOW and "--now" in it.words):
                summary = f"`{it.program} {done}` ends with 0 before the state is proven, and is hidden in this script"
                yield Finding(summary, step.command_at(it), "write it as a step `service`", step.id)


def _of_reload(step: Looked) -> tuple[str, str] | None:
    """Return what is wrong with a daemon-reload and its remedy; None in a step of its own that proves it of a unit."""
    if any(_verb(other) != "daemon-reload" for other in step.commands):
        return "`daemon-reload` takes the GPUs away from running containers", "drain the node in a step before"
    if any(it.kind == "service" or (it.kind == "command" and _asks_manager(it)) for it in step.postconditions):
        return None
    return (
        "no postcondition tells whether systemd has read the unit anew, so the step is done before it has begun",
        'state it: `command: {run: "systemctl show -p NeedDaemonReload --value UNIT", stdout: "no"}`',
    )


def _asks_manager(it: Statement) -> bool:
    told = " ".join(str(it.arguments.values.get(name, "")) for name in ("run", "argv"))
    return "systemctl" in told or "NeedDaemonReload" in told


def _verb(it: Command) -> str | None:
    """Return what is done to a unit or a daemon; None of any other command."""
    if it.program == "systemctl":
        return next(iter(_plain(it.words[1:])), None)
    if it.program in ("service", "invoke-rc.d", "rc-service"):
        return it.plain[1] if len(it.plain) > 1 else None
    if it.program in ("supervisorctl", "initctl"):
        return it.plain[0] if it.plain else None
    return it.plain[0] if it.plain and it.words[0].startswith("/etc/init.d/") else None


def _plain(words: tuple[str, ...]) -> Iterator[str]:
    """Yield the words of systemctl that are neither options nor their values."""
    left = iter(words)
    for word in left:
        if word in _TAKING:
            next(left, None)
        elif not word.startswith("-"):
            yield word


RULE = warning(
    "SP172",
    "a service started or stopped in a script",
    "systemctl is content when the program was started; one that dies of its configuration a moment later is not "
    "noticed. The action `service` reads the unit's own state and waits. `daemon-reload` makes running containers "
    "lose their GPUs (`Failed to initialize NVML: Unknown Error`) while the host looks healthy. Units of a user "
    "(`--user`) are not meant, nor is a `daemon-reload` in a step of its own that proves it of a unit "
    "(`NeedDaemonReload`, or a condition `service`), `enable` or `mask` without `--now`, or a signal such as HUP.",
    check,
    by_step=True,
)
