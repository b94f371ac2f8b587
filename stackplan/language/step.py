"""From a step's tree, read by the schema, to a Step; and what the schema cannot say about steps and conditions."""

import contextlib
from collections.abc import Mapping
from dataclasses import field
from typing import cast

from stackplan.language import schema
from stackplan.language.expression import condition as expression_of
from stackplan.language.nearest import alternatives
from stackplan.language.reading import Read, arguments, holds_template, value_of
from stackplan.language.tree import YamlMapping, YamlScalar, YamlSequence, YamlValue
from stackplan.language.variables import template_faults
from stackplan.language.yielded import BadTemplate
from stackplan.model.arguments import Arguments, Path
from stackplan.model.condition import Combination, Condition, Recheck
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location
from stackplan.model.playbook import Action, OnFailure, Retries, Step, StepId
from stackplan.model.quantity import duration_s
from stackplan.model.secret import Text

_CONDITION_FIELDS = frozenset({"name", "message", "within", "recheck"})
_COMBINATIONS = {it.value: it for it in Combination}
_FIXED = frozenset({
    "id", "timeout", "retries", "become", "always", "on_failure", "interruptible", "within", "recheck",
})  # fmt: skip
"""Fields that are the same on all nodes: a template has nothing to fill in here."""
DEFAULT_TIMEOUT_S = 1800.0
LONGEST_S = 366 * 86400.0


@dataclass(frozen=True)
class Defaults:
    """The fields of `defaults`, read as those of a step are."""

    fields: Mapping[str, Read] = field(default_factory=dict)


def step_faults(tree: YamlMapping) -> list[Diagnosis]:
    """Return what is wrong with a step beyond what the schema says: one action, postconditions, templates."""
    step_fields = schema.compiler("playbook").shape("#/$defs/step").properties
    given = [key for key, _ in tree.entries]
    actions = [key for key in given if key.text in schema.kinds("actions")]
    unknown = [key for key in given if key.text not in step_fields]
    found = [*template_faults(tree), *fixed_faults(tree), *_when_faults(tree)]
    label = _label(tree)
    if tree.get("id") is None and not _nearly(unknown, "id"):
        found.append(
            Diagnosis(summary="a step lacks `id`", expected="a short unique name", at=tree.at, remedy="add `id: …`")
        )
    if not actions and not unknown:
        kinds = alternatives(schema.kinds("actions"))
        remedy = "add one; `checkpoint: {}` does nothing and only carries postconditions"
        found.append(Diagnosis(summary=f"{label} has no action", expected=f"one of {kinds}", at=tree.at, remedy=remedy))
    for spare in actions[1:]:
        summary = f"{label} has two actions, `{actions[0].text}` and `{spare.text}`"
        remedy = f"make `{spare.text}` a step of its own"
        found.append(Diagnosis(summary=summary, expected="exactly one action", at=spare.at, remedy=remedy))
    found += _postcondition_faults(tree, label, unknown)
    for name in ("preconditions", "postconditions"):
        conditions = tree.get(name)
        if isinstance(conditions, YamlSequence):
            found += [fault for it in conditions.items for fault in condition_faults(it)]
    return found


def _postcondition_faults(tree: YamlMapping, label: str, unknown: list[YamlScalar]) -> list[Diagnosis]:
    conditions = tree.get("postconditions")
    if conditions is None and _nearly(unknown, "postconditions"):
        return []
    if conditions is not None and not (isinstance(conditions, YamlSequence) and not conditions.items):
        return []
    at = tree.at if conditions is None else tree.key_at("postconditions")
    summary = f"{label} has no postcondition: nothing would prove that it is done"
    remedy = "add at least one condition under `postconditions`"
    return [Diagnosis(summary=summary, expected="at least one postcondition", at=at, remedy=remedy)]


def condition_faults(tree: Read) -> list[Diagnosis]:
    """Return what is wrong with a condition beyond what the schema says: that it has exactly one kind."""
    if not isinstance(tree, YamlMapping):
        return []
    known = schema.compiler("playbook").shape("#/$defs/condition").properties
    kinds = [key for key, _ in tree.entries if key.text in known and key.text not in _CONDITION_FIELDS]
    found = fixed_faults(tree)
    if not kinds and all(key.text in known for key, _ in tree.entries):
        expected = alternatives([*schema.kinds("conditions"), *_COMBINATIONS])
        found.append(Diagnosis(summary="a condition states nothing", expected=f"one of {expected}", at=tree.at))
    for spare in kinds[1:]:
        summary = f"a condition has two kinds, `{kinds[0].text}` and `{spare.text}`"
        remedy = f"write `- {spare.text}: …` as a condition of its own"
        found.append(Diagnosis(summary=summary, expected="exactly one kind", at=spare.at, remedy=remedy))
    for key in kinds:
        if key.text in _COMBINATIONS:
            found += [fault for it in _operands(tree.get(key.text)) for fault in condition_faults(it)]
    return found


def fixed_faults(tree: YamlMapping) -> list[Diagnosis]:
    """Return a diagnosis for each template in a field that is the same on all nodes."""
    found = []
    for key, value in tree.entries:
        if key.text in _FIXED:
            found += _endless(value)
            inner = (
                value.entries if isinstance(value, YamlMapping) else () if key.text == "retries" else ((key, value),)
            )
            found += [
                Diagnosis(summary=f"`{name.text}` may not hold a template", at=part.at, remedy="write the value itself")
                for name, part in inner
                if isinstance(text := value_of(part), str) and holds_template(text)
            ]
    return found


def _endless(tree: Read) -> list[Diagnosis]:
    """Return a diagnosis for each duration in a field that is longer than any wait can be."""
    if isinstance(tree, YamlMapping):
        return [fault for _, value in tree.entries for fault in _endless(value)]
    text = value_of(tree)
    if not isinstance(text, str) or holds_template(text) or not text[:1].isdigit():
        return []
    with contextlib.suppress(ValueError, OverflowError):
        if duration_s(text) > LONGEST_S:
            return [Diagnosis(summary="this is longer than a year", at=tree.at, observed=text[:60])]
    return []


def _when_faults(tree: YamlMapping) -> list[Diagnosis]:
    when = tree.get("when")
    if when is None or isinstance(when, (YamlMapping, YamlSequence)):
        return []
    try:
        expression_of(str(value_of(when)))
    except BadTemplate as error:
        return [Diagnosis(summary=f"`when`: {error.summary}", at=when.at, remedy=error.remedy)]
    return []


def _nearly(unknown: list[YamlScalar], name: str) -> bool:
    """Return whether a key that is not known stands for `name`: then one message about it is enough."""
    return any(key.text.lower().rstrip("s")[:4] == name.rstrip("s")[:4] for key in unknown)


def _label(tree: YamlMapping) -> str:
    identity = tree.get("id")
    text = value_of(identity) if identity is not None else None
    return f"the step `{text}`" if isinstance(text, str) and text and len(text) <= 64 else "a step"


def step(tree: YamlMapping, defaults: Defaults) -> Step:
    """Return the step of a tree in which nothing is wrong."""
    fields = {key.text: value for key, value in tree.entries}
    settings = {**defaults.fields, **fields}
    kind = next(key for key, _ in tree.entries if key.text in schema.kinds("actions"))
    user, become = _user(fields, defaults.fields)
    environment = {**_environment(defaults.fields.get("env")), **_environment(fields.get("env"))}
    when = fields.get("when")
    return Step(
        id=StepId(str(value_of(fields["id"]))),
        at=tree.at,
        action=Action(kind.text, arguments(cast("YamlMapping", fields[kind.text])), kind.at),
        preconditions=conditions(fields.get("preconditions")),
        postconditions=conditions(fields.get("postconditions")),
        name=optional_text(fields.get("name")),
        why=optional_text(fields.get("why")),
        when=None if when is None else _expression(when),
        when_at=None if when is None else when.at,
        timeout_s=_duration_s(settings.get("timeout"), DEFAULT_TIMEOUT_S),
        retries=_retries(settings.get("retries")),
        environment=environment,
        user=user,
        become=become,
        always=_flag(fields.get("always"), default=False),
        on_failure=OnFailure(optional_text(settings.get("on_failure")) or "stop"),
        interruptible=_flag(settings.get("interruptible"), default=True),
        places={**_places(defaults.fields), **_places(fields)},
    )


def _places(fields: Mapping[str, Read]) -> dict[Path, Location]:
    """Return where those texts of a step stand that are filled in by rendering."""
    found: dict[Path, Location] = {(name,): fields[name].at for name in ("name", "why", "user") if name in fields}
    environment = fields.get("env")
    if isinstance(environment, YamlMapping):
        found |= {("env", key.text): value.at for key, value in environment.entries}
    return found


def conditions(tree: Read | None) -> tuple[Condition, ...]:
    """Return the conditions of a list in which nothing is wrong; none when there is no list."""
    return tuple(condition(cast("YamlMapping", it)) for it in tree.items) if isinstance(tree, YamlSequence) else ()


def condition(tree: YamlMapping) -> Condition:
    """Return the condition of a tree in which nothing is wrong."""
    if len(tree.entries) == 1 and tree.entries[0][0].text not in _COMBINATIONS:
        # As most are, and some playbooks have thousands of them.
        (kind, inner), *_ = tree.entries
        return Condition(kind=kind.text, arguments=arguments(cast("YamlMapping", inner)), at=kind.at)
    fields = {key.text: value for key, value in tree.entries}
    kind = next(key for key, _ in tree.entries if key.text not in _CONDITION_FIELDS)
    combination = _COMBINATIONS.get(kind.text)
    inner = fields[kind.text]
    recheck = optional_text(fields.get("recheck"))
    within = fields.get("within")
    return Condition(
        kind=kind.text,
        arguments=Arguments({}, inner.at) if combination else arguments(cast("YamlMapping", inner)),
        at=kind.at,
        name=optional_text(fields.get("name")),
        message=optional_text(fields.get("message")),
        within_s=None if within is None else _duration_s(within, 0.0),
        recheck=None if recheck is None else Recheck(recheck),
        combination=combination,
        operands=tuple(condition(cast("YamlMapping", it)) for it in _operands(inner)) if combination else (),
    )


def _operands(tree: Read | None) -> tuple[Read, ...]:
    if isinstance(tree, YamlSequence):
        return tree.items
    return (tree,) if isinstance(tree, YamlMapping) else ()


def _user(fields: Mapping[str, Read], defaults: Mapping[str, Read]) -> tuple[str | None, bool]:
    """Return the user that a step acts as, and whether it said `become`: that alone means root.

    A step that says `become: false` takes back what the defaults say of both.
    """
    if "become" in fields and not _flag(fields["become"], default=False) and "user" not in fields:
        return None, False
    settings = {**defaults, **fields}
    become = _flag(settings.get("become"), default=False)
    user = optional_text(settings.get("user"))
    return user or ("root" if become else None), become


def _environment(tree: Read | None) -> dict[str, Text]:
    if not isinstance(tree, YamlMapping):
        return {}
    return {key.text: str(value_of(value)) for key, value in tree.entries}


def _retries(tree: Read | None) -> Retries:
    if not isinstance(tree, YamlMapping):
        return Retries()
    times = value_of(tree.get("times") or YamlValue(0, tree.at))
    return Retries(times if isinstance(times, int) else 0, _duration_s(tree.get("delay"), 0.0))


def _expression(tree: Read) -> str:
    value = value_of(tree)
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def optional_text(tree: Read | None) -> str | None:
    """Return the text of a scalar that was read, or None when there is none."""
    value = None if tree is None else value_of(tree)
    return None if value is None else str(value)


def _flag(tree: Read | None, *, default: bool) -> bool:
    value = None if tree is None else value_of(tree)
    return default if value is None else value is True


def _duration_s(tree: Read | None, default: float) -> float:
    text = optional_text(tree)
    return default if text is None else duration_s(text)
