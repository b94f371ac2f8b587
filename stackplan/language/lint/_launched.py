"""What a launcher runs on other machines or in an image: `srun sh -c TEXT`, `sbatch --wrap TEXT`, `apptainer exec`.

A launcher takes options, some of which take the next word; what follows them is the command. `parallel TEXT ::: a b`
has a shell here run a text, for each of its words.
"""

import shlex
from collections.abc import Sequence

from stackplan.language.lint._elsewhere import Carried
from stackplan.language.lint._tree import Command
from stackplan.model.regular import regular

_IMAGES = frozenset({"apptainer", "singularity"})
_NAMED = {"lxc": "exec", "incus": "exec", "machinectl": "shell"}
"""Programs for containers with the verb behind which the name of one stands."""
_LAUNCHERS = frozenset({"srun", "sbatch", "ansible", "gcloud", *_IMAGES, *_NAMED})
_SRUN = "ABCDGIJLMNSTUWacdegimnopqrtwx"
"""The letters of srun that take a value."""
_SBATCH = "ABCDFGJLMNSVabcdeimnopqtwx"
"""The letters of sbatch that do."""
_JOB = regular(r"#!\s*\S*?(?:env\s+(?:-S\s+)?)?(?:/|\b)(?:ba|da|z|k)?sh\b(?P<options>[^\n]*)")
_IMAGE = "BHSWo"
_SWITCHES = {
    "srun": frozenset(
        {"--exclusive", "--pty", "--unbuffered", "--label", "--overlap", "--exact", "--quiet", "--verbose", "--no-kill",
         "--contiguous", "--immediate", "--kill-on-bad-exit", "--oversubscribe", "--overcommit", "--preserve-env",
         "--propagate", "--use-min-nodes", "--hold", "--test-only", "--x11", "--reboot", "--spread-job",
         "--disable-status", "--multi-prog", "--container-mount-home", "--no-container-mount-home",
         "--container-writable", "--container-readonly", "--container-remap-root", "--no-container-remap-root"}
    ),
    "sbatch": frozenset(
        {"--wait", "--hold", "--parsable", "--exclusive", "--requeue", "--no-requeue", "--test-only", "--oversubscribe",
         "--overcommit", "--quiet", "--verbose", "--contiguous", "--reboot", "--spread-job", "--use-min-nodes",
         "--get-user-env", "--propagate", "--nice", "--no-kill", "--container-writable", "--container-readonly"}
    ),
    "image": frozenset(
        {"--nv", "--nvccli", "--rocm", "--cleanenv", "--contain", "--containall", "--fakeroot", "--writable",
         "--writable-tmpfs", "--ipc", "--pid", "--net", "--uts", "--userns", "--no-home", "--no-init", "--no-privs",
         "--keep-privs", "--allow-setuid", "--compat", "--sharens", "--unsquash", "--disable-cache", "--no-https",
         "--no-eval", "--no-umask", "--underlay", "--debug", "--quiet", "--silent", "--verbose", "--nocolor"}
    ),
}  # fmt: skip
"""Long options that take no value."""
_SHELL_MODULES = frozenset({"shell", "raw", "ansible.builtin.shell", "ansible.builtin.raw"})
_COMMAND_MODULES = frozenset({"", "command", "ansible.builtin.command"})
_OF_TEXTS = frozenset(" ;|&\n")


def launched(command: Command) -> Carried | None:
    """Return what a launcher runs on another machine or in an image; None of any other program."""
    program, words = command.program, command.words[1:]
    if program not in _LAUNCHERS:
        return None
    if program == "srun":
        inner = _behind(words, _SRUN, _SWITCHES["srun"])
        image = any(it.startswith("--container-image") for it in words)
        return Carried(words=tuple(inner), machine=not image) if inner else None
    if program in _IMAGES:
        rest = _behind(words, "c", _SWITCHES["image"])
        inner = _behind(rest[1:], _IMAGE, _SWITCHES["image"])[1:] if rest[:1] == ["exec"] else []
        return Carried(words=tuple(inner)) if inner else None
    if program in _NAMED:
        inner = _behind(words[words.index(_NAMED[program]) + 1 :], "", frozenset()) if _NAMED[program] in words else []
        inner = inner[2:] if inner[1:2] == ["--"] else inner[1:]
        return Carried(words=tuple(inner)) if inner else None
    return _of_text(command)


def job_options(command: Command) -> str | None:
    """Return the options of the shell that runs what sbatch reads: `sbatch -N1 <<EOF`; None where it reads no script.

    A job without a shell in its first line is none, nor is one that stands in a file.
    """
    if command.program != "sbatch" or command.stdin is None or command.has("--wrap"):
        return None
    if _behind(command.words[1:], _SBATCH, _SWITCHES["sbatch"]):
        return None
    match = _JOB.match(command.stdin[0].lstrip())
    return match["options"] if match else None


def repeated(command: Command) -> str | None:
    """Return the text that `parallel` has a shell run for each word; None where it runs one program with its words."""
    if "parallel" not in command.wrappers or not command.words or _OF_TEXTS.isdisjoint(command.words[0]):
        return None
    words = command.words
    end = next((at for at, it in enumerate(words) if it.startswith(":::")), len(words))
    return " ".join(words[:end])


def _of_text(command: Command) -> Carried | None:
    """Return the text that is the value of an option: `sbatch --wrap TEXT`, `ansible all -m shell -a TEXT`."""
    words = command.words
    if command.program == "sbatch":
        text = _value(words, "--wrap")
    elif command.program == "gcloud":
        text = _value(words, "--command") if command.starts("gcloud", "compute", "ssh") else ""
    else:
        text = _value(words, "-a", "--args")
        module = _value(words, "-m", "--module-name")
        if module in _COMMAND_MODULES and text:
            return Carried(words=_split(text), machine=True)
        text = text if module in _SHELL_MODULES else ""
    return Carried(text=text, machine=True) if text else None


def _split(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return tuple(text.split())


def _value(words: Sequence[str], *options: str) -> str:
    """Return the value of one of the options; "" where none is given."""
    for word, following in zip(words[1:], (*words[2:], ""), strict=False):
        name, equals, value = word.partition("=")
        if name in options:
            return value if equals else following
    return ""


def _behind(words: Sequence[str], values: str, switches: frozenset[str]) -> list[str]:
    """Return the words behind the options: a letter of `values` takes the next word, and so does a long option.

    A long one does not where it is a switch, or has its value behind `=`.
    """
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        word = words[at]
        if word == "--":
            return list(words[at + 1 :])
        if word.startswith("--"):
            at += 1 if "=" in word or word in switches else 2
        else:
            at += 2 if word[-1] in values and not any(it in values for it in word[1:-1]) else 1
    return list(words[at:])
