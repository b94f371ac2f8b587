"""A secret that becomes a word of a command line."""

from collections.abc import Iterator, Mapping
from functools import partial

from stackplan.language.lint._given_secrets import GivenSecrets
from stackplan.language.lint._held import filled, held
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._secret_file import outside, secret_read
from stackplan.language.lint._shell import Command, read
from stackplan.language.lint._subject import Looked, Subject
from stackplan.language.lint._tree import Block, flat, groups
from stackplan.model.location import Location
from stackplan.model.playbook import SecretSource
from stackplan.model.regular import regular
from stackplan.model.secret import Secret

_DECLARING = frozenset({"export", "declare", "typeset", "local", "readonly"})
_QUIET = _DECLARING | {
    "echo", "printf", "read", "unset", "test", "[", "[[", ":", "true", "eval", "trap", "set", "return", "exit", "let",
    "shift", "mapfile", "readarray",
}  # fmt: skip
"""Of the shell itself: nothing is started, so nobody sees their words; what eval and trap run is looked at as well."""
_EXPANDED = regular(r"\$\{?(?P<name>[A-Za-z_]\w*|\d+|[@*])")
_DEEPEST = 5
"""So many functions that call each other are followed."""


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
    told = [(it.script.block, it.commands, it.command_at, it.id) for it in subject.running if it.script is not None]
    for (block, statement, step), (asked, _, _) in zip(subject.questions, subject.asked, strict=True):
        told.append((block, asked, partial(_place, statement.at), "" if step is None else step.id))
    for block, found, place, identity in told:
        if not any("$(" in it.text or "`" in it.text for it in found):
            continue
        functions = _functions(block)
        values = {name: text for name, text in held(found).items() if secret_read(text) is not None}
        for it in found:
            if it.program in _QUIET:
                continue
            words = (
                (at, secret_read(it) or secret_read(filled(outside(it), values))) for at, it in enumerate(it.words)
            )
            for source, program in _taken(it.program, words, functions):
                summary = f"what {source} gives is a word of {program}'s command line, which every user can list"
                remedy = f"let {program} read the file itself, or feed it through its standard input"
                yield Finding(summary, place(it), remedy, identity or None)
                break


def _taken(
    program: str, words: Iterator[tuple[int, str | None]], functions: Mapping[str, tuple[Command, ...]]
) -> Iterator[tuple[str, str]]:
    """Yield where each word of a command has its secret from, with the program that is given it."""
    for at, source in words:
        if at and source is not None:
            taking = _takers(program, str(at), functions, _DEEPEST) if program in functions else (program,)
            yield from ((source, it) for it in taking)


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
    head = "".join(f"{name}='{{{{ {name} }}}}'\n" for name in sorted(variables))
    whole = head + text
    block = read(whole)
    told = tuple(flat(block))
    given = GivenSecrets(whole, told, variables, secret)
    functions = _functions(block)
    for it in told:
        if it.program in _QUIET or it.start < len(head):
            continue
        if it.program in functions:
            found = ((name, by) for name, by in _by_function(it, given, functions))
        else:
            found = (
                (name, _program(it, word)) for word in _words(whole, it) for name in sorted(given.of_word(word, it))
            )
        name, program = next(found, ("", ""))
        if not name and it.program not in functions:
            name, program = min(given.of_array(it), default=""), it.program
        if name:
            summary = f"`{name}` is a word of {program}'s command line, which every user of the node can list"
            remedy = f'pass it by the environment: `env: {{{name.upper()}: "{{{{ {name} }}}}"}}`'
            if name in variables:
                remedy = f"let {program} read {name} from the environment, or feed it through its standard input"
            yield it.start - len(head), summary, remedy


def _functions(block: Block) -> dict[str, tuple[Command, ...]]:
    """Return the commands of each function of a script; the words of a call are on no command line."""
    return {
        name: tuple(at for _, inner in it.blocks for at in flat(inner))
        for it in groups(block)
        if it.kind == "function"
        for name in it.words[:1]
    }


def _by_function(
    call: Command, given: GivenSecrets, functions: Mapping[str, tuple[Command, ...]]
) -> Iterator[tuple[str, str]]:
    """Yield the secrets that a function is given and has on a command line, with the program there."""
    passed = [(str(at), name) for at, word in enumerate(call.words[1:], 1) for name in given.of_word(word, call)]
    for number, name in passed:
        yield from ((name, program) for program in _takers(call.program, number, functions, _DEEPEST))


def _takers(function: str, number: str, functions: Mapping[str, tuple[Command, ...]], depth: int) -> Iterator[str]:
    """Yield the programs that a function gives what it is given as its word of a number, counted from 1."""
    body = functions[function]
    shifted = any(it.program == "shift" for it in body)
    own = {number, *(str(at) for at in range(1, int(number)) if shifted), "@", "*"}
    for it in body:
        for word in (*it.assignments, *(it.words[1:] if it.program in _DECLARING else ())):
            name, equals, value = word.partition("=")
            if equals and own.intersection(_expanded(value)):
                own.add(name)
    for it in body:
        for at, word in enumerate(it.words[1:], 1) if it.program not in _QUIET else ():
            if own.isdisjoint(_expanded(word)):
                continue
            if it.program not in functions:
                yield it.program
            elif depth > 0:
                yield from _takers(it.program, str(at), functions, depth - 1)


def _expanded(word: str) -> list[str]:
    """Return what a word gives: the names of variables, and the numbers of what a function is given."""
    return [match["name"] for match in _EXPANDED.finditer(outside(word))] if "$" in word else []


def _program(command: Command, word: str) -> str:
    """Return the program that is given a word: the command's own, or the wrapper that is to set a variable."""
    return command.program if word in command.words else command.wrappers[0]


def _words(text: str, command: Command) -> Iterator[str]:
    """Yield the words that the system sees: those of the program, and what `env` and `sudo` are to set."""
    yield from command.words[1:]
    wrapper = command.wrappers[0] if command.wrappers else None
    for it in command.assignments if wrapper is not None else ():
        before = text.find(str(wrapper), command.start)
        if 0 <= before < text.find(it.partition("=")[0] + "=", command.start):
            yield it


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
