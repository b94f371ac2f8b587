"""Texts of a playbook filled in for no node in particular, as far as its own variables go; never reads a secret.

What depends on a node, on the inventory or on a secret stays as it was written: a change is then seen in the template.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path

from stackplan.language import schema
from stackplan.language.expression import condition as expression
from stackplan.language.expression import names
from stackplan.language.project import Files, Project
from stackplan.language.reading import holds_template
from stackplan.language.shape import Shape
from stackplan.language.variables import RESERVED, Scope
from stackplan.language.yielded import BadTemplate
from stackplan.model.arguments import Arguments, Value
from stackplan.model.condition import Condition
from stackplan.model.diagnosis import Invalid
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location
from stackplan.model.playbook import Action, Playbook, SecretSource, Step, Variable
from stackplan.model.secret import masked

_CONTENT = "content"
_ENVIRONMENT = "venv"


@dataclass
class Filling:
    """Fills in the texts of one playbook."""

    variables: Mapping[str, Variable]
    files: Files
    _scope: Scope = field(init=False)
    _settled: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._scope = Scope(self.variables, {})

    def playbook(self, playbook: Playbook) -> Playbook:
        return replace(
            playbook,
            preconditions=tuple(self.condition(it) for it in playbook.preconditions),
            steps=tuple(self._step(it) for it in playbook.steps),
        )

    def _step(self, step: Step) -> Step:
        shape = _shape("step", step.action.kind)
        arguments = self._arguments(step.action.arguments, shape)
        return replace(
            step,
            action=Action(step.action.kind, arguments, step.action.at),
            preconditions=tuple(self.condition(it) for it in step.preconditions),
            postconditions=tuple(self.condition(it) for it in step.postconditions),
            environment={name: self.text(str(text), step.at) for name, text in step.environment.items()},
            user=None if step.user is None else self.text(step.user, step.at),
        )

    def condition(self, condition: Condition) -> Condition:
        shape = None if condition.combination else _shape("condition", condition.kind)
        return replace(
            condition,
            arguments=self._arguments(condition.arguments, shape),
            operands=tuple(self.condition(it) for it in condition.operands),
            message=None if condition.message is None else self.text(condition.message, condition.at),
        )

    def value(self, value: Value, at: Location) -> Value:
        """Return a value with its templates filled in where that is the same on every node; None counts as nothing."""
        if isinstance(value, str):
            return self._filled(value, at) if holds_template(value) else value
        if isinstance(value, Mapping):
            found = ((key, self.value(item, at)) for key, item in value.items())
            return {key: item for key, item in found if item is not None}
        if isinstance(value, tuple):
            return tuple(item for item in (self.value(it, at) for it in value) if item is not None)
        return value

    def text(self, text: str, at: Location) -> str:
        value = self.value(text, at)
        return text if isinstance(value, (Mapping, tuple)) else written(value)

    def holds(self, when: str, at: Location) -> bool | None:
        """Return whether a `when` holds, going by the playbook's own variables; None where only a node can tell."""
        try:
            if all(self._is_settled(name) for name in expression(when).names):
                return self._scope.holds(when, at)
        except (BadTemplate, Invalid):
            return None
        return None

    def _arguments(self, found: Arguments, shape: Shape | None) -> Arguments:
        values = {key: self.value(value, found.place(key)) for key, value in found.values.items()}
        values = {key: folder(value) if key == _ENVIRONMENT else value for key, value in values.items()}
        for key, value in found.values.items():
            about = shape.properties.get(key) if shape else None
            if about is not None and about.file and isinstance(value, str):
                values.setdefault(_CONTENT, self._content(value, found.place(key), about.file))
        return replace(found, values={key: value for key, value in values.items() if value is not None})

    def _content(self, named: str, at: Location, how: str) -> Value:
        """Return the text of the project's file that an argument names; None where that cannot be told."""
        if holds_template(named):
            return None
        try:
            project = Project(self.files.root_of(Path(at.path)), self.files)
            text = project.text(project.beside(named, at))
        except Invalid:
            return None
        return text if how == "verbatim" else self.text(text, at)

    def _filled(self, text: str, at: Location) -> Value:
        try:
            if all(self._is_settled(name) for name in names(text)):
                return self._scope.fill(text, at)
        except (BadTemplate, Invalid):
            return text
        return text

    def _is_settled(self, name: str, above: tuple[str, ...] = ()) -> bool:
        """Return whether a variable is the same on every node and no secret, and so are those that it refers to."""
        if name not in self._settled:
            variable = self.variables.get(name)
            settled = name != RESERVED and variable is not None and name not in above
            if settled and variable is not None:
                settled = not isinstance(variable.value, SecretSource) and all(
                    self._is_settled(inner, (*above, name)) for inner in _names_in(variable.value)
                )
            self._settled[name] = settled
        return self._settled[name]


def _names_in(value: "Value | SecretSource") -> frozenset[str]:
    """Return the variables that the templates in a value refer to."""
    if isinstance(value, str):
        return names(value) if holds_template(value) else frozenset()
    if isinstance(value, Mapping):
        return frozenset().union(*(_names_in(item) for item in value.values()))
    if isinstance(value, tuple):
        return frozenset().union(*(_names_in(item) for item in value))
    return frozenset()


def reached(value: "Value | SecretSource", variables: Mapping[str, Variable]) -> frozenset[str]:
    """Return the variables that go into a value: those that it refers to, and those that they refer to."""
    found: set[str] = set()
    waiting = [*_names_in(value)]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            if name in variables:
                waiting += _names_in(variables[name].value)
    return frozenset(found)


def written(value: Value) -> str:
    """Return a value as a playbook would have it: lists and mappings in brackets."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(written(item) for item in value) + "]"
    return "" if value is None else str(value)


def folder(value: Value) -> Value:
    """Return the name of a folder without what adds nothing to it: a slash at its end, a second one, `/./`.

    `..` stays: where a link is in the way, it leads elsewhere.
    """
    if not isinstance(value, str) or holds_template(value):
        return value
    parts = [part for index, part in enumerate(value.split("/")) if part not in ("", ".") or (index == 0 and part)]
    return ("/" if value.startswith("/") else "") + "/".join(parts)


def essence(value: Value) -> object:
    """Return what two values have in common that say the same: the order of a mapping and quotes make no difference.

    Of what is not written it is None, which no written value has, an empty one neither.
    """
    if value is None:
        return None
    if isinstance(value, Mapping):
        return tuple(sorted((key, essence(item)) for key, item in value.items()))
    return tuple(essence(item) for item in value) if isinstance(value, tuple) else written(value)


def shown(value: Value) -> str:
    """Return a value as it may be shown: passwords in addresses made unreadable."""
    return masked_lines(written(value))


def masked_lines(text: str) -> str:
    """Return a text with the passwords in its addresses made unreadable."""
    return "\n".join(masked(line) for line in text.split("\n"))


def _shape(owner: str, kind: str) -> Shape | None:
    return schema.compiler("playbook").shape(f"#/$defs/{owner}").properties.get(kind)
