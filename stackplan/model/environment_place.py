"""Where the environment is that a question names: two names may be one folder.

An answer about an environment tells in `path` the name that was asked with, whole, and in `through` the links on the
way and the real folder at its end, where that differs. Facts that were recorded before it did have no `through`.
"""

from collections.abc import Mapping

from stackplan.model.facts import Facts, Known, Plain, Query

NAMED_BY = ("venv", "python")
"""The arguments by which a question names an environment."""


def places(about: Mapping[str, Plain]) -> tuple[str, ...]:
    """Return the path that an answer tells and what lies on the way to its end, the end last."""
    through = about.get("through")
    named = (about.get("path", about.get("venv")), *(through if isinstance(through, list) else ()))
    return tuple(it for it in named if isinstance(it, str))


def real_place(facts: Facts, query: Query) -> str | None:
    """Return the real path of the environment that `query` names, None where it names none or no answer tells it.

    Any Known answer to a question in the same words does, but for a dry run's, which tells no links: one of them may be
    open for other reasons.
    """
    named = {key: query.arguments[key] for key in NAMED_BY if query.arguments.get(key) is not None}
    for other in facts.answers if named else ():
        if (
            other.kind == "dry_run"
            or other.user != query.user
            or any(other.arguments.get(key) != value for key, value in named.items())
        ):
            continue
        answer = facts.answers[other]
        if isinstance(answer, Known) and isinstance(answer.value, dict) and (found := places(answer.value)):
            return found[-1].rstrip("/")
    return None
