"""http where the bytes are run or installed afterwards."""

import re
from collections.abc import Iterator

from stackplan.language.lint._answers import Answers
from stackplan.language.lint._fetching import discards, fetches, keeps, sends
from stackplan.language.lint._kept import kept_at
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._script import Script
from stackplan.language.lint._subject import Subject
from stackplan.language.lint._tree import Command
from stackplan.language.lint._wanted import is_plain_http, texts
from stackplan.model.location import Location
from stackplan.model.regular import regular

_REMEDY = "write https://"
_FETCHERS = frozenset({"curl", "wget", "pip", "pip3", "uv", "git", "aria2c"})
_ADDRESS = regular(r"http://[^\s'\"]+")
_TO_A_PROXY = regular(r"(?:--|[\w.]*[._])(?:pre)?proxy", re.IGNORECASE)
"""Options, variables and settings that name a proxy: to a proxy http is spoken, whatever goes through it."""
_BESIDE = regular(r"-[a-zA-Z]*[xHAe]|--(?:header|user-agent|referer)")
"""Options of curl whose value is not what it asks for."""

_UNSIGNED = regular(r"(?m)^[^#\n]*?\bdeb(?:-src)?\s+\[[^\]\n]*\btrusted=yes\b[^\]\n]*\]\s+(?P<url>http://[^\s'\"]+)")
_UNSIGNED_FIELD = regular(r"(?mi)^\s*Trusted:\s*yes\s*$")
_FIELD = regular(r"(?mi)^\s*URIs:\s*(?P<url>http://[^\s'\"]+)")
"""Sources of apt whose signature is not asked for; apt checks the others, whatever they come over."""


def check(subject: Subject) -> Iterator[Finding]:
    answers = Answers(subject)
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
                for it in (step.commands if step.mentions("http://") else ())
                if it.program in _FETCHERS and "http://" in it.text and not _only_read(it, answers)
                for address in _addresses(it)
                if is_plain_http(address)
            ]
            found += [it for text in (step.content, step.script) if text is not None for it in _unsigned(text)]
        for at, _ in found:
            yield Finding(
                "over http anybody on the way can put another file in the place of this one", at, _REMEDY, step.id
            )


def _unsigned(text: Script) -> Iterator[tuple[Location, str]]:
    """Yield the sources of apt over http that a text names and lets in without a signature."""
    if "http://" not in text.text or "rusted" not in text.text:
        return
    matches = list(_UNSIGNED.finditer(text.text))
    if _UNSIGNED_FIELD.search(text.text):
        matches += _FIELD.finditer(text.text)
    yield from ((text.place_at(it.start("url")), it["url"]) for it in matches if is_plain_http(it["url"]))


def _only_read(it: Command, answers: Answers) -> bool:
    """Return whether a service is asked how it is, and the file with its answer is only looked at."""
    return it.program in ("curl", "wget") and not fetches(it) and keeps(it) and answers.only_read(it, kept_at(it, ()))


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
    "`cuda_toolkit`, which compare a digest. A source of apt is meant where `trusted=yes` takes it unsigned.",
    check,
)
