"""curl or wget into a file that nobody compares."""

import re
from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Subject

_COMPARING = frozenset({"sha256sum", "sha512sum", "shasum", "gpg", "gpgv", "minisign", "cosign"})


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        if any(it.program in _COMPARING for it in step.commands):
            continue
        for it in step.commands:
            if _fetches(it):
                summary = f"nothing compares what `{it.program}` brings: an error page is a file as well"
                yield Finding(summary, step.command_at(it), "write it as a step `download` with its sha256", step.id)


def _fetches(it: Command) -> bool:
    if it.after in ("|", "|&"):
        return False
    if it.program == "wget":
        return "--spider" not in it.words and not any(
            re.fullmatch(r"-[a-zA-Z]*O-?|--output-document=-", w) and "-" in it.words[at : at + 2]
            for at, w in enumerate(it.words)
        )
    into = any(re.fullmatch(r"-[a-zA-Z]*[oO]|--output|--remote-name", word) for word in it.words[1:])
    redirected = any(operator.startswith(">") and target != "/dev/null" for operator, target in it.redirections)
    nowhere = "/dev/null" in it.words
    return it.program == "curl" and (into or redirected) and not nowhere


RULE = warning(
    "SP170",
    "a download whose content nobody compares",
    "A mirror serves an error page, a proxy another version, a broken connection half of the file; a file name with a "
    "guessed driver number is a 404. `download` resumes, compares the sha256, and moves the file into place at the "
    "end.",
    check,
)
