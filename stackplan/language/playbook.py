"""From a file, and those that it names, to a Playbook whose texts are all as written."""

from collections.abc import Iterator
from dataclasses import field
from pathlib import Path

from stackplan.language import schema, source, step, variables
from stackplan.language.project import Disk, Files, Project
from stackplan.language.reading import Read, Reading, holds_template, value_of
from stackplan.language.shape import Compiler, Shape
from stackplan.language.tree import Tree, YamlMapping, YamlSequence
from stackplan.language.uncollected import uncollected
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location
from stackplan.model.playbook import Playbook, Rollout, Share, Variable

MOST_STEPS = 10_000
MOST_FILES = 200


def read(path: Path, *, root: Path | None = None, files: Files | None = None) -> Playbook:
    """Return the playbook of a file; its other files may not leave `root` (by default the git root, or its folder).

    `files` are those of the disk, unless others are given. Raise Invalid with everything that is wrong in it and in
    the files that it includes.
    """
    with uncollected():
        return _read(path, root, files or Disk())


def _read(path: Path, root: Path | None, files: Files) -> Playbook:
    reader = _Reader(Project(files.resolved(root or files.root_of(path)), files))
    try:
        tree = reader.project.read(path)
        found = reader.playbook(tree, path)
    except Invalid as error:
        reader.diagnoses += error.diagnoses
        found = None
    if reader.diagnoses or found is None:
        raise source.invalid(reader.diagnoses, reader.project.sources)
    return found


@dataclass
class _Reader:
    """Reads one playbook; collects what is wrong in all of its files."""

    project: Project
    diagnoses: list[Diagnosis] = field(default_factory=list)
    compiler: Compiler = field(default_factory=lambda: schema.compiler("playbook"))
    _including: list[Path] = field(default_factory=list)
    _files: int = 0

    def playbook(self, tree: Tree, path: Path) -> Playbook | None:
        self._including = [self.project.files.resolved(path)]
        if not isinstance(tree, YamlMapping):
            self.diagnoses.append(Diagnosis(summary="this is not a playbook", expected="a YAML mapping", at=tree.at))
            return None
        read = self._read(self.compiler.shape("#"), tree, "the playbook")
        assert isinstance(read, YamlMapping)
        self._check_whole(read)
        own = read.get("vars")
        if isinstance(own, YamlMapping):
            self.diagnoses += variables.faults(own)
        steps = [*self._step_trees(read.get("steps"))]
        for it in steps:
            self.diagnoses += step.step_faults(it)
        found: dict[str, Variable] = {}
        if not self.diagnoses and isinstance(own, YamlMapping):
            found = variables.of(own, f"vars of {self.project.files.shown(path)}")
        found |= self._variables_of_files(read.get("vars_files"))
        self._check_ids(steps)
        return None if self.diagnoses else self._built(read, path, steps, found)

    def _built(self, read: YamlMapping, path: Path, steps: list[YamlMapping], found: dict[str, Variable]) -> Playbook:
        defaults, nodes = read.get("defaults"), read.get("nodes")
        shared = step.Defaults(
            {key.text: it for key, it in defaults.entries} if isinstance(defaults, YamlMapping) else {}
        )
        return Playbook(
            name=step.optional_text(read.get("name")) or path.stem,
            path=self.project.files.shown(path),
            sha256=self.project.sha256,
            nodes=_texts(nodes),
            steps=tuple(step.step(it, shared) for it in steps),
            description=step.optional_text(read.get("description")),
            variables=found,
            preconditions=step.conditions(read.get("preconditions")),
            rollout=_rollout(read.get("rollout")),
            revision=self.project.files.revision(self.project.files.resolved(path).parent),
            sources=self.project.sources,
            places=tuple(it.at for it in _scalars(nodes)) if nodes is not None else (),
        )

    def _read(self, shape: Shape, tree: Tree, name: str) -> Read:
        reading = Reading(self.compiler)
        read = reading.read(shape, tree, name)
        self.diagnoses += reading.diagnoses
        return read

    def _check_whole(self, read: YamlMapping) -> None:
        """Check what stands outside of the steps: fields that take no template, and the node's preconditions."""
        for name in ("stackplan", "name", "nodes", "rollout", "vars_files"):
            value = read.get(name)
            for part in _scalars(value) if value is not None else ():
                if isinstance(text := value_of(part), str) and holds_template(text):
                    summary = f"`{name}` may not hold a template: it is read before any node is known"
                    self.diagnoses.append(Diagnosis(summary=summary, at=part.at))
        for name in ("defaults", "preconditions"):
            value = read.get(name)
            if value is not None:
                self.diagnoses += variables.template_faults(value)
            if isinstance(value, YamlMapping):
                self.diagnoses += step.fixed_faults(value)
            if isinstance(value, YamlSequence):
                self.diagnoses += [fault for it in value.items for fault in step.condition_faults(it)]

    def _step_trees(self, tree: Read | None) -> Iterator[YamlMapping]:
        """Yield the trees of all steps, those of included files in their place."""
        for item in tree.items if isinstance(tree, YamlSequence) else ():
            if not isinstance(item, YamlMapping):
                continue
            named = item.get("include")
            if named is None:
                yield item
            elif isinstance(text := value_of(named), str) and text:
                yield from self._included(text, named.at)

    def _included(self, named: str, at: Location) -> Iterator[YamlMapping]:
        if holds_template(named):
            summary = "`include` may not hold a template: it is read before any node is known"
            self.diagnoses.append(Diagnosis(summary=summary, at=at))
            return
        try:
            path = self.project.beside(named, at)
            self._refuse_circle(path, at)
            tree = self.project.read(path)
        except Invalid as error:
            self.diagnoses += error.diagnoses
            return
        steps = tree.get("steps") if isinstance(tree, YamlMapping) else tree
        if not isinstance(steps, YamlSequence) or (isinstance(tree, YamlMapping) and len(tree.entries) > 1):
            summary = "an included file holds steps and nothing else"
            self.diagnoses.append(Diagnosis(summary=summary, expected="a list of steps", at=tree.at))
            return
        self._including.append(self.project.files.resolved(path))
        yield from self._step_trees(self._read(self.compiler.shape("#/properties/steps"), steps, "`steps`"))
        self._including.pop()

    def _refuse_circle(self, path: Path, at: Location) -> None:
        resolved = self.project.files.resolved(path)
        if resolved in self._including:
            chain = [*self._including[self._including.index(resolved) :], resolved]
            observed = " → ".join(it.name for it in chain)
            raise Invalid([Diagnosis(summary="these files include each other in a circle", observed=observed, at=at)])
        self._files += 1
        if self._files > MOST_FILES:
            raise Invalid([Diagnosis(summary="the playbook includes too much", expected=f"{MOST_FILES} files", at=at)])

    def _variables_of_files(self, tree: Read | None) -> dict[str, Variable]:
        found: dict[str, Variable] = {}
        for part in _scalars(tree) if tree is not None else ():
            named = value_of(part)
            if not isinstance(named, str) or holds_template(named):
                continue
            try:
                path = self.project.beside(named, part.at)
                origin = self.project.files.shown(path)
                found |= variables.read_variables(self.project.read(path), origin, self.project.sources)
            except Invalid as error:
                self.diagnoses += error.diagnoses
        return found

    def _check_ids(self, trees: list[YamlMapping]) -> None:
        first: dict[str, Location] = {}
        for it in trees:
            identity = it.get("id")
            text = None if identity is None else value_of(identity)
            if identity is None or not isinstance(text, str):
                continue
            if text in first:
                self.diagnoses.append(_twice(text, identity.at, first[text]))
            first.setdefault(text, identity.at)
        if len(trees) > MOST_STEPS:
            self.diagnoses.append(
                Diagnosis(summary="the playbook has too many steps", expected=f"at most {MOST_STEPS}")
            )


def _twice(text: str, at: Location, first: Location) -> Diagnosis:
    summary = f"two steps have the id `{text}`"
    return Diagnosis(summary=summary, at=at, observed=f"the first one stands at {first}", remedy="give one another id")


def _scalars(tree: Read) -> Iterator[Read]:
    if isinstance(tree, YamlSequence):
        for item in tree.items:
            yield from _scalars(item)
    elif isinstance(tree, YamlMapping):
        for _, value in tree.entries:
            yield from _scalars(value)
    else:
        yield tree


def _texts(tree: Read | None) -> tuple[str, ...]:
    return tuple(str(value_of(part)) for part in _scalars(tree)) if tree is not None else ()


def _rollout(tree: Read | None) -> Rollout:
    if not isinstance(tree, YamlMapping):
        return Rollout()
    failures = tree.get("max_failures")
    count = value_of(failures) if failures is not None else 0
    return Rollout(
        canary=_share(tree.get("canary")),
        batch=_share(tree.get("batch")),
        max_failures=count if isinstance(count, int) else 0,
    )


def _share(tree: Read | None) -> Share | None:
    if tree is None:
        return None
    value = value_of(tree)
    if isinstance(value, str) and value.endswith("%"):
        return Share(percent=float(value[:-1]))
    return Share(count=int(str(value)))
