"""curl or wget into a file that nobody compares."""

from collections.abc import Iterator

from stackplan.language.lint._answers import Answers
from stackplan.language.lint._comparing import ANY, compared, compares_itself
from stackplan.language.lint._fetching import MARKS, fetches, keeps
from stackplan.language.lint._kept import file_name, kept_at
from stackplan.language.lint._passed import Passed
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Subject
from stackplan.language.lint._tree import Part, Pipeline, pipelines, surface

_UNPACKING = frozenset({"tar", "bsdtar", "unzip", "cpio", "dpkg", "rpm", "docker", "podman", "ar", "7z"})
_ONWARD = frozenset(
    {
        "gunzip", "zcat", "gzip", "xz", "xzcat", "unxz", "zstd", "zstdcat", "bunzip2", "bzip2", "lz4", "pv", "cat",
        "sed", "base64", "sort", "gpg",
    }
)  # fmt: skip

_MOST_PARTS = 50
"""So many programs at most are looked at through which a download is piped."""


def check(subject: Subject) -> Iterator[Finding]:
    answers = Answers(subject)
    for step in subject.running:
        assert step.script is not None
        if not step.script.mentions(*MARKS):
            continue
        files = [found for pipeline in pipelines(step.script.block) for found in _kept(pipeline)]
        passed = Passed(step.script.block) if any("$" in path for _, path in files) else None
        told = [(it, path, passed.files(it, path) if passed else []) for it, path in files]
        kept = [(it, path, used) for it, path, given in told if (used := _used(answers, it, path, given)) is not None]
        names = {name for _, path, used in kept for name in (file_name(path), *used)} - {""}
        known = compared(step.script.block, (it for it, _ in files), names) if kept else frozenset()
        for it, path, used in kept:
            if not _is_compared(known, file_name(path), used):
                summary = f"nothing compares what `{it.program}` brings: an error page is a file as well"
                yield Finding(summary, step.command_at(it), "write it as a step `download` with its sha256", step.id)


def _used(answers: Answers, command: Command, path: str, given: list[tuple[Command, str]]) -> set[str] | None:
    """Return the files that a function fills with a command and that are not only read; None where nothing is left."""
    used = {file_name(to) for call, to in given if not answers.only_read(call, to)}
    return None if answers.only_read(command, path) or (given and not used) else used


def _is_compared(known: frozenset[str], name: str, used: set[str]) -> bool:
    if ANY in known or name in known:
        return True
    return used <= known if used else bool(known) and (not name or "$" in name)


def _kept(pipeline: Pipeline) -> Iterator[tuple[Command, str]]:
    """Yield what fetches something that stays on the node, with the path of the file; "" where that is not told."""
    if compares_itself(pipeline):
        return
    for at, part in enumerate(pipeline.parts):
        for it in filter(fetches, surface(part)):
            following = pipeline.parts[at + 1 : at + 1 + _MOST_PARTS]
            if keeps(it) or _unpacked(following):
                yield it, kept_at(it, following)


def _unpacked(following: tuple[Part, ...]) -> bool:
    """Return whether what is piped on stays on the node at the end."""
    for it in (command for part in following for command in surface(part)):
        if _takes(it):
            return True
        if it.program not in _ONWARD:
            return False
    return False


def _takes(it: Command) -> bool:
    """Return whether a command puts what it reads into files, into a package or into a ring of keys."""
    if it.program in _ONWARD and any(sign in (">", ">>") and to != "/dev/null" for sign, to in it.redirections):
        return True
    return {
        "tee": any(not word.startswith("/dev/") for word in it.plain),
        "dd": any(word.startswith("of=") for word in it.words),
        "apt-key": it.plain[:1] == ("add",),
        "gpg": it.has("-o", "--output", "--import"),
    }.get(it.program, it.program in _UNPACKING and not it.has_flag("t", "--list"))


RULE = warning(
    "SP170",
    "a download whose content nobody compares",
    "A mirror serves an error page, a proxy another version, a broken connection half of the file; a file name with a "
    "guessed driver number is a 404. `download` resumes, compares the sha256, and moves the file into place at the "
    "end. Requests to the node itself, health checks and what is only looked at (a `.json` that jq reads) are not "
    "meant.",
    check,
)
