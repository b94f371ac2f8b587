"""Filling in a playbook for one node: every text rendered, arguments read again by their schemas with true values."""

from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from stackplan.language import schema, source
from stackplan.language.filling import Filled
from stackplan.language.project import Disk, Files, Project
from stackplan.language.reading import Read, Reading, arguments, holds_template, tree_of
from stackplan.language.shape import Compiler, Shape
from stackplan.language.tree import YamlMapping, YamlScalar, YamlSequence, YamlValue
from stackplan.language.variables import Scope
from stackplan.model.arguments import Arguments
from stackplan.model.condition import Condition
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location
from stackplan.model.playbook import Playbook, Step
from stackplan.model.secret import Text

_CONTENT = "content"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """A playbook rendered as far as it can be: what could not stays as written.

    `wrong` is what is not as it should be, `unfilled` is about templates and files that could not be filled in.
    """

    playbook: Playbook
    wrong: tuple[Diagnosis, ...]
    unfilled: tuple[Diagnosis, ...]


def render(playbook: Playbook, scope: Scope, files: Files | None = None) -> Playbook:
    """Return the playbook of one node: every text filled in, every argument what its field wants.

    A step whose `when` does not hold has `skipped` set and stays as written. `files` are those of the disk, unless
    others are given. Raise Invalid with all that is wrong.
    """
    rendering = render_partly(playbook, scope, files)
    if rendering.wrong or rendering.unfilled:
        raise source.invalid([*rendering.wrong, *rendering.unfilled], playbook.sources)
    return rendering.playbook


def render_partly(playbook: Playbook, scope: Scope, files: Files | None = None) -> Rendering:
    """Return the same as far as it can be made, with what stands in the way."""
    renderer = _Renderer(scope, playbook.sources, files or Disk())
    rendered = replace(
        playbook,
        preconditions=tuple(renderer.condition(it) for it in playbook.preconditions),
        steps=tuple(renderer.step(it) for it in playbook.steps),
    )
    return Rendering(playbook=rendered, wrong=tuple(renderer.diagnoses), unfilled=tuple(renderer.unfilled))


def as_written(arguments: Arguments) -> bool:
    """Return whether the arguments hold no template, so that they are the same on every node."""
    return not _holds_any(arguments.values)


@dataclass
class _Renderer:
    scope: Scope
    sources: source.Sources
    files: Files
    diagnoses: list[Diagnosis] = field(default_factory=list)
    unfilled: list[Diagnosis] = field(default_factory=list)
    compiler: Compiler = field(default_factory=lambda: schema.compiler("playbook"))

    def step(self, step: Step) -> Step:
        before, unfilled_before = len(self.diagnoses), len(self.unfilled)
        if not self._holds(step):
            return replace(step, skipped=len(self.unfilled) == unfilled_before)
        kinds = self.compiler.shape("#/$defs/step").properties
        rendered = replace(
            step,
            action=replace(step.action, arguments=self._arguments(step.action.arguments, kinds[step.action.kind])),
            preconditions=tuple(self.condition(it) for it in step.preconditions),
            postconditions=tuple(self.condition(it) for it in step.postconditions),
            name=self._shown(step.name, step.place("name"), "`name`"),
            why=self._shown(step.why, step.place("why"), "`why`"),
            user=self._user(step),
            environment=self._environment(step),
        )
        self.diagnoses[before:] = [it.in_step(step.id) for it in self.diagnoses[before:]]
        self.unfilled[unfilled_before:] = [it.in_step(step.id) for it in self.unfilled[unfilled_before:]]
        return rendered

    def condition(self, condition: Condition) -> Condition:
        kinds = self.compiler.shape("#/$defs/condition").properties
        found = condition.arguments
        arguments = found if condition.combination else self._arguments(found, kinds[condition.kind])
        if arguments is found and not (condition.operands or condition.name or condition.message):
            return condition
        return replace(
            condition,
            arguments=arguments,
            operands=tuple(self.condition(it) for it in condition.operands),
            name=self._shown(condition.name, condition.at, "`name`"),
            message=self._shown(condition.message, condition.at, "`message`"),
        )

    def _holds(self, step: Step) -> bool:
        if step.when is None:
            return True
        try:
            return self.scope.holds(step.when, step.when_at or step.at)
        except Invalid as error:
            self.unfilled += [it.in_step(step.id) for it in error.diagnoses]
            return False

    def _arguments(self, found: Arguments, shape: Shape) -> Arguments:
        if shape.naming_files.isdisjoint(found.values):
            filling = Filled(self.scope, Reading(self.compiler, templates=False), found.places, found.at)
            values = filling.mapping(found.values, shape, ())
            self.unfilled += filling.unfilled
            if filling.unfilled or not filling.templates:
                # Without a template nothing has changed since the playbook was read.
                return found
            if filling.simple:
                return Arguments(values, found.at, found.places)
        before = len(self.unfilled)
        filled = self._filled(tree_of(found.values, found.at, found.places))
        if filled is None or len(self.unfilled) > before:
            return found
        assert isinstance(filled, YamlMapping)
        filled = self._with_content(filled, shape)
        reading = Reading(self.compiler, templates=False)
        read = reading.read(shape, filled, f"`{shape.title or 'it'}`")
        self.diagnoses += [self._traced(it, found) for it in reading.diagnoses]
        assert isinstance(read, YamlMapping)
        return arguments(read)

    def _traced(self, diagnosis: Diagnosis, found: Arguments) -> Diagnosis:
        """Return what is wrong with a value, with the variables in it that the command line sets: it may be there."""
        path = next((path for path, at in found.places.items() if at == diagnosis.at), ())
        value: Any = found.values
        for part in path:
            value = value[part]
        if not isinstance(value, str) or not holds_template(value):
            return diagnosis
        return replace(diagnosis, causes=(*diagnosis.causes, *self.scope.given(value)))

    def _filled(self, tree: Read) -> Read | None:
        """Return a tree with its templates filled in; None where that yields null, which counts as not written."""
        if isinstance(tree, YamlMapping):
            entries = [(key, self._filled(value)) for key, value in tree.entries]
            return YamlMapping(tuple((key, value) for key, value in entries if value is not None), tree.at)
        if isinstance(tree, YamlSequence):
            items = [self._filled(item) for item in tree.items]
            return YamlSequence(tuple(item for item in items if item is not None), tree.at)
        text = tree.text if isinstance(tree, YamlScalar) else tree.value
        if not isinstance(text, str) or not holds_template(text):
            return tree
        try:
            value = self.scope.fill(text, tree.at)
        except Invalid as error:
            self.unfilled += error.diagnoses
            return tree
        return None if value is None else tree_of(value, tree.at, {})

    def _with_content(self, tree: YamlMapping, shape: Shape) -> YamlMapping:
        """Return arguments with the text of the project's file that they name as their `content`."""
        entries = [*tree.entries]
        for key, value in tree.entries:
            named = value.value if isinstance(value, YamlValue) else None
            how = shape.properties[key.text].file if key.text in shape.properties else None
            if how is None or not isinstance(named, str):
                continue
            if tree.get(_CONTENT) is not None:
                summary = f"`{key.text}` and `{_CONTENT}` both say what the file holds"
                self.diagnoses.append(Diagnosis(summary=summary, at=value.at, remedy="take one of the two away"))
                continue
            content = self._file(named, value.at, how)
            if content is not None:
                entries.append((YamlScalar(_CONTENT, key.at, quoted=True), content))
        return YamlMapping(tuple(entries), tree.at)

    def _file(self, named: str, at: Location, how: str) -> Read | None:
        project = Project(self.files.root_of(Path(at.path)), self.files)
        try:
            text = project.text(project.beside(named, at))
        except Invalid as error:
            self.diagnoses += [_said_of_field(it, named, at) for it in error.diagnoses]
            return None
        if how == "verbatim" or not holds_template(text):
            return YamlValue(text, at)
        # What the file's text needs counts as used by the playbook, too.
        inner = replace(self.scope, sources={**self.sources, **project.sources})
        try:
            filled = inner.fill(text, Location(next(iter(project.sources)), 1, 1))
        except Invalid as error:
            self.unfilled += error.diagnoses
            return None
        return tree_of(filled, at, {})

    def _text(self, text: str, at: Location, name: str) -> Text:
        if not holds_template(text):
            return text
        read = self._filled(YamlValue(text, at))
        reading = Reading(self.compiler, templates=False)
        read = reading.read(self.compiler.shape("#/$defs/values/$defs/text"), read or YamlValue("", at), name)
        self.diagnoses += reading.diagnoses
        value = read.value if isinstance(read, YamlValue) else ""
        return value if not isinstance(value, (bool, int, float)) and value is not None else str(value)

    def _shown(self, text: str | None, at: Location, name: str) -> str | None:
        return None if text is None else str(self._text(text, at, name))

    def _user(self, step: Step) -> str | None:
        if step.user is None:
            return None
        user = self._text(step.user, step.place("user"), "`user`")
        if not isinstance(user, str):
            remedy = "name the user in a variable that is no secret"
            summary = "`user` may not hold a secret"
            self.diagnoses.append(Diagnosis(summary=summary, at=step.place("user"), remedy=remedy))
        return str(user) or None

    def _environment(self, step: Step) -> Mapping[str, Text]:
        return {
            name: self._text(text, step.place("env", name), f"`{name}`") if isinstance(text, str) else text
            for name, text in step.environment.items()
        }


def _said_of_field(diagnosis: Diagnosis, named: str, at: Location) -> Diagnosis:
    """Return what is wrong with a file as something about the field that names it: the file itself may be no text."""
    if diagnosis.at is None or diagnosis.at.path == at.path:
        return replace(diagnosis, at=at)
    where = f"{diagnosis.observed or diagnosis.summary}, at {diagnosis.at}"
    summary = f"`{named}` is not a text that can be put on a node"
    return Diagnosis(summary=summary, expected="UTF-8 without control characters", observed=where, at=at)


def _holds_any(value: object) -> bool:
    """Return whether a template stands anywhere in a value of arguments."""
    if isinstance(value, str):
        return holds_template(value)
    if type(value) is tuple:
        return any(map(_holds_any, value))
    return isinstance(value, Mapping) and any(map(_holds_any, value.values()))
