"""The name under which what is fetched stays on a node, as far as the command tells it."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from stackplan.language.lint._fetching import options
from stackplan.language.lint._tree import Command, Part, surface
from stackplan.model.regular import regular

_WGET = regular(r"-[a-zA-Z]*O(?P<letter>.*)|--output-document(?:=(?P<long>.*))?")
_ARIA = regular(r"(?:-o|--out)(?:=)?(?P<value>.*)")


def file_name(path: str) -> str:
    """Return the last part of a path."""
    return path.rstrip("/").rpartition("/")[2]


def kept_as(command: Command, following: tuple[Part, ...]) -> str:
    """Return the name of the file that a command fills by itself or by what it is piped into; "" where none is told."""
    return file_name(kept_at(command, following))


def kept_at(command: Command, following: tuple[Part, ...]) -> str:
    """Return the path of that file as it is written; "" where none is told."""
    told = [*_redirected(command), *_by_option(command), *_of_address(command)]
    if not told or told[0] in ("-", "/dev/stdout"):
        told = [target for part in following for it in surface(part) for target in _taken(it)]
    return told[0] if told else ""


def _taken(command: Command) -> Iterator[str]:
    """Yield the files that a command writes what it reads to."""
    yield from _redirected(command)
    if command.program == "tee":
        yield from command.plain


def _redirected(command: Command) -> Iterator[str]:
    yield from (
        to for sign, to in command.redirections if sign in (">", ">>", "1>", ">|") and not to.startswith("/dev/")
    )


def _by_option(command: Command) -> Iterator[str]:
    if command.program == "curl":
        given = options(command)
        yield from (given[name] for name in ("o", "--output") if given.get(name))
    pattern = {"wget": _WGET, "aria2c": _ARIA, "axel": _ARIA}.get(command.program)
    for word, behind in zip(command.words[1:], (*command.words[2:], ""), strict=False):
        if pattern is not None and (match := pattern.fullmatch(word)):
            yield next((it for it in match.groups() if it), behind)


def _of_address(command: Command) -> Iterator[str]:
    """Yield the last part of the address, where it becomes the name of the file."""
    if command.program == "curl" and not {"O", "--remote-name", "--remote-name-all"} & set(options(command)):
        return
    for word in command.words[1:]:
        if "://" in word and command.program in ("curl", "wget", "aria2c", "axel"):
            try:
                yield file_name(urlsplit(word).path)
            except ValueError:
                return
