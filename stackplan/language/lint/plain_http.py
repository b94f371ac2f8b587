"""http where the bytes are run or installed afterwards."""

import re
from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject
from stackplan.language.lint._wanted import is_plain_http, texts

_REMEDY = "write https://"
_FETCHERS = frozenset({"curl", "wget", "pip", "pip3", "uv", "git", "aria2c"})
_ADDRESS = re.compile(r"http://[^\s'\"]+")


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
                (step.command_at(it), match[0])
                for it in step.commands
                if it.program in _FETCHERS
                for match in _ADDRESS.finditer(it.text)
                if is_plain_http(match[0])
            ]
        for at, _ in found:
            yield Finding(
                "over http anybody on the way can put another file in the place of this one", at, _REMEDY, step.id
            )


RULE = warning(
    "SP115",
    "packages or files over plain http",
    "What is fetched here is installed or run afterwards, and nothing but the connection says where it comes from. "
    "Loopback addresses are not meant, nor `download` and `cuda_toolkit`, which compare a digest.",
    check,
)
