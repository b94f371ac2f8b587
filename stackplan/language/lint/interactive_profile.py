"""A profile for interactive shells read in a script or condition."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Subject
from stackplan.model.regular import regular

_PROFILE = regular(
    r"(?:^|/)\.(?:bashrc|zshrc|kshrc|bash_profile|bash_login|profile|zprofile)$|^/etc/(?:bash\.bashrc|bashrc|zsh/zshrc)$"
)
_SHELLS = frozenset({"bash", "sh", "zsh", "ksh", "dash"})
_TAKES_NEXT = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"})
_SUMMARY = "a profile is for people at a prompt: in a script it often ends early, or sets paths that no other step has"
_REMEDY = "name programs by their whole path, or set what is needed in `env`"


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for it in step.commands:
            if _reads_profile(it):
                yield Finding(_SUMMARY, step.command_at(it), _REMEDY, step.id)
    for told, statement, looked in subject.asked:
        if any(_reads_profile(it) for it in told):
            yield Finding(_SUMMARY, statement.at, _REMEDY, None if looked is None else looked.id)


def _reads_profile(it: Command) -> bool:
    if it.program in ("source", "."):
        return any(_PROFILE.search(word) for word in it.words[1:2])
    # In an image it is the image's profile.
    started = it.program in _SHELLS and not it.elsewhere and any(_reads_by_itself(option) for option in _options(it))
    return started or any(word.startswith(("BASH_ENV=", "ENV=")) and _PROFILE.search(word) for word in it.assignments)


def _options(it: Command) -> Iterator[str]:
    """Yield the options of a shell, those before its text or script."""
    words = iter(it.words[1:])
    for word in words:
        if not word.startswith(("-", "+")) or word in ("-", "--"):
            return
        yield word
        if word in _TAKES_NEXT:
            next(words, None)


def _reads_by_itself(option: str) -> bool:
    """Return whether an option makes a login or an interactive shell: `-l`, `-ic`, `--login`."""
    letters = option[1:] if option.startswith("-") and not option.startswith("--") else ""
    return option == "--login" or bool({"l", "i"} & set(letters))


RULE = warning(
    "SP177",
    "an interactive shell's profile in a script",
    "~/.bashrc begins with `not interactive: return` on most systems, so what stands below it is not set; and what is "
    "set is one person's, not the service's. A check by hand then passes and the node's service finds another nvcc. A "
    "login shell (`bash -lc`) and an interactive one (`bash -ic`) read such profiles by themselves.",
    check,
    by_step=True,
)
