"""Secrets that stand in clear in what a plan has to carry word for word; such a plan is not written. Pure."""

from collections.abc import Iterable, Iterator

from stackplan.engine.saved_plan import SavedPlan
from stackplan.language.secret_name import names_in_clear
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.location import Location
from stackplan.model.regular import regular
from stackplan.model.secret import Redactor, passwords

_SHORTEST = 6
"""Characters of a secret that is looked for: a shorter one stands in every text by chance."""

_TEMPLATE = regular(r"\{\{.*?\}\}|\{%.*?%\}")
_SUMMARY = "a plan carries this word for word, and a secret stands in it in clear"
_REMEDY = "make it a variable that is read from elsewhere: `{secret: true, env: NAME}`"


def in_clear(plan: SavedPlan, secrets: Iterable[str]) -> tuple[Diagnosis, ...]:
    """Return a diagnosis for each place of the plan at which a secret, or a password of an address, would be seen."""
    known = [secret for secret in secrets if len(secret) >= _SHORTEST]
    redactor = Redactor(frozenset(secret for secret in known if "\n" not in secret))
    longer = [secret for secret in known if "\n" in secret]
    found = {
        _diagnosis(at, step)
        for at, step, text in _carried(plan)
        if passwords(_TEMPLATE.sub("", text)) or redactor.text(text) != text or any(it in text for it in longer)
    }
    whole = {
        _diagnosis(Location(file.path, 1, 1), None)
        for file in plan.sources.files
        if any(secret in file.text for secret in longer)
    }
    placed = {it for it in found | whole if it.at is not None}
    # What renders to a secret in clear has it from somewhere; only where that is not known is the step itself named.
    return tuple(placed or found)


def named_in_clear(plan: SavedPlan) -> tuple[Diagnosis, ...]:
    """Return a diagnosis for each variable of the plan that by its name is a secret, and whose value the plan shows."""
    found = {
        _named(name, saved.at)
        for planned in plan.nodes
        for variable, saved in planned.variables.items()
        for name in names_in_clear(variable, saved.value if saved.resolved is None else saved.resolved)
    }
    return tuple(sorted(found, key=lambda it: (str(it.at), it.summary)))


def _named(name: str, at: Location) -> Diagnosis:
    summary = f"a plan carries the value of `{name}`, which by its name is a secret"
    remedy = f"read it from elsewhere: `{name}: {{secret: true, env: NAME}}`, also in a file of `--vars`"
    return Diagnosis(summary=summary, at=at, remedy=remedy)


def _diagnosis(at: Location | None, step: str | None) -> Diagnosis:
    return Diagnosis(summary=_SUMMARY, at=at, step=step, remedy=_REMEDY)


def _carried(plan: SavedPlan) -> Iterator[tuple[Location | None, str | None, str]]:
    """Yield every text that a plan carries as it was written, or as it runs, with its place or its step."""
    for file in plan.sources.files:
        for number, line in enumerate(file.text.split("\n"), start=1):
            yield Location(file.path, number, 1), None, line
    for planned in plan.nodes:
        entry = planned.node
        for text in _texts([entry.host, entry.command, entry.jump, entry.python, entry.labels]):
            yield entry.at, None, text
        for saved in planned.variables.values():
            for text in _texts([saved.value, saved.resolved]):
                yield saved.at, None, text
        for text in _texts(planned.plan.preconditions):
            yield None, None, text
        for step in planned.plan.steps:
            for text in _texts(step.rendered):
                yield None, step.id, text


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)
