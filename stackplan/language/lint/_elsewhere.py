"""What runs on another machine or in a container: `ssh n2 'a; b'`, `docker exec x sh -c TEXT`, `kubectl exec`."""

from collections.abc import Sequence

from stackplan.language.lint._tree import Command
from stackplan.model.frozen import dataclass

_SSH = "BbcDEeFIiJLlmOoPpQRSWw"
"""The options of ssh that take a value."""
_SHELLS_OF_MACHINES = {"ssh": _SSH, "autossh": _SSH + "M"}
_MOSH = "p"
_FLEET = {
    "pdsh": "wxgljtufRLM",
    "clush": "wxgXlotufDR",
    "pssh": "HhlpotOxAei",
    "parallel-ssh": "HhlpotOxAei",
}
"""Programs that have many machines run one text, with their options that take a value."""
_NAMING = "wghH"
"""By these they are told which machines; without one of them, some name the machines by their first word."""
_CONTAINERS = frozenset({"docker", "podman", "nerdctl", "docker-compose", "crictl"})
_CLUSTERS = frozenset({"kubectl", "oc", "k3s", "microk8s"})
_CTR_OPTIONS = frozenset(
    {"-n", "--namespace", "-a", "--address", "--timeout", "--connect-timeout", "--exec-id", "--cwd", "--user",
     "--fifo-dir", "--log-uri"}
)  # fmt: skip
"""The options of ctr, and of its `tasks exec`, that take the next word."""
_BEFORE_VERB = frozenset(
    {"-H", "--host", "-c", "--context", "-n", "--namespace", "--kubeconfig", "-s", "--server", "-f", "--file",
     "-p", "--project-name", "--env-file", "--profile", "--config", "--log-level", "-l", "--url", "--connection"}
)  # fmt: skip
"""Options that stand before the verb of a program for containers, and take the next word."""
_OF_SHELLS = frozenset("\n\"#$&'()*;<>?[\\]`{|}~")
_SWITCHES = frozenset("ditqPT")
"""The letters by which `docker run` and `docker exec` are told something without a value."""
_LONG_SWITCHES = frozenset(
    {"--detach", "--disable-content-trust", "--init", "--interactive", "--no-healthcheck", "--no-hosts", "--no-TTY",
     "--oom-kill-disable", "--privileged", "--publish-all", "--quiet", "--read-only", "--replace", "--rm",
     "--sig-proxy", "--tls-verify", "--tty", "--no-deps", "--service-ports", "--build", "--use-aliases", "--rootfs",
     "--help"}
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """A text for a shell, or the words of a command, that something else than this node's root runs.

    `machine` when that is another machine, and not a container.
    """

    text: str = ""
    words: tuple[str, ...] = ()
    machine: bool = False


def carried(command: Command) -> Carried | None:
    """Return what a command has another machine or a container run; None where it has none, or that is not known."""
    program = command.program
    if program in _SHELLS_OF_MACHINES:
        values = _SHELLS_OF_MACHINES[program]
        rest = _behind(command.words[1:], values)
        return _on_machine(_behind(rest[1:], values))
    if program == "mosh":
        return _of_mosh(command.words[1:])
    return _of_fleet(command) if program in _FLEET else _in_container(program, command.words[1:])


def _in_container(program: str, words: Sequence[str]) -> Carried | None:
    if program == "ctr":
        return _of_ctr(words)
    if program in _CONTAINERS:
        return _of_containers(words)
    if program in _CLUSTERS:
        words = [it for it in words if it != "kubectl"]
        if _verb(words)[:1] in (["exec"], ["debug"]) and "--" in words:
            return Carried(words=tuple(words[words.index("--") + 1 :]))
    return None


def reads_input(command: Command) -> bool:
    """Return whether another machine's shell reads what is fed to a command: `ssh n2 <<EOF`."""
    values = _SHELLS_OF_MACHINES.get(command.program)
    return values is not None and len(_behind(command.words[1:], values)) == 1


def _of_mosh(words: Sequence[str]) -> Carried | None:
    """Return the command that mosh starts on a machine, by no shell: its words stay as they are."""
    # What follows the host may stand behind a `--` of its own.
    inner = tuple(_behind(words, _MOSH)[1:])
    inner = inner[1:] if inner[:1] == ("--",) else inner
    return Carried(words=inner, machine=True) if inner else None


def _of_ctr(words: Sequence[str]) -> Carried | None:
    """Return the command of `ctr tasks exec --exec-id X CONTAINER COMMAND`."""
    found = _behind_named(words, _CTR_OPTIONS)
    if found[:1] not in (["tasks"], ["task"], ["t"]) or found[1:2] != ["exec"]:
        return None
    inner = tuple(_behind_named(found[2:], _CTR_OPTIONS)[1:])
    return Carried(words=inner) if inner else None


def _of_fleet(command: Command) -> Carried | None:
    values = _FLEET[command.program]
    rest = _behind(command.words[1:], values)
    named = any(it[:1] == "-" and (it[1:2] in _NAMING or it in ("-a", "--all")) for it in command.words[1:])
    return _on_machine(rest) if named else None


def _on_machine(words: Sequence[str]) -> Carried | None:
    """Return what the shell of a machine is given: the words with blanks between them."""
    text = " ".join(words)
    if _OF_SHELLS.isdisjoint(text):
        # One command, which may read what it runs from its input.
        return Carried(words=tuple(text.split()), machine=True) if text.strip() else None
    return Carried(text=text, machine=True)


def _of_containers(words: Sequence[str]) -> Carried | None:
    found = _verb(words)
    while found[:1] in (["compose"], ["container"]):
        found = _verb(found[1:])
    if found[:1] not in (["exec"], ["run"]):
        return None
    inner = tuple(_behind_options(found[1:])[1:])
    # Without a command, what follows the image are options for what the image starts.
    return Carried(words=inner) if inner and not inner[0].startswith("-") else None


def _verb(words: Sequence[str]) -> list[str]:
    """Return the words from the verb on, which stands behind options of the program's own."""
    return _behind_named(words, _BEFORE_VERB)


def _behind_named(words: Sequence[str], values: frozenset[str]) -> list[str]:
    """Return the words behind options, of which those that are named take the next word."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in values else 1
    return list(words[at:])


def _behind(words: Sequence[str], values: str) -> list[str]:
    """Return the words behind options of one letter, of which some take the next word."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        if words[at] == "--":
            return list(words[at + 1 :])
        at += 2 if words[at][-1] in values and not any(it in values for it in words[at][1:-1]) else 1
    return list(words[at:])


def _behind_options(words: Sequence[str]) -> list[str]:
    """Return the words from the image or the container on."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        word = words[at]
        switch = word in _LONG_SWITCHES if word.startswith("--") else set(word[1:]) <= _SWITCHES
        at += 1 if switch or "=" in word or word == "--" or (word[1:2] not in _SWITCHES | {"-"} and word[2:]) else 2
    return list(words[at:])
