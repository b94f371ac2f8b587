"""Variables: where each comes from, which one wins, and what it is for one node.

Last wins: the playbook's `vars`, its `vars_files`, groups, the node, `--vars FILE`, `--var NAME=VALUE`. A variable may
refer to others. Secrets are read when something needs them, and whatever is made with one is a secret itself.
"""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from stackplan.language import schema, source, tree
from stackplan.language.expression import Expression, condition, names, template
from stackplan.language.nearest import did_you_mean
from stackplan.language.project import shown as shown_path
from stackplan.language.reading import Read, Reading, holds_template, value_of
from stackplan.language.secrets import Secrets
from stackplan.language.tree import YamlMapping
from stackplan.language.yielded import BadTemplate
from stackplan.model.arguments import Value, holds_secret
from stackplan.model.condition import Condition
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location
from stackplan.model.node import Node
from stackplan.model.playbook import Playbook, SecretSource, Variable
from stackplan.model.regular import regular
from stackplan.model.secret import MASK, Redactor, Secret, Unread, masked

_NAME = regular(r"[A-Za-z_][A-Za-z0-9_]*")
RESERVED = "node"
_DEEPEST = 30
_OFTEN = 100
"""Characters of a text that may well stand in a playbook many times."""
_VARIABLES = "#/$defs/values/$defs/variables"


@dataclass
class Scope:
    """The variables of one node. `variables` are the winners; each says in its `origin` who set it."""

    variables: Mapping[str, Variable]
    node: Mapping[str, Value]
    sources: source.Sources = field(default_factory=dict)
    reader: Secrets = field(default_factory=Secrets)
    _known: dict[str, Value] = field(default_factory=dict)
    _filled_before: dict[str, Value] = field(default_factory=dict)
    _resolving: list[str] = field(default_factory=list)

    @property
    def secrets(self) -> frozenset[str]:
        """Every secret text that was read so far, in the clear, for a Redactor and for nothing else."""
        return self.reader.revealed()

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.variables, RESERVED)

    @property
    def resolved(self) -> Mapping[str, Value]:
        """The values of those variables that something needed so far."""
        return dict(self._known)

    def value(self, name: str) -> Value:
        """Return the value of a variable, templates in it filled in. Raise Invalid when that is not possible."""
        if name == RESERVED:
            return self.node
        if name not in self._known:
            self._known[name] = self._resolved(self.variables[name])
        return self._known[name]

    def fill(self, text: str, at: Location) -> Value:
        """Return what a text with templates yields: what its one template does, or a text; a Secret when one went in.

        Raise Invalid, at its place, for a name that is not defined, and whatever else goes wrong.
        """
        if text in self._filled_before:
            return self._filled_before[text]
        try:
            found = self._evaluated(template(text), Expression.value, at)
        except BadTemplate as error:
            raise self._invalid(error, at) from error
        if len(text) <= _OFTEN:
            self._filled_before[text] = found
        return found

    def holds(self, when: str, at: Location) -> bool:
        """Return whether the expression of a `when` is true. Raise Invalid when it cannot be told.

        One that takes a secret apart counts as true where secrets are withheld.
        """
        try:
            expression = condition(when)
        except BadTemplate as error:
            raise self._invalid(error, at) from error
        return self._evaluated(expression, Expression.holds, at) is not False

    def _evaluated(
        self, expression: Expression, evaluate: Callable[[Expression, Mapping[str, object]], Value], at: Location
    ) -> Value:
        """Return what an expression gives; a failure of one that a secret went into tells nothing that was computed."""
        values, secret = self._values(expression)
        try:
            found = evaluate(expression, values)
            return self._as_secret(found) if secret else found
        except BadTemplate as error:
            named = error.name is None or error.name in expression.names
            if secret and self.reader.presumes and error.name is None:
                # What stands in for a secret need not have the form that the template takes apart.
                return Unread(MASK)
            quiet = BadTemplate(error.discreet, name=error.name if named else None, remedy=error.remedy)
            raise self._invalid(quiet if secret or not named else error, at, self._given(expression)) from None

    def _values(self, expression: Expression) -> tuple[dict[str, object], bool]:
        """Return the variables that an expression uses, in the clear, and whether a secret is among them."""
        used = {name: self.value(name) for name in expression.names if name == RESERVED or name in self.variables}
        secret = any(holds_secret(value) for value in used.values())
        return {name: _revealed(value) for name, value in used.items()}, secret

    def _resolved(self, variable: Variable) -> Value:
        if variable.name in self._resolving:
            path = [*self._resolving[self._resolving.index(variable.name) :], variable.name]
            summary = "these variables refer to each other in a circle"
            raise self._at(Diagnosis(summary=summary, observed=" → ".join(path), at=variable.at))
        if isinstance(variable.value, SecretSource):
            try:
                return self.reader.read(variable.name, variable.value)
            except Invalid as error:
                raise source.invalid(error.diagnoses, self.sources) from error
        if len(self._resolving) >= _DEEPEST:
            expected = f"at most {_DEEPEST} variables in a row"
            summary = "variables refer to each other too deeply"
            raise self._at(Diagnosis(summary=summary, expected=expected, at=variable.at))
        self._resolving.append(variable.name)
        try:
            return self._filled(variable.value, variable.at)
        finally:
            self._resolving.pop()

    def _filled(self, value: Value, at: Location) -> Value:
        if isinstance(value, str):
            return self.fill(value, at) if holds_template(value) else value
        if isinstance(value, Mapping):
            return {key: self._filled(item, at) for key, item in value.items()}
        if isinstance(value, tuple):
            return tuple(self._filled(item, at) for item in value)
        return value

    def _as_secret(self, value: Value) -> Value:
        """Return a value that a secret went into, every text and number in it a secret. Raise BadTemplate for a key."""
        if isinstance(value, Mapping):
            if any(Redactor(self.secrets).text(key) != key for key in value):
                raise BadTemplate("the key of a mapping may not hold a secret")
            return {key: self._as_secret(item) for key, item in value.items()}
        if isinstance(value, tuple):
            items = value or ((MASK,) if self.reader.withheld else ())
            return tuple(self._as_secret(item) for item in items)
        if value is None or isinstance(value, (bool, Secret)):
            return value
        text = str(value)
        if self.reader.withheld:
            # A part may be empty for no other reason than that a mask is short.
            return Unread(text if text.strip() else MASK)
        return Secret(text)

    def given(self, text: str) -> tuple[str, ...]:
        """Return, in words, which variables of a text with templates are as the command line sets them."""
        return self._given(template(text))

    def _given(self, expression: Expression) -> tuple[str, ...]:
        origins = {name: self.variables[name].origin for name in expression.names if name in self.variables}
        return tuple(f"`{name}` is set by {it}" for name, it in sorted(origins.items()) if it.startswith("--var"))

    def _invalid(self, error: BadTemplate, at: Location, causes: tuple[str, ...] = ()) -> Invalid:
        if error.name is None:
            return self._at(Diagnosis(summary=error.summary, at=at, causes=causes, remedy=error.remedy))
        place = source.find(error.name, at, self.sources)
        remedy = did_you_mean(error.name, self.names)
        remedy = remedy or f"define it in `vars`, in the inventory, or with `--var {error.name}=…`"
        return self._at(Diagnosis(summary=error.summary, at=place, remedy=remedy, span=len(error.name)))

    def _at(self, diagnosis: Diagnosis) -> Invalid:
        hidden = source.hidden(diagnosis, Redactor(self.secrets).text)
        return source.invalid([hidden], self.sources)


def scope(
    playbook: Playbook,
    node: Node,
    files: Sequence[Path] = (),
    sets: Sequence[str] = (),
    *,
    secrets: Secrets | None = None,
) -> Scope:
    """Return the variables of one node; `files` are those of `--vars`, `sets` the `NAME=VALUE` of `--var`, last wins.

    `secrets` is shared by the nodes of a run, so that each is read once. Raise Invalid for a file that cannot be read,
    and for a name in `sets` that nothing knows.
    """
    layers = [playbook.variables, node.variables]
    sources = dict(playbook.sources)
    for path in files:
        variables, lines = read_file(path, f"--vars {path}")
        layers.append(variables)
        sources |= lines
    given = {name: variable for it in sets for name, variable in [_given(it)]}
    merged = {name: variable for layer in (*layers, given) for name, variable in layer.items()}
    _refuse_unknown(given, layers, playbook)
    return settled(merged, node, sources, secrets or Secrets())


def settled(variables: Mapping[str, Variable], node: Node, sources: source.Sources, secrets: Secrets) -> Scope:
    """Return the scope of a node of which it is known already which variables win."""
    facts: dict[str, Value] = {
        "name": str(node.name),
        "host": node.host or str(node.name),
        "labels": dict(node.labels),
        "groups": tuple(node.groups),
    }
    return Scope(variables, facts, sources, secrets)


def read_file(path: Path, origin: str) -> tuple[dict[str, Variable], dict[str, tuple[str, ...]]]:
    """Return the variables of a YAML file, and its lines. Raise Invalid when it is no mapping of names."""
    named = shown_path(path)
    text = tree.decode(tree.read_bytes(path, named), named)
    sources = {named: source.lines(text)}
    return read_variables(tree.read_text(text, named), origin, sources), sources


def read_variables(found: tree.Tree, origin: str, sources: source.Sources) -> dict[str, Variable]:
    """Return the variables of a mapping. Raise Invalid when it is none, or one of them is not as it should be."""
    compiler = schema.compiler("playbook")
    reading = Reading(compiler)
    read = reading.read(compiler.shape(_VARIABLES), found, "the file of variables")
    diagnoses = [*reading.diagnoses]
    variables: dict[str, Variable] = {}
    if isinstance(read, YamlMapping):
        diagnoses += faults(read)
        variables = {} if diagnoses else of(read, origin)
    if diagnoses:
        raise source.invalid(diagnoses, sources)
    return variables


def faults(read: YamlMapping) -> list[Diagnosis]:
    """Return what is wrong with variables that the schema accepted: a reserved name, a template that is none."""
    found = [
        Diagnosis(summary=f"`{RESERVED}` is taken: it holds the name, host and labels of the node", at=key.at)
        for key, _ in read.entries
        if key.text == RESERVED
    ]
    found += [
        Diagnosis(summary=f"`{key.text}` of a secret may not hold a template", at=part.at)
        for _, value in read.entries
        if isinstance(value, YamlMapping) and value.get("secret") is not None
        for key, part in value.entries
        if isinstance(text := value_of(part), str) and holds_template(text)
    ]
    return found + template_faults(read)


def template_faults(read: Read) -> list[Diagnosis]:
    """Return a diagnosis for each text in a tree that holds a template which cannot be read."""
    found: list[Diagnosis] = []
    _note_template_faults(read, found)
    return found


def _note_template_faults(read: Read, found: list[Diagnosis]) -> None:
    if isinstance(read, YamlMapping):
        for _, value in read.entries:
            _note_template_faults(value, found)
    elif isinstance(read, tree.YamlSequence):
        for item in read.items:
            _note_template_faults(item, found)
    else:
        text = read.text if isinstance(read, tree.YamlScalar) else read.value
        if isinstance(text, str) and holds_template(text):
            try:
                names(text)
            except BadTemplate as error:
                found.append(Diagnosis(summary=error.summary, at=read.at, remedy=error.remedy))


def of(read: YamlMapping, origin: str) -> dict[str, Variable]:
    """Return the variables of a mapping that the schema accepted."""
    return {
        key.text: Variable(key.text, _source(value) or value_of(value), value.at, origin) for key, value in read.entries
    }


def _source(read: Read) -> SecretSource | None:
    if not isinstance(read, YamlMapping) or read.get("secret") is None:
        return None
    fields = {key.text: value_of(value) for key, value in read.entries}
    command = fields.get("command")
    env, file = fields.get("env"), fields.get("file")
    argv: tuple[str, ...] = ()
    if isinstance(command, str):
        argv = _split(command)
    elif isinstance(command, tuple):
        argv = tuple(str(word) for word in command)
    return SecretSource(read.at, env if isinstance(env, str) else None, file if isinstance(file, str) else None, argv)


def _split(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command)) or (command,)
    except ValueError:
        return (command,)


def _given(text: str) -> tuple[str, Variable]:
    name, equals, value = text.partition("=")
    if not equals or not _NAME.fullmatch(name) or name == RESERVED:
        raise Invalid([Diagnosis(summary=f"`--var {masked(name)[:60]}` sets no variable", expected="--var NAME=VALUE")])
    return name, Variable(name, value, Location(f"--var {name}", 1, 1), "--var")


def _refuse_unknown(given: Iterable[str], layers: Iterable[Mapping[str, Variable]], playbook: Playbook) -> None:
    known = {name for layer in layers for name in layer}
    if known.issuperset(given):
        return
    known |= used_names(playbook)
    unknown = [name for name in given if name not in known]
    diagnoses = [
        Diagnosis(
            summary=f"`--var {name}=…` sets a variable that nothing uses",
            remedy=did_you_mean(name, known) or f"the playbook knows {', '.join(sorted(known)) or 'no variables'}",
        )
        for name in unknown
    ]
    if diagnoses:
        raise Invalid(diagnoses)


def used_names(playbook: Playbook) -> frozenset[str]:
    """Return the names of the variables that the templates of a playbook use."""
    values: list[object] = [variable.value for variable in playbook.variables.values()]
    conditions = [*playbook.preconditions]
    used: set[str] = set()
    for step in playbook.steps:
        values += [step.action.arguments.values, step.environment, step.user, step.name]
        conditions += [*step.preconditions, *step.postconditions]
        if step.when is not None:
            used |= condition(step.when).names
    for it in conditions:
        values += _condition_values(it)
    templates: set[str] = set()
    _note_templates(values, templates)
    return frozenset(used.union(*map(names, templates)))


def _condition_values(found: Condition) -> list[object]:
    inner = [value for operand in found.operands for value in _condition_values(operand)]
    return [found.arguments.values, found.name, found.message, *inner]


def _note_templates(value: Any, found: set[str]) -> None:
    kind = type(value)
    if kind is str:
        if holds_template(value):
            found.add(value)
    elif kind is tuple or kind is list:
        for item in value:
            _note_templates(item, found)
    elif kind is dict or isinstance(value, Mapping):
        for item in value.values():
            _note_templates(item, found)


def _revealed(value: Value) -> object:
    if isinstance(value, Mapping):
        return {key: _revealed(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_revealed(item) for item in value]
    return value.reveal() if isinstance(value, Secret) else value
