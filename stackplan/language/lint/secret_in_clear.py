"""A token or password written into the playbook."""

from collections.abc import Iterator, Mapping

from stackplan.language.lint import _secrets
from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._subject import Subject
from stackplan.model.location import Location

_REMEDY = "make it a secret variable, `NAME: {secret: true, env: NAME}`, and withdraw the one that stood here"
_LONGEST_LINE = 20_000


def check(subject: Subject) -> Iterator[Finding]:
    starts = {
        path: sorted((it.at.line, str(it.id)) for it in subject.written.steps if it.at.path == path)
        for path in subject.sources
    }
    for path, lines in subject.sources.items():
        for number, line in enumerate(lines, 1):
            if ("_" in line or "-" in line or "AKIA" in line or "ASIA" in line) and len(line) < _LONGEST_LINE:
                for match in _secrets.TOKEN.finditer(line):
                    at = Location(path, number, match.start() + 1)
                    step = next((id_ for start, id_ in reversed(starts[path]) if start <= number), None)
                    yield Finding(
                        f"{_secrets.kind(match)} stands here in clear, for everybody who reads the repository",
                        at,
                        _REMEDY,
                        step,
                    )
            if "://" in line and "@" in line and (found := _secrets.PASSWORD.search(line)):
                at = Location(path, number, found.start("password") + 1)
                step = next((id_ for start, id_ in reversed(starts[path]) if start <= number), None)
                yield Finding("a password stands in this address in clear", at, _REMEDY, step)
    yield from _named(subject)


def _named(subject: Subject) -> Iterator[Finding]:
    """Yield a finding for each variable whose name says that its value is a secret, and whose value is written out."""
    found: list[tuple[str, object, Location, str | None]] = [
        (name, it.value, it.at, None) for name, it in subject.written.variables.items()
    ]
    for step in subject.steps:
        found += [(name, value, at, step.id) for name, value, at in step.environment]
    for name, value, at, step_id in found:
        if isinstance(value, Mapping) or not isinstance(value, str) or "{{" in value or len(value) < 6:
            continue
        path = value.startswith(("/", "~", "./", "http://", "https://"))
        if _secrets.SECRET_NAME.search(name) and not path and not _secrets.TOKEN.search(value):
            yield Finding(f"the value of `{name}` stands here in clear", at, _REMEDY, step_id)


RULE = error(
    "SP190",
    "a secret in clear",
    "Whoever can read the repository, a pull request or a CI log has it, and history keeps it. The rule knows the "
    "forms of common tokens, passwords in addresses, and names such as HF_TOKEN. A secret variable is read at the last "
    "moment from the environment, a file or a command, and shown nowhere.",
    check,
)
