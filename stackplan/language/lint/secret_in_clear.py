"""A token or password written into the playbook."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from stackplan.language.lint import _secret_words, _secrets, _settings
from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Looked, Subject
from stackplan.language.secret_name import in_clear, is_secret_name
from stackplan.model.location import Location

_REMEDY = "make it a secret variable, `NAME: {secret: true, env: NAME}`, and withdraw the one that stood here"
_LONGEST_LINE = 20_000


def check(subject: Subject) -> Iterator[Finding]:
    for summary, at, step, secret in (
        *(_by_form(subject) if subject.leads else ()),
        *_by_name(subject),
        *_in_steps(subject),
        *_in_conditions(subject),
    ):
        yield Finding(f"{summary} in clear, for everybody who reads the repository", at, _REMEDY, step, (secret,))


def _by_line(found: Iterable[Finding]) -> Iterator[Finding]:
    """Yield one finding a line, with the secrets of all that are about it."""
    by_line: dict[tuple[str, int], list[Finding]] = {}
    for it in found:
        by_line.setdefault((it.at.path, it.at.line), []).append(it)
    for together in by_line.values():
        secrets = tuple(dict.fromkeys(secret for it in together for secret in it.secrets))
        yield replace(together[0], secrets=secrets)


_Found = tuple[str, Location, str | None, str]
"""What stands there, where, in which step, and the secret itself."""


def _by_form(subject: Subject) -> Iterator[_Found]:
    """Yield what is a secret by its form, in every line of every file."""
    for path, lines in subject.sources.items():
        steps = sorted((it.at.line, str(it.id)) for it in subject.written.steps if it.at.path == path)
        whole = "\n".join(lines)
        marks = tuple(it for it in _secrets.MARKS if it in whole)
        for number, line in enumerate(lines, 1) if marks else ():
            if len(line) < _LONGEST_LINE and any(it in line for it in marks):
                for summary, column, secret in _secrets.in_line(line):
                    step = bisect_right(steps, number, key=lambda pair: pair[0])
                    yield summary, Location(path, number, column + 1), steps[step - 1][1] if step else None, secret


def _by_name(subject: Subject) -> Iterator[_Found]:
    """Yield each variable whose name says that its value is a secret, and whose value is written out."""
    found: list[tuple[str, object, Location, str | None]] = [
        (name, it.value, it.at, None) for name, it in (subject.written.variables.items() if subject.leads else ())
    ]
    for step in subject.steps:
        found += [(it.name, it.value, it.at, step.id) for it in step.settings]
    for statement, step_or_none, _ in subject.conditions:
        environment = statement.arguments.values.get("env")
        if isinstance(environment, Mapping):
            identity = None if step_or_none is None else step_or_none.id
            found += [(name, it, statement.arguments.place("env", name), identity) for name, it in environment.items()]
    for name, value, at, step_id in found:
        if isinstance(value, str) and is_secret_name(name) and in_clear(value):
            yield f"the value of `{name}` stands here", at, step_id, value


def _in_steps(subject: Subject) -> Iterator[_Found]:
    """Yield what commands are told, and what stands in the files that steps write."""
    for step in subject.steps:
        for command, summary, secret in _told(step.commands):
            yield summary, step.command_at(command), step.id, secret
        yield from _written(step)


def _in_conditions(subject: Subject) -> Iterator[_Found]:
    for commands, statement, step in subject.asked:
        pairs = [pair for it in commands for pair in _settings.of_command(it)]
        named = [(f"the value of `{it}` stands here", value) for it, value in pairs if is_secret_name(it)]
        given = [(summary, value) for summary, value in named if in_clear(value)]
        for summary, secret in (*given, *((summary, secret) for _, summary, secret in _told(commands))):
            yield summary, statement.at, None if step is None else step.id, secret


def _told(commands: tuple[Command, ...]) -> Iterator[tuple[Command, str, str]]:
    before: Command | None = None
    for it in commands:
        for summary, secret in _secret_words.of_words(it, before if it.before == "|" else None):
            yield it, f"{summary} stands here", secret
        before = it


def _written(step: Looked) -> Iterator[_Found]:
    content = step.content
    if content is None:
        return
    offset = 0
    for line in content.text.splitlines(keepends=True):
        if not line.lstrip().startswith(("#", ";", "//")):
            found = [(f"the value of `{name}` stands here", at, value) for name, at, value in _secrets.named(line)]
            for summary, at, secret in (*_secrets.in_line(line), *found):
                yield summary, content.place_at(offset + at), step.id, secret
        offset += len(line)


RULE = replace(
    error(
        "SP190",
        "a secret in clear",
        "Whoever can read the repository, a pull request or a CI log has it, and history keeps it. The rule knows the"
        " forms of common tokens, passwords in addresses, Authorization headers, `auth` of a registry, what expect "
        "types where it is asked for a password, and names such as HF_TOKEN or `--password`, in variables, scripts "
        "and files. Words that stand in for one, such as `<token>` or `***`, are not meant. A secret variable is read"
        " at the last moment from the environment, a file or a command, and shown nowhere.",
        check,
        by_step=True,
    ),
    joined=_by_line,
)
