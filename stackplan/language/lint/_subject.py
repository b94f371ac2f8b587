"""A playbook as rules look at it: rendered as far as it goes without a node, scripts and requirements taken apart."""

from collections.abc import Iterator, Mapping

from stackplan.language.lint import _installation, _settings, _wanted
from stackplan.language.lint._installation import Installation
from stackplan.language.lint._script import Script, place_of
from stackplan.language.lint._settings import Setting
from stackplan.language.lint._shell import Command, read, read_arguments
from stackplan.language.lint._tree import Block, flat
from stackplan.language.lint._wanted import Index, Wanted
from stackplan.model.arguments import Arguments
from stackplan.model.cached import cached_property
from stackplan.model.condition import Combination, Condition
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location
from stackplan.model.playbook import Playbook, Step
from stackplan.model.secret import Secret, Text

Sources = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Statement:
    """A condition that states something by itself; `negated` inside of `not`, `optional` inside of `any`."""

    condition: Condition
    negated: bool = False
    optional: bool = False

    @property
    def kind(self) -> str:
        return self.condition.kind

    @property
    def arguments(self) -> Arguments:
        return self.condition.arguments

    @property
    def at(self) -> Location:
        return self.condition.at

    def text(self, name: str) -> str | None:
        """Return the text at an argument; None where it is not given or not known without a node."""
        value = self.arguments.values.get(name)
        return value if isinstance(value, str) and "{{" not in value else None


def statements(conditions: tuple[Condition, ...]) -> tuple[Statement, ...]:
    return tuple(_flat(conditions, negated=False, optional=False))


def _flat(conditions: tuple[Condition, ...], *, negated: bool, optional: bool) -> Iterator[Statement]:
    for it in conditions:
        if it.combination is None:
            yield Statement(it, negated, optional)
        else:
            flip = it.combination is Combination.NOT
            within_any = optional or (it.combination is Combination.ANY and len(it.operands) > 1)
            yield from _flat(it.operands, negated=negated != flip, optional=within_any)


class Looked:
    """One step. `number` counts from 0; `written` is the step with its templates as they stand in the file."""

    def __init__(self, number: int, step: Step, written: Step, sources: Sources, files: Mapping[str, Script]) -> None:
        self.number = number
        self.step = step
        self.written = written
        self._sources = sources
        self._files = files
        self.id = str(step.id)
        self.kind = step.action.kind
        self.arguments = step.action.arguments

    def place(self, field: str) -> Location:
        """Return where an argument of the action stands, or where the action does when it is not given."""
        return self.arguments.place(field) if field in self.arguments else self.step.action.at

    @property
    def installs(self) -> bool:
        return self.kind == "python_packages"

    @cached_property
    def installations(self) -> tuple[Installation, ...]:
        """What the step has installers of Python packages do, by its arguments or in its script."""
        variables = {name: (value, at) for name, value, at in self.environment}
        if self.installs:
            return (_installation.of_step(self.arguments, variables, self._files),)
        if self.script is None or not self.mentions("install"):
            return ()
        return tuple(_installation.of_script(self.script, variables, self._files))

    @property
    def own(self) -> Installation:
        """What a `python_packages` step asks for."""
        return self.installations[0]

    @cached_property
    def wanted(self) -> tuple[Wanted, ...]:
        return self.own.wanted if self.installs else ()

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(it.name for it in self.wanted)

    @cached_property
    def removed(self) -> frozenset[str]:
        found = _wanted.names(self.arguments, "remove") if self.installs else None
        return found or frozenset()

    @cached_property
    def indexes(self) -> tuple[Index, ...]:
        return self.own.indexes if self.installs else ()

    @property
    def tag(self) -> str | None:
        """The build that the step's indexes name, where they name one and no other."""
        return self.own.tag if self.installs else None

    @property
    def venv(self) -> str | None:
        value = self.arguments.values.get("venv")
        return value if isinstance(value, str) else None

    def upgrades(self, name: str) -> bool:
        return _wanted.covers(self.arguments, "upgrade", name)

    def reinstalls(self, name: str) -> bool:
        return _wanted.covers(self.arguments, "reinstall", name)

    @cached_property
    def postconditions(self) -> tuple[Statement, ...]:
        return statements(self.step.postconditions)

    @cached_property
    def preconditions(self) -> tuple[Statement, ...]:
        return statements(self.step.preconditions)

    @cached_property
    def script(self) -> Script | None:
        """What a `run` step does, as commands; None of any other step."""
        if self.kind != "run":
            return None
        text = self.arguments.values.get("script")
        if isinstance(text, Secret):
            # With a secret in it the whole text is one; the playbook says it without.
            text = self.written.action.arguments.values.get("script")
        if isinstance(text, str):
            return Script(text, self.arguments.place("script"), self._sources)
        argv = self.arguments.values.get("argv")
        words = tuple(str(it) for it in argv) if isinstance(argv, tuple) else ()
        return Script.of(words, self.arguments.place("argv"), self._sources) if words else None

    def mentions(self, *marks: str) -> bool:
        """Return whether its script has one of some texts in it, so that it is worth being taken apart."""
        return self.script is not None and self.script.mentions(*marks)

    @property
    def commands(self) -> tuple[Command, ...]:
        return () if self.script is None else self.script.commands

    def command_at(self, command: Command) -> Location:
        assert self.script is not None
        return self.script.place(command)

    @cached_property
    def environment(self) -> tuple[tuple[str, Text, Location], ...]:
        """The variables that the step sets, for itself and for its script, with their places."""
        found = [(name, value, self.step.place("env", name)) for name, value in self.step.environment.items()]
        inner = self.arguments.values.get("env")
        if isinstance(inner, Mapping):
            found += [
                (name, value, self.arguments.place("env", name))
                for name, value in inner.items()
                if isinstance(value, (str, Secret))
            ]
        return tuple(found)

    @cached_property
    def content(self) -> Script | None:
        """What a `file` step writes; None of any other step. A file of the project has no lines in the playbook."""
        if self.kind != "file":
            return None
        text = self.arguments.values.get("content")
        if isinstance(text, Secret):
            text = self.written.action.arguments.values.get("content")
        field = next((it for it in ("template", "source") if it in self.arguments), "content")
        return Script(text, self.arguments.place(field), self._sources) if isinstance(text, str) else None

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """The variables that the step sets in whatever way: by its `env`, its commands, the file that it writes."""
        found = [Setting(name, value, at) for name, value, at in self.environment]
        for it in self.commands:
            found += [Setting(name, value, self.command_at(it)) for name, value in _settings.of_command(it)]
        if (content := self.content) is not None:
            lines = _settings.in_text(content.text)
            found += [Setting(name, value, content.place_at(offset)) for name, value, offset in lines]
        return tuple(found)


class Subject:
    """One playbook: `playbook` rendered as far as it goes, `written` with its templates; `codes` are of all rules.

    A part of it has some of its steps. The one that `leads` has what belongs to no step as well.
    """

    def __init__(
        self,
        written: Playbook,
        rendered: Playbook,
        codes: frozenset[str],
        steps: tuple[Looked, ...],
        *,
        leads: bool = True,
    ) -> None:
        self.playbook = rendered
        self.written = written
        self.codes = codes
        self.steps = steps
        self.leads = leads

    @classmethod
    def of(cls, written: Playbook, rendered: Playbook, codes: frozenset[str]) -> "Subject":
        """Return a playbook as a whole."""
        pairs = enumerate(zip(rendered.steps, written.steps, strict=True))
        files: dict[str, Script] = {}
        steps = tuple(Looked(number, step, raw, written.sources, files) for number, (step, raw) in pairs)
        for it in steps:
            path = it.arguments.values.get("path") if it.kind == "file" else None
            if isinstance(path, str) and it.content is not None:
                files[path] = it.content
        return cls(written, rendered, codes, steps)

    def part(self, start: int, stop: int) -> "Subject":
        """Return the part of the steps from `start` on, counted from 0, up to the one before `stop`."""
        return Subject(self.written, self.playbook, self.codes, self.steps[start:stop], leads=start == 0)

    @property
    def sources(self) -> Sources:
        return self.written.sources

    @cached_property
    def preconditions(self) -> tuple[Statement, ...]:
        return statements(self.playbook.preconditions) if self.leads else ()

    @cached_property
    def conditions(self) -> tuple[tuple[Statement, Looked | None, bool], ...]:
        """Every statement of the playbook with its step, and whether it is a postcondition."""
        found: list[tuple[Statement, Looked | None, bool]] = [(it, None, False) for it in self.preconditions]
        for step in self.steps:
            found += [(it, step, False) for it in step.preconditions]
            found += [(it, step, True) for it in step.postconditions]
        return tuple(found)

    @cached_property
    def condition_kinds(self) -> frozenset[str]:
        return frozenset(it.kind for it, _, _ in self.conditions)

    @cached_property
    def installing(self) -> tuple[Looked, ...]:
        return tuple(it for it in self.steps if it.installs)

    @cached_property
    def installations(self) -> tuple[tuple[Looked, Installation], ...]:
        """Every call of an installer of Python packages, with its step."""
        return tuple((step, call) for step in self.steps for call in step.installations)

    @cached_property
    def running(self) -> tuple[Looked, ...]:
        """The steps that run a script or a program of their own."""
        return tuple(it for it in self.steps if it.script is not None)

    @cached_property
    def action_kinds(self) -> frozenset[str]:
        return frozenset(it.kind for it in self.steps)

    @cached_property
    def questions(self) -> tuple[tuple[Block, Statement, Looked | None], ...]:
        """The `command` conditions, each as the text that it runs."""
        found = []
        for statement, step, _ in self.conditions:
            if statement.kind == "command":
                text, argv = (statement.arguments.values.get(name) for name in ("run", "argv"))
                words = tuple(str(it) for it in argv) if isinstance(argv, tuple) else ()
                block = read(text) if isinstance(text, str) else read_arguments(words) if words else Block(())
                found.append((block, statement, step))
        return tuple(found)

    @cached_property
    def asked(self) -> tuple[tuple[tuple[Command, ...], Statement, Looked | None], ...]:
        """The `command` conditions, each as the commands that it runs."""
        return tuple((tuple(flat(block)), statement, step) for block, statement, step in self.questions)

    def where(self, at: Location, text: str) -> Location:
        """Return where `text` stands in the value that begins at `at`, or `at` when it cannot be found there."""
        return place_of(text, at, self.sources)
