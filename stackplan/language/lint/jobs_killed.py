"""Processes killed by name, or whoever holds a GPU."""

from collections.abc import Iterator, Mapping
from functools import lru_cache

from stackplan.language.lint._held import filled, held
from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._shell import Command, commands
from stackplan.language.lint._subject import Subject
from stackplan.language.lint._tree import Block, Group, own_pipelines, surface, surface_of
from stackplan.model.regular import regular

_BY_NAME = frozenset({"pkill", "killall", "killall5", "skill"})
_FINDING = frozenset({"pgrep", "pidof", "ps", "lsof", "fuser", "nvidia-smi", "ss", "netstat"})
_OWN = regular(r"-P\b|--parent|--ppid|-F\b|--pidfile")
"""Children of a known process, or whose number a file holds: nobody else's."""
_SIGNAL_OPTIONS = frozenset({"-s", "-n", "--signal"})
_ASKS = frozenset({"-0", "-l", "-L", "--list", "--help", "--version", "-V"})
_CONTAINERS = frozenset({"docker", "podman", "nerdctl", "crictl"})
_ENDING = frozenset({"kill", "stop", "rm", "restart"})
_SESSIONS = frozenset({"kill-user", "terminate-user", "kill-session", "terminate-session"})
# SP168 speaks of those who hold apt's locks.
_OF_APT = regular(r"/var/(?:lib|cache)/(?:dpkg|apt)\b")


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        if step.script is not None and any(_may_end(it) for it in step.commands):
            for it in _killing(step.script.block, held(step.commands), found=False):
                summary = f"`{it.text[:40]}` ends jobs of people who do not know of this upgrade"
                remedy = "drain the node before (`slurm_node`, `kubernetes_node`), or stop the unit with `service`"
                yield Finding(summary, step.command_at(it), remedy, step.id)


def _may_end(it: Command) -> bool:
    return it.program in _BY_NAME or it.program in ("kill", "fuser", "scancel", "loginctl") or it.program in _CONTAINERS


def _killing(block: Block, values: Mapping[str, str], *, found: bool) -> Iterator[Command]:
    """Yield the commands of a block that end others' processes; `found` where a search feeds the block."""
    for pipeline in own_pipelines(block):
        fed = found
        for part in pipeline.parts:
            if isinstance(part, Command):
                # `xargs kill < <(pgrep x)`
                read = any("<" in sign and _searches(filled(to, values)) for sign, to in part.redirections)
                # What runs in a container is the container's own.
                if not part.elsewhere and _kills(part, values, fed=fed or read):
                    yield part
                for inner in (*part.handed, *part.inner):
                    yield from _killing(inner, values, found=False)
            else:
                over = fed or _over_found(part, values)
                for _, inner in part.blocks:
                    yield from _killing(inner, values, found=over)
            fed = fed or any(_finds(it) for it in surface(part))


def _over_found(group: Group, values: Mapping[str, str]) -> bool:
    """Return whether a loop goes over what a search found: `for p in $(pgrep x)`, `done < <(pgrep x)`."""
    texts = [filled(it, values) for it in (*group.words, *(target for _, target in group.redirections))]
    return any(_searches(it) for it in texts) or any(_finds(it) for block in group.inner for it in surface_of(block))


def _kills(it: Command, values: Mapping[str, str], *, fed: bool) -> bool:
    operands = [filled(word, values) for word in it.words[1:]]
    if it.program in _BY_NAME:
        found = not _OWN.search(it.text)
    elif it.program == "fuser":
        found = it.has_flag("k", "--kill") and not _OF_APT.search(it.text)
    elif it.program == "scancel":
        found = not any(word.isdigit() for word in operands)
    elif it.program in _CONTAINERS:
        found = bool(_ENDING & set(it.words[1:3])) and (
            any(_lists_all(word) for word in operands) or (fed and _takes_found(it, operands))
        )
    elif it.program == "loginctl":
        found = bool(_SESSIONS & set(it.plain[:1]))
    elif it.program == "kill":
        through = _takes_found(it, operands)
        everybody = operands[-1:] == ["-1"] and len(operands) > 1
        found = everybody or (fed and through) or any(_searches(word) for word in operands)
    else:
        found = False
    return found and not _asks(it)


def _takes_found(it: Command, operands: list[str]) -> bool:
    """Return whether what a search found is given to a command: by xargs, or in a variable."""
    return bool({"xargs", "parallel"} & set(it.wrappers)) or any(word.startswith("$") for word in operands)


@lru_cache(maxsize=256)
def _lists_all(word: str) -> bool:
    """Return whether a word holds the list of all containers."""
    told = commands(word) if "$(" in word or "`" in word else ()
    return any(_lists_containers(it) for it in told)


def _lists_containers(it: Command) -> bool:
    return it.program in _CONTAINERS and "ps" in it.plain and not it.has("--filter", "-f", "--name")


def _asks(it: Command) -> bool:
    """Return whether no signal is sent: signal 0 asks whether there is somebody."""
    given = [after for before, after in zip(it.words, it.words[1:], strict=False) if before in _SIGNAL_OPTIONS]
    return bool(_ASKS & set(it.words)) or "0" in given or it.has("--signal=0")


@lru_cache(maxsize=256)
def _searches(word: str) -> bool:
    """Return whether a word holds the output of a search for processes."""
    return ("$(" in word or "`" in word or "<(" in word) and any(_finds(it) for it in commands(word))


def _finds(it: Command) -> bool:
    if _lists_containers(it):
        return it.has_flag("q", "--quiet")
    return it.program in _FINDING and not _OWN.search(it.text) and not _OF_APT.search(it.text)


RULE = error(
    "SP173",
    "processes killed by name",
    "`pkill python`, `kill $(pgrep …)` and `fuser -k /dev/nvidia*` end whatever matches, other people's jobs included, "
    "and a supervisor starts it again a second later while the driver is being replaced. Drain the node, stop what "
    "holds the GPUs by its unit, and state `gpu: {processes: none}` as a precondition.",
    check,
    by_step=True,
)
