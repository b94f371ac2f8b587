"""sudo in a script, where nobody can type a password."""

from collections.abc import Iterator

from stackplan.language.lint._installers import verb
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Subject

_ASKING = frozenset({"sudo", "doas", "pkexec"})


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for it in step.commands:
            # SP164 speaks of installers.
            asks = None if it.remote else _asks(it, as_root=step.step.user == "root")
            if asks is not None and verb(it) is None:
                summary = f"{asks} in a script asks for a password half way, or is refused there"
                yield Finding(
                    summary, step.command_at(it), f"take `{asks}` out and write `become: true` in the step", step.id
                )
                break


def _asks(it: Command, *, as_root: bool) -> str | None:
    """Return the program that may ask for a password; root becomes another user without one."""
    if as_root and it.user not in (None, "root"):
        return None
    found = next((name for name in (*it.wrappers, it.program) if name in _ASKING), None)
    return "su" if found is None and it.program == "su" and not as_root else found


RULE = warning(
    "SP176",
    "sudo in a script",
    "`sorry, you must have a tty to run sudo`, and `a terminal is required to read the password`: the script stops in "
    "its middle. sudo also drops DEBIAN_FRONTEND, proxies and PATH. With `become: true` the right to sudo is checked "
    "before the first step runs.",
    check,
    by_step=True,
)
