"""Which environment of Python something is about, whether it names its folder or its interpreter."""

from collections.abc import Collection, Iterable, Mapping

from stackplan.language.lint._subject import Looked, Statement, Subject
from stackplan.model.arguments import Arguments
from stackplan.model.regular import regular

_INTERPRETER = regular(r"(?P<venv>.+)/bin/(?:python|pypy)[\d.]*")


def environment_of(arguments: Arguments) -> str | None:
    """Return the folder of the environment that arguments name, as they write it; None where they name none."""
    venv, python = arguments.values.get("venv"), arguments.values.get("python")
    if isinstance(venv, str):
        return venv.rstrip("/")
    match = _INTERPRETER.fullmatch(python) if isinstance(python, str) else None
    return match["venv"] if match else None


def may_be_one(one: str | None, other: str | None) -> bool:
    """Return whether two environments may be the same one: `~/a` may be `/home/ops/a`, a template may be anything."""
    if one is None or other is None or one == other or "{{" in one + other:
        return True
    relative = not (one.startswith("/") and other.startswith("/"))
    return relative and one.rpartition("/")[2] == other.rpartition("/")[2]


def may_be_among(one: str | None, others: Collection[str | None]) -> bool:
    """Return whether an environment may be one of some others."""
    return one in others or any(may_be_one(one, it) for it in others)


def torch_steps(subject: Subject) -> dict[str | None, Looked]:
    """Return the last step that installs torch by its name, for each environment; none where torch stays as it is."""
    return {environment_of(it.arguments): it for it in subject.installing if "torch" in it.names}


def last_looks(
    changed: Mapping[str | None, Looked], looks: Iterable[tuple[int, Statement | Looked]]
) -> dict[str | None, int]:
    """Return for each changed environment the number of the last step that looks at it; -1 where none does.

    `looks` are what looks, with the number of its step. What names no environment looks at all of them. So does what
    names one that nothing is installed into: one folder has many spellings (`~/a`, `/home/ops/a`).
    """
    last: dict[str | None, int] = {}
    everywhere = -1
    for number, it in looks:
        named = environment_of(it.arguments)
        if named is not None and named in changed:
            last[named] = max(number, last.get(named, -1))
        else:
            everywhere = max(number, everywhere)
    return {it: max(everywhere, last.get(it, -1)) for it in changed}
