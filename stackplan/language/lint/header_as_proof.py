"""The "CUDA Version" of nvidia-smi's header taken for the toolkit or the build."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Subject

_HEADER = re.compile(r"CUDA|cuda|Driver Version|\b1[1-9]\.\d\b")
_READERS = frozenset({"grep", "egrep", "awk", "sed", "cut", "tr", "head"})
_SUMMARY = (
    "nvidia-smi's header names what the driver could run, not what is installed, and new drivers word it otherwise"
)
_REMEDY = "state `nvcc` for a toolkit, `torch: {cuda: …}` for a build, `gpu: {driver: …}` for a driver"


def check(subject: Subject) -> Iterator[Finding]:
    for told, statement, step in subject.asked:
        matched = [statement.arguments.values.get(name) for name in ("stdout", "stderr")]
        texts = [str(it) for value in matched for it in (value.values() if isinstance(value, Mapping) else [value])]
        wanted = any("CUDA Version" in it or "Driver Version" in it for it in texts)
        if _reads_header(told) or (wanted and any(_shows_header(it) for it in told)):
            yield Finding(_SUMMARY, statement.at, _REMEDY, None if step is None else step.id)
    for looked in subject.running:
        if _reads_header(looked.commands):
            found = next(it for it in looked.commands if _shows_header(it))
            yield Finding(_SUMMARY, looked.command_at(found), _REMEDY, looked.id)


def _shows_header(command: Command) -> bool:
    return command.program == "nvidia-smi" and all(word in ("-q", "--query") for word in command.words[1:])


def _reads_header(told: tuple[Command, ...]) -> bool:
    for first, second in pairwise(told):
        piped = first.after in ("|", "|&") and second.program in _READERS
        if piped and _shows_header(first) and any(_HEADER.search(word) for word in second.words[1:]):
            return True
    return False


RULE = error(
    "SP133",
    "nvidia-smi's header as proof of a CUDA version",
    '"CUDA Version" in the header is the newest release that the driver supports. It says nothing of the toolkit, '
    "nor of the CUDA that torch was built for. Driver 610 renamed both fields, and scripts that did not find them took "
    "a default. Three numbers, three conditions: `gpu: {driver}`, `nvcc: {release}`, `torch: {cuda}`.",
    check,
)
