"""Which questions tell that the work before them was done, and who hears what they say.

`test -x FILE` at the end of a text does; `hostname` and `df -h` end well whatever happened, and `test -x FILE; echo ok`
is heard by nobody.
"""

from itertools import islice

from stackplan.language.lint._status import asks, leaves, shows, works
from stackplan.language.lint._tree import Block, Chain, Command, Group, surface

_ENDING_WELL = frozenset(
    {
        "hostname", "uname", "uptime", "whoami", "who", "w", "last", "nproc", "free", "ps", "ss", "netstat", "lsmod",
        "lspci", "lsblk", "lscpu", "lsusb", "lsmem", "lsscsi", "vmstat", "iostat", "mpstat", "numastat", "sensors",
        "env", "printenv", "locale", "squeue", "sinfo", "shopt", "hash", "jobs", "wait", "ldconfig", "file", "seq",
        "numfmt", "basename", "dirname", "wc", "cut", "tr", "sort", "column", "find", "du", "dmidecode", "blkid", "vgs",
        "pvs", "lvs", "apt-cache", "groups", "read",
    }
)  # fmt: skip
"""Programs that end with 0 as long as the machine runs, or that only put in order what they are given."""
_OF_LISTS = frozenset(
    {"df", "id", "mount", "findmnt", "systemctl", "git", "pip", "pip3", "uv", "conda", "docker", "podman"}
)
"""Programs that end with 0 where they list all there is, and may not where they are asked for one thing."""
_LISTING = frozenset(
    {"list", "ls", "freeze", "ps", "images", "info", "version", "status", "log", "diff", "list-units", "list-timers"}
)
_ABOUT_GPUS = ("nvidia", "cuda", "driver", "dkms", "gpu", "kernel", "mig")
_WAITING = frozenset({"while", "until"})
_BRANCHING = frozenset({"if", "case"})
_DEEP = 2
"""`ls /opt` finds a folder that every machine has, `ls /opt/agent` may not."""


def proven_up_to(block: Block, *, last: bool) -> int:
    """Return which chain of a block is the last that tells of the work before it; -1 where none does.

    `last` where the status of the block is that of its end.
    """
    for at in range(len(block.chains) - 1, -1, -1):
        ends = last and at == len(block.chains) - 1 and not _ends_well(block.chains[at])
        if _asks(block, at) and (ends or _heard(block.chains[at])):
            return at
    return -1


def _asks(block: Block, at: int) -> bool:
    found = [
        it for pipeline in block.chains[at].pipelines for part in pipeline.parts for it in surface(part) if it.words
    ]
    return bool(found and asks(found[0])) and any(
        _hangs_on(it, block, at) for it in found if asks(it) and not shows(it)
    )


def _hangs_on(it: Command, block: Block, at: int) -> bool:
    """Return whether the status of a question hangs on how things are, and not on the machine being there alone."""
    program = it.program
    if program == "nvidia-smi":
        return any(_is_about_gpus(chain) for chain in islice(block.chains, at))
    if program == "ls":
        return any(word.strip("/").count("/") + 1 >= _DEEP or word[:1] not in ("/", ".", "~") for word in it.plain)
    if program in _OF_LISTS:
        return any(word not in _LISTING for word in it.plain)
    if it.words[0].startswith("(("):
        return any(sign in it.words[0] for sign in ("<", ">", "==", "!="))
    return program not in _ENDING_WELL


def _is_about_gpus(chain: Chain) -> bool:
    texts = (it.text for pipeline in chain.pipelines for part in pipeline.parts for it in surface(part))
    return any(mark in text for text in texts for mark in _ABOUT_GPUS)


def _ends_well(chain: Chain) -> bool:
    """Return whether the status of a chain is not that of its question: `if A; then …; fi`, `A || echo no`."""
    last = chain.pipelines[-1].parts[-1]
    if isinstance(last, Group):
        return last.kind in _BRANCHING
    return chain.operators[-1:] == ("||",) and not (works(last) or leaves(last))


def _heard(chain: Chain) -> bool:
    """Return whether more than words hangs on what a chain asks, in the middle of a text that nothing stops."""
    groups = [it for pipeline in chain.pipelines for it in pipeline.parts if isinstance(it, Group)]
    if any(it.kind in _WAITING for it in groups):
        return True
    behind = [it for pipeline in chain.pipelines[1:] for part in pipeline.parts for it in surface(part)]
    inside = [it for group in groups for it in surface(group)]
    return any(works(it) or leaves(it) or not it.words for it in (*behind, *inside))
