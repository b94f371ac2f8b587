"""sudo with an installer of a virtual environment."""

import re
from collections.abc import Iterator

from stackplan.language.lint._installers import verb
from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._subject import Subject

_HOME = re.compile(r"/home/(?P<user>[^/{}]+)/")


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for it in step.commands:
            if "sudo" in it.wrappers and verb(it) is not None:
                summary = f"`sudo {it.program}` leaves files of root that the environment's owner cannot replace"
                remedy = "write it as a step `python_packages`, with `user` if the environment is another user's"
                yield Finding(summary, step.command_at(it), remedy, step.id)
    for step in subject.installing:
        match = _HOME.match(step.venv or "")
        if match is not None and step.step.user == "root":
            summary = f"root writes into an environment of {match['user']}, who cannot replace those files afterwards"
            remedy = f"write `user: {match['user']}` in the place of `become`"
            yield Finding(summary, step.place("venv"), remedy, step.id)


RULE = error(
    "SP164",
    "an installer as root in a user's environment",
    "The files belong to root from then on. The next install by the environment's owner fails half way with "
    "`Permission denied`; with the system's pip it goes into ~/.local, with exit status 0. Act as the owner.",
    check,
)
