"""A secret that becomes a word of a command line."""

from collections.abc import Iterator, Mapping
from functools import partial

from stackplan.language.expression import names
from stackplan.language.lint._held import filled, held
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._secret_file import outside, secret_read
from stackplan.language.lint._shell import Command, commands
from stackplan.language.lint._subject import Looked, Subject
from stackplan.language.yielded import BadTemplate
from stackplan.model.location import Location
from stackplan.model.playbook import SecretSource
from stackplan.model.secret import Secret

_QUIET = frozenset(
    {"echo", "printf", "export", "declare", "typeset", "local", "readonly", "read", "unset", "test", "[", "[[", ":"}
)
"""Of the shell itself: nothing is started, so nobody sees their words."""


def check(subject: Subject) -> Iterator[Finding]:
    yield from _read_from_files(subject)
    secret = frozenset(name for name, it in subject.written.variables.items() if isinstance(it.value, SecretSource))
    if not secret:
        return
    for step in subject.running:
        text = step.written.action.arguments.values.get("script")
        variables = frozenset(name for name, value, _ in step.environment if isinstance(value, Secret))
        if isinstance(text, str) and any(name in text for name in secret | variables):
            yield from _in_script(subject, step, text, variables, secret)
    for statement, looked, _ in subject.conditions:
        environment = statement.arguments.values.get("env")
        text = statement.arguments.values.get("run")
        if statement.kind == "command" and isinstance(environment, Mapping) and isinstance(text, str):
            variables = frozenset(name for name, value in environment.items() if isinstance(value, Secret))
            for _, summary, remedy in _shown(text, variables, secret):
                yield Finding(summary, statement.at, remedy, None if looked is None else looked.id)


def _read_from_files(subject: Subject) -> Iterator[Finding]:
    """Look at `--token "$(cat /run/secrets/token)"`, also by way of a variable of the script."""
    told = [(step.commands, step.command_at, step.id) for step in subject.running]
    for asked, statement, step in subject.asked:
        told.append((asked, partial(_place, statement.at), "" if step is None else step.id))
    for found, place, identity in told:
        if not any("$(" in it.text or "`" in it.text for it in found):
            continue
        values = {name: text for name, text in held(found).items() if secret_read(text) is not None}
        for it in found:
            if it.program in _QUIET:
                continue
            sources = (secret_read(word) or secret_read(filled(outside(word), values)) for word in it.words[1:])
            if (source := next(filter(None, sources), None)) is not None:
                summary = f"what {source} gives is a word of {it.program}'s command line, which every user can list"
                remedy = f"let {it.program} read the file itself, or feed it through its standard input"
                yield Finding(summary, place(it), remedy, identity or None)


def _place(at: Location, _: Command) -> Location:
    return at


def _in_script(
    subject: Subject, step: Looked, text: str, variables: frozenset[str], secret: frozenset[str]
) -> Iterator[Finding]:
    for start, summary, remedy in _shown(text, variables, secret):
        at = subject.where(step.place("script"), text[start : start + 12].partition("\n")[0])
        yield Finding(summary, at if step.script is None else step.script.place_at(start), remedy, step.id)


def _shown(text: str, variables: frozenset[str], secret: frozenset[str]) -> Iterator[tuple[int, str, str]]:
    """Yield where in a text a secret becomes a word of a command line, with a summary and a remedy.

    `variables` are those of the environment that hold a secret: the shell puts it in the place of `$NAME`.
    """
    told = "".join(f"{name}='{{{{ {name} }}}}'\n" for name in sorted(variables))
    for it in commands(told + text):
        found = next(
            (word for word in _words(told + text, it) if "{{" in word and _used(word) & (secret | variables)), None
        )
        if found is not None and it.program not in _QUIET and it.start >= len(told):
            name = min(_used(found) & (secret | variables))
            program = it.program if found in it.words else it.wrappers[0]
            summary = f"`{name}` is a word of {program}'s command line, which every user of the node can list"
            remedy = f'pass it by the environment: `env: {{{name.upper()}: "{{{{ {name} }}}}"}}`'
            if name in variables:
                remedy = f"let {program} read {name} from the environment, or feed it through its standard input"
            yield it.start - len(told), summary, remedy


def _words(text: str, command: Command) -> Iterator[str]:
    """Yield the words that the system sees: those of the program, and what `env` and `sudo` are to set."""
    yield from command.words[1:]
    wrapper = command.wrappers[0] if command.wrappers else None
    for it in command.assignments if wrapper is not None else ():
        before = text.find(str(wrapper), command.start)
        if 0 <= before < text.find(it.partition("=")[0] + "=", command.start):
            yield it


def _used(word: str) -> frozenset[str]:
    try:
        return names(word)
    except BadTemplate:
        return frozenset()


RULE = warning(
    "SP191",
    "a secret on a command line",
    "stackplan keeps secrets off command lines, but a script that passes one to a program as an argument shows it in "
    "`ps` to every user of the node, and in process accounting; so does `$NAME` of a variable that holds one, "
    "`env NAME=…` or `sudo NAME=…` before a program, and `$(cat FILE)` of a file that a secret stands in. Set it in "
    "`env` and let the program read it there, or feed it through `stdin`.",
    check,
    by_step=True,
)
