"""Answers that a script keeps in a file and only reads: `curl … -o node.json`, then `jq -e … node.json`."""

import re
from collections.abc import Iterator

from stackplan.language.lint._fetching import FETCHERS, urlsplit_path
from stackplan.language.lint._kept import file_name
from stackplan.language.lint._subject import Subject
from stackplan.language.lint._tree import Command, Group, Pipeline, pipelines, surface
from stackplan.model.cached import cached_property
from stackplan.model.regular import regular

_DATA = regular(r"(?!requirements|constraints|pylock)[\w.+-]+\.(?:jsonl?|ndjson|txt|ya?ml|csv|tsv|xml|html?|prom)")
_NAME = regular(r"[\w.+-]+")
_OF_THE_SYSTEM = regular(r"(?:/etc|/usr|/opt|/lib|/boot|/root/\.|~/\.|\$\{?HOME\}?/\.)")
"""Folders in which a file is read by other programs."""
_TAKING = frozenset(
    {"jq", "yq", "grep", "egrep", "fgrep", "zgrep", "rg", "read", "awk", "cut", "wc", "xmllint", "mapfile"}
)
_READING = _TAKING | {"cat"}
_SHOWING = frozenset({"cat", "head", "tail", "sed", "tr", "sort", "uniq", "less", "column", "tee"})
_BESIDE = FETCHERS | frozenset(
    {"rm", "ls", "stat", "test", "[", "[[", "echo", "printf", "diff", "cmp", "touch", "true"}
)
_OWN = 4
"""A command that fetches stands in fewer pipelines with the name of its file."""


class Answers:
    """What the scripts of a playbook do with the files that they fetch; looked at once for all of them."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._verdicts: dict[str, tuple[list[tuple[Command, ...]], list[tuple[Command, ...]]]] = {}

    def only_read(self, command: Command, path: str) -> bool:
        """Return whether a file that a command fetches is data, is read, and is used in no other way."""
        name = file_name(path)
        bare = _whole_answer(command) and re.fullmatch(r"[\w-]+", name)
        if not bare and _DATA.fullmatch(name) is None:
            return False
        if _OF_THE_SYSTEM.match(path) or name in self._arguments:
            return False
        put_to_use, taken = self._told(name)
        if any(all(it is not command for it in use) for use in put_to_use[:_OWN]):
            return False
        return bool(bare) or any(all(it is not command for it in use) for use in taken[:_OWN])

    def _told(self, name: str) -> tuple[list[tuple[Command, ...]], list[tuple[Command, ...]]]:
        """Return the pipelines that put a file to use, and those that take something out of it."""
        if name not in self._verdicts:
            used = self._uses.get(name, ())
            taken = [it for it in used if any(command.program in _READING for command in it)]
            self._verdicts[name] = [it for it in used if not _reads(it)], taken
        return self._verdicts[name]

    @cached_property
    def _arguments(self) -> str:
        """The arguments of all steps that run no script."""
        return "\n".join(str(it.arguments.values) for it in self._subject.steps if it.script is None)

    @cached_property
    def _uses(self) -> dict[str, list[tuple[Command, ...]]]:
        """The commands of each pipeline, by the names that stand in it."""
        found: dict[str, list[tuple[Command, ...]]] = {}
        for step in self._subject.running:
            assert step.script is not None
            for pipeline in pipelines(step.script.block):
                for name in frozenset(_names(pipeline)):
                    found.setdefault(name, []).append(tuple(it for part in pipeline.parts for it in surface(part)))
        return found


def _names(pipeline: Pipeline) -> Iterator[str]:
    for part in pipeline.parts:
        words = part.words if isinstance(part, Group) else (*part.words, *part.assignments)
        for text in (*words, *(target for _, target in part.redirections)):
            yield from _NAME.findall(text)


def _reads(commands: tuple[Command, ...]) -> bool:
    """Return whether a pipeline only looks at what a file says: nothing of it runs, unpacks or copies it."""
    return all(it.program in _TAKING or it.program in _BESIDE or not it.words or _shows(it) for it in commands)


def _shows(it: Command) -> bool:
    writes = any(sign.startswith((">", "1>", "&>")) and not to.startswith("/dev/") for sign, to in it.redirections)
    return it.program in _SHOWING and not writes and not it.has_flag("i", "--in-place")


def _whole_answer(command: Command) -> bool:
    """Return whether an address has no path, so that what it answers is no file: `wget -qO- https://ifconfig.me`."""
    addresses = [word for word in command.words[1:] if "://" in word]
    return len(addresses) == 1 and urlsplit_path(addresses[0]) in ("", "/") and "$" not in addresses[0]
