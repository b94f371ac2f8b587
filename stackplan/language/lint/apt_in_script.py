"""apt in a script: it waits for answers, for locks, and does nothing in silence."""

from collections.abc import Iterator

from stackplan.language.lint._apt import verb
from stackplan.language.lint._fetching import FETCHERS, urlsplit_path
from stackplan.language.lint._kept import file_name, kept_at
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._shell import Command
from stackplan.language.lint._simulation import APT
from stackplan.language.lint._subject import Looked, Subject
from stackplan.model.regular import regular

_STATE = {
    "dpkg": "state it: `apt_package: {name: …, version: …}`, or serve the file from a repository for `apt_packages`",
    "rpm": "state it: `command: {run: rpm -q NAME, stdout: NAME-VERSION}`, or serve the file from a repository",
}
_CHANGING = frozenset({"install", "remove", "purge"})
_FILES = {"dpkg": ("i", "--install", "--unpack"), "rpm": ("iUF", "--install", "--upgrade", "--freshen")}
"""Programs that put a package in out of a file, with the letters and options that tell them to."""
_LOCAL_PROGRAMS = frozenset({"gdebi", "alien", "dnf", "yum"})
_PROGRAMS = (*APT, *_FILES, *_LOCAL_PROGRAMS)
_LOCAL = frozenset({"install FILE", "localinstall FILE"})
_OF_REPOSITORY = regular(r"keyring|[-_]repo[-_.]|-release[-_.]|gpg-pubkey")
"""Packages that only tell where others come from."""
_SPARING = ("--dry-run", "--no-act", "--simulate", "--test", "--root", "--instdir", "-q", "--query", "-V", "--help")
_PRINTING = "--apt-line"
"""By this gdebi says what apt would be given, and installs nothing."""
_BY_DPKG = frozenset({"-r", "--remove", "-P", "--purge", "--set-selections"})


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        keyrings: frozenset[str] | None = None
        for it in step.commands if step.mentions(*_PROGRAMS) else ():
            done = verb(it) or _of_dpkg(it) or _with_dependencies(it)
            if done in _CHANGING or done in _LOCAL or done in _BY_DPKG:
                summary = f"`{it.program} {done}` in a script may wait for an answer or a lock, and predicts nothing"
                remedy = "write it as a step `apt_packages`"
                if done in _LOCAL:
                    remedy = _STATE["rpm" if it.program in ("dnf", "yum") else "dpkg"]
                yield Finding(summary, step.command_at(it), remedy, step.id)
            elif _from_file(it) and not _stated(step, it.program):
                keyrings = _keyrings(subject, step) if keyrings is None else keyrings
                if all(file_name(word) in keyrings for word in _files(it)):
                    continue
                summary = f"`{it.program}` looks for no dependency of a file, and no postcondition tells its version"
                yield Finding(summary, step.command_at(it), _STATE[it.program], step.id)


def _from_file(it: Command) -> bool:
    """Return whether a package comes out of a file, and is more than a key or the address of a repository."""
    if it.program not in _FILES or it.elsewhere or it.has(*_SPARING):
        return False
    letters, *long = _FILES[it.program]
    told = it.has(*long) or any(it.has_flag(letter) for letter in letters)
    return told and not it.has_flag("q") and any(not _OF_REPOSITORY.search(word) for word in _files(it))


def _files(it: Command) -> list[str]:
    """Return the files that a command puts in; for those that find or xargs names, what stands for them."""
    files = [word for word in it.plain if word.endswith((".deb", ".rpm")) or "$" in word or word == "{}"]
    if it.program == "dpkg" and it.has_flag("R", "--recursive"):
        files += it.plain
    return files or ["{}"] if "xargs" in it.wrappers else files


def _with_dependencies(it: Command) -> str | None:
    """Return what puts in a package out of a file, with those that it depends on: `gdebi FILE`, `dnf install FILE`."""
    if it.program not in _LOCAL_PROGRAMS or it.elsewhere or it.has(*_SPARING, _PRINTING):
        return None
    told = it.plain[0] if it.program in ("dnf", "yum") and it.plain else "install"
    if it.program == "alien" and not it.has_flag("i", "--install"):
        return None
    files = [word for word in _files(it) if not _OF_REPOSITORY.search(word)]
    return f"{told} FILE" if files and told in ("install", "localinstall") else None


def _keyrings(subject: Subject, step: Looked) -> frozenset[str]:
    """Return the names under which a script, or a step `download` before it, keeps what only tells of a repository.

    `curl -o /tmp/k.deb …/cuda-keyring_1.1-1_all.deb` says so by the address, and no longer by the file.
    """
    if any(it.program in ("find", "ls") and any(map(_OF_REPOSITORY.search, it.words)) for it in step.commands):
        # What find names, and xargs gives on, are those alone.
        found = {"{}"}
    else:
        found = set()
    found |= {
        file_name(kept_at(it, ()))
        for it in step.commands
        if it.program in FETCHERS and any("://" in word and _tells_of_others(word) for word in it.words[1:])
    }
    for earlier in subject.steps[: step.number]:
        url, path = (earlier.arguments.values.get(name) for name in ("url", "path"))
        if earlier.kind == "download" and isinstance(url, str) and isinstance(path, str) and _tells_of_others(url):
            found.add(file_name(path))
    return frozenset(found - {""})


def _tells_of_others(address: str) -> bool:
    """Return whether the file at an address is a package of a repository's key; a folder of that name is none."""
    name = file_name(urlsplit_path(address))
    return name.endswith((".deb", ".rpm")) and _OF_REPOSITORY.search(name) is not None


def _stated(step: Looked, program: str) -> bool:
    """Return whether a postcondition tells the version of a package, or asks the same program's database."""
    return any(
        (
            "version" in it.arguments
            if it.kind == "apt_package"
            else it.kind == "command" and program in str(it.arguments.values)
        )
        for it in step.postconditions
    )


def _of_dpkg(it: Command) -> str | None:
    """Return the option by which dpkg takes a package away or holds it; None where it installs a file, or looks."""
    if it.program != "dpkg" or it.elsewhere or it.has("--dry-run", "--no-act", "--simulate", "--root", "--instdir"):
        return None
    return next((word for word in it.words[1:] if word in _BY_DPKG), None)


RULE = warning(
    "SP166",
    "apt in a script",
    "Configuration questions and needrestart wait for an answer that nobody gives (DEBIAN_FRONTEND does not pass "
    "sudo); a lock fails the step; `kept back` and `already the newest version` end with 0. `apt_packages` runs one "
    "simulated and bounded transaction that removes nothing it was not told to. gdebi, alien and `dnf install FILE` "
    "predict as little. `dpkg -i FILE` and `rpm -U FILE` look "
    "for no dependency, and leave a package half configured where one is missing: state the version that it brings.",
    check,
)
