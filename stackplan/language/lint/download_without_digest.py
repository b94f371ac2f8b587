"""curl or wget into a file that nobody compares."""

from collections.abc import Iterator

from stackplan.language.lint._answers import Answers
from stackplan.language.lint._comparing import ANY, compared, compares_itself
from stackplan.language.lint._fetching import MARKS, fetches, keeps
from stackplan.language.lint._kept import file_name, kept_at
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
        kept = [(it, file_name(path)) for it, path in files if not answers.only_read(it, path)]
        known = compared(step.script.block, (it for it, _ in files), {it for _, it in kept if it}) if kept else set()
        for it, name in kept:
            if ANY in known or name in known or (known and (not name or "$" in name)):
                continue
            summary = f"nothing compares what `{it.program}` brings: an error page is a file as well"
            yield Finding(summary, step.command_at(it), "write it as a step `download` with its sha256", step.id)


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
