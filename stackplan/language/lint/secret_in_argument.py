"""A secret that becomes a word of a command line."""

from collections.abc import Iterator

from stackplan.language.expression import names
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._shell import commands
from stackplan.language.lint._subject import Subject
from stackplan.language.yielded import BadTemplate
from stackplan.model.playbook import SecretSource

_QUIET = frozenset({"echo", "printf", "export", "read", "test", "[", "[["})
"""Of the shell itself: nothing is started, so nobody sees their words."""


def check(subject: Subject) -> Iterator[Finding]:
    secret = {name for name, it in subject.written.variables.items() if isinstance(it.value, SecretSource)}
    if not secret:
        return
    for step in subject.running:
        text = step.written.action.arguments.values.get("script")
        if not isinstance(text, str) or not any(name in text for name in secret):
            continue
        for it in commands(text):
            found = next((word for word in it.words[1:] if "{{" in word and _used(word) & secret), None)
            if found is not None and it.program not in _QUIET:
                name = min(_used(found) & secret)
                summary = f"`{name}` is a word of {it.program}'s command line, which every user of the node can list"
                remedy = f'pass it by the environment: `env: {{{name.upper()}: "{{{{ {name} }}}}"}}`'
                at = subject.where(step.place("script"), found)
                yield Finding(summary, at if step.script is None else step.script.place(it), remedy, step.id)


def _used(word: str) -> frozenset[str]:
    try:
        return names(word)
    except BadTemplate:
        return frozenset()


RULE = warning(
    "SP191",
    "a secret on a command line",
    "stackplan keeps secrets off command lines, but a script that passes one to a program as an argument shows it in "
    "`ps` to every user of the node, and in process accounting. Set it in `env` and let the program read it there, or "
    "feed it through `stdin`.",
    check,
)
