"""http where the bytes are run or installed afterwards."""

import re
from collections.abc import Iterator

from stackplan.language.lint._fetching import discards, sends
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject
from stackplan.language.lint._tree import Command
from stackplan.language.lint._wanted import is_plain_http, texts

_REMEDY = "write https://"
_FETCHERS = frozenset({"curl", "wget", "pip", "pip3", "uv", "git", "aria2c"})
_ADDRESS = re.compile(r"http://[^\s'\"]+")
_TO_A_PROXY = re.compile(r"(?:--|[\w.]*[._])(?:pre)?proxy", re.IGNORECASE)
"""Options, variables and settings that name a proxy: to a proxy http is spoken, whatever goes through it."""
_BESIDE = re.compile(r"-[a-zA-Z]*[xHAe]|--(?:header|user-agent|referer)")
"""Options of curl whose value is not what it asks for."""


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.steps:
        if step.installs:
            found = [(it.at, it.url) for it in step.indexes if it.plain_http]
            found += [it for it in texts(step.arguments, "packages") if is_plain_http(it[1])]
        elif step.kind in ("download", "cuda_toolkit"):
            # Their digest is compared: what is changed on the way is refused.
            continue
        else:
            found = [
                (step.command_at(it), address)
                for it in step.commands
                if it.program in _FETCHERS and "http://" in it.text
                for address in _addresses(it)
                if is_plain_http(address)
            ]
        for at, _ in found:
            yield Finding(
                "over http anybody on the way can put another file in the place of this one", at, _REMEDY, step.id
            )


def _addresses(command: Command) -> Iterator[str]:
    """Yield the addresses over http from which a command brings something; a proxy is none of them."""
    if command.program in ("curl", "wget") and (sends(command) or discards(command)):
        return
    words = command.words[1:]
    for before, word in zip(("", *words), words, strict=False):
        beside = command.program == "curl" and _BESIDE.fullmatch(before)
        if not beside and _TO_A_PROXY.fullmatch(before) is None:
            yield from _in_word(word)
    for word in command.assignments:
        yield from _in_word(word)


def _in_word(word: str) -> Iterator[str]:
    name, equals, _ = word.partition("=")
    if not (equals and _TO_A_PROXY.fullmatch(name)):
        yield from (match[0] for match in _ADDRESS.finditer(word))


RULE = warning(
    "SP115",
    "packages or files over plain http",
    "What is fetched here is installed or run afterwards, and nothing but the connection says where it comes from. "
    "Addresses of the node itself are not meant, nor proxies, requests that only send something, and `download` and "
    "`cuda_toolkit`, which compare a digest.",
    check,
)
