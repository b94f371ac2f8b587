"""apt's or dpkg's lock files removed, or their holder killed."""

from collections.abc import Iterator
from fnmatch import fnmatch

from stackplan.language.lint._removal import removed
from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._subject import Subject
from stackplan.language.lint._tree import Command, Pipeline, blocks, own_pipelines, within
from stackplan.model.regular import regular

_LOCK = regular(r"/var/(?:lib|cache|\{[^}]*\})/?(?:dpkg|apt|\{[^}]*\}|\*).*(?:lock|\*)|/var/lib/dpkg/lock")
_LOCKS = ("lock", "lock-frontend")
_HOLDERS = regular(r"(?<![\w-])(?:apt|\[a\]pt|apt-get|dpkg|unattended-upgr\w*)(?![\w-])")
_MARKS = ("apt", "dpkg", "unattended", "/var/")
_KILLING = frozenset({"pkill", "killall", "skill"})
_ASKING = frozenset({"pgrep", "pidof", "lsof", "fuser", "ps", "grep"})


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        assert step.script is not None
        if not step.script.mentions(*_MARKS):
            continue
        for block in blocks(step.script.block):
            folder = ""
            for pipeline in own_pipelines(block):
                taken = dict.fromkeys(it for it, path in removed(pipeline, folder) if _is_lock(path))
                for it in taken or _killing(pipeline):
                    summary = "another program is changing packages right now; without its lock the database is torn"
                    remedy = "wait for it: `apt_packages` with `lock_timeout: 10m`"
                    yield Finding(summary, step.command_at(it), remedy, step.id)
                last = pipeline.parts[-1]
                if isinstance(last, Command) and last.program in ("cd", "pushd"):
                    folder = last.plain[0] if last.plain else ""


def _is_lock(path: str) -> bool:
    """Return whether a path is one of a lock, or a pattern that one of them fits: `archives/*`, and not `*.deb`."""
    if not _LOCK.search(path):
        return False
    name = path.rpartition("/")[2]
    if "*" in name and "{" not in name:
        return "/partial/" not in path and any(fnmatch(it, name) for it in _LOCKS)
    return "lock" in name


def _killing(pipeline: Pipeline) -> list[Command]:
    """Return the commands that end whoever holds the lock: by its name, or by the file that it holds."""
    found = [it for it in pipeline.parts if isinstance(it, Command)]
    asked = [it for it in within(pipeline) if it.program in _ASKING and _names_holder(it)]
    return [
        it
        for it in found
        if (it.program in _KILLING and _names_holder(it))
        or (it.program == "kill" and asked and "-0" not in it.words)
        or (it.program == "fuser" and it.has_flag("k", "--kill") and _names_holder(it))
    ]


def _names_holder(command: Command) -> bool:
    return any(_HOLDERS.search(word) or _LOCK.search(word) for word in command.words[1:])


RULE = error(
    "SP168",
    "a lock of apt taken away",
    "The lock is held by unattended-upgrades or another administrator. Removing the file, or moving it away, does not "
    "end them: two programs write the database at once, and packages stay half configured, which blocks every later "
    "install. Ending its holder leaves the same. The lock is free after some minutes.",
    check,
    by_step=True,
)
