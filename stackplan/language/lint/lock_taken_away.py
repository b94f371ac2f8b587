"""apt's or dpkg's lock files removed, or their holder killed."""

import re
from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._subject import Subject

_LOCK = re.compile(r"/var/(?:lib/(?:dpkg|apt)|cache/apt)/.*lock|/var/lib/dpkg/lock")
_REMOVING = frozenset({"rm", "unlink", "fuser", "truncate"})
_HOLDERS = frozenset({"apt", "apt-get", "dpkg", "unattended-upgr", "unattended-upgrade", "unattended-upgrades"})


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for it in step.commands:
            removed = it.program in _REMOVING and any(_LOCK.search(word) for word in it.words[1:])
            killed = it.program in ("pkill", "killall") and bool(_HOLDERS & set(it.words[1:]))
            if removed or killed:
                summary = "another program is changing packages right now; without its lock the database is torn"
                remedy = "wait for it: `apt_packages` with `lock_timeout: 10m`"
                yield Finding(summary, step.command_at(it), remedy, step.id)


RULE = error(
    "SP168",
    "a lock of apt taken away",
    "The lock is held by unattended-upgrades or another administrator. Removing the file does not end them: two "
    "programs write the database at once, and packages stay half configured, which blocks every later install. The "
    "lock is free after some minutes.",
    check,
)
