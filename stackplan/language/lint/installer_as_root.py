"""An installer of a virtual environment that runs as somebody else than its owner."""

from collections.abc import Iterator

from stackplan.language.lint._installers import verb
from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Looked, Subject
from stackplan.model.regular import regular

_HOME = regular(r"/home/(?P<user>[^/{}$]+)/")
_REMEDY = "write it as a step `python_packages`, with `user` if the environment is another user's"


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for it in step.commands:
            if verb(it) is not None and (summary := _of_another(it, step)) is not None:
                yield Finding(summary, step.command_at(it), _REMEDY, step.id)
    for step in subject.installing:
        match = _HOME.match(step.venv or "")
        if match is not None and step.step.user == "root":
            summary = f"root writes into an environment of {match['user']}, who cannot replace those files afterwards"
            remedy = f"write `user: {match['user']}` in the place of `become`"
            yield Finding(summary, step.place("venv"), remedy, step.id)


def _of_another(it: Command, step: Looked) -> str | None:
    """Return what is wrong with the user who installs; None where it may be the environment's owner."""
    if it.user == "root":
        wrapper = next((name for name in ("sudo", "doas", "pkexec") if name in it.wrappers), "as root:")
        return f"`{wrapper} {it.program}` leaves files of root that the environment's owner cannot replace"
    user = it.user or step.step.user
    homes = [match["user"] for word in it.words if (match := _HOME.match(word.partition("=")[2] or word))]
    if user is not None and homes and user not in homes:
        return f"{user} writes into an environment of {homes[0]}, who cannot replace those files afterwards"
    return None


RULE = error(
    "SP164",
    "an installer as root in a user's environment",
    "The files belong to root from then on. The next install by the environment's owner fails half way with "
    "`Permission denied`; with the system's pip it goes into ~/.local, with exit status 0. The same holds for any "
    "other user than the owner. Act as the owner.",
    check,
    by_step=True,
)
