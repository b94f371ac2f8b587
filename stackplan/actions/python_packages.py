"""Installing Python packages into a virtual environment."""

from collections.abc import Mapping
from dataclasses import replace

from stackplan.actions import _pip, _uv
from stackplan.actions._failure import records_query
from stackplan.actions._index_failures import unanswered
from stackplan.actions._inputs import foreseen, input_queries
from stackplan.actions._installer_facts import InstallerFacts, installer_facts, installer_query
from stackplan.actions._invocation import Invocation, listing
from stackplan.actions._one_environment import concerned
from stackplan.actions._outlook import Means, Outlook, outlook, question
from stackplan.actions._predicted import Scene
from stackplan.actions._target import told
from stackplan.actions._wishes import Installer, Wishes, read_wishes
from stackplan.actions._written_anew import record_times_query, told_apart
from stackplan.model.arguments import Arguments
from stackplan.model.change import Held, State, differences
from stackplan.model.concern import Concern, Matter
from stackplan.model.condition import Condition
from stackplan.model.count import counted
from stackplan.model.diagnosis import Diagnosis, Invalid, Severity
from stackplan.model.distribution import distributions_query, package_state
from stackplan.model.facts import Facts, Known, Query, Unknown
from stackplan.model.frozen import dataclass
from stackplan.model.job import Exited, Job
from stackplan.model.kind import ActionKind, CannotAct, Evidence, Outstanding, Prediction
from stackplan.model.outcome import Reason
from stackplan.model.written import Written, environment

_OPEN = ("command", "python_value", "disk", "http", "port", "service")
"""Questions whose answers may rest on an environment that they do not name."""


@dataclass(frozen=True, slots=True)
class PythonPackages(ActionKind):
    """Installs and removes packages with uv or pip, in an environment clean of the node's own settings.

    `UV_*` and `PIP_*` variables and configuration files of the node are ignored unless `inherit_config: true`; proxies
    are kept. An index with a password goes through the environment, never a command line. Afterwards
    `environment_intact` is checked without being written down. What changed is told from the dist-info folders; that a
    package of `reinstall` was written anew, though its files are the same, from the time of its RECORD.
    """

    arguments: Arguments
    wishes: Wishes

    @classmethod
    def read(cls, arguments: Arguments) -> "PythonPackages":
        wishes = read_wishes(arguments)
        if wishes.installer is Installer.PIP:
            remedy = "use `installer: uv`, or remove the argument"
            faults = [
                Diagnosis(summary=f"`{key}` needs uv: {why}", at=arguments.place(key), remedy=remedy)
                for key, why in _pip.impossible(wishes)
            ]
            if faults:
                raise Invalid(faults)
        return cls(arguments, wishes)

    def describe(self) -> str:
        wishes = self.wishes
        does = []
        if wishes.remove:
            does.append(f"remove {listing(wishes.remove)}")
        if wishes.installs:
            verb = "reinstall" if wishes.reinstall else "upgrade" if wishes.upgrade else "install"
            what = [it.shown for it in wishes.wanted]
            if wishes.requirements is not None:
                what.append(wishes.requirements.path or counted(wishes.requirements.count, "requirement"))
            does.append(f"{verb} {listing(what)}")
        return f"{', '.join(does)} in {wishes.venv}" if does else f"make the environment {wishes.venv}"

    def queries(self) -> tuple[Query, ...]:
        return (
            self._installer_query(),
            distributions_query(venv=self.wishes.venv),
            records_query(self.wishes.venv),
            *((record_times_query(self.wishes.venv),) if self.wishes.reinstall else ()),
            *self.reads(),
        )

    def reads(self) -> tuple[Query, ...]:
        return input_queries(self.wishes, self.arguments.secret_paths)

    def job(self, facts: Facts) -> Job | CannotAct:
        means = self._means(facts)
        if isinstance(means, CannotAct):
            return means
        build = _uv_line if means.installer is Installer.UV else _pip_line
        return Job(tuple(invocation.stage() for invocation in build(self.wishes, means.node, means.making)))

    def forecast(self, facts: Facts) -> tuple[Query, ...]:
        means = self._means(facts)
        wishes = foreseen(self.wishes, facts, self.arguments.secret_paths)
        if isinstance(means, CannotAct) or isinstance(wishes, Unknown):
            return ()
        query = question(wishes, means, facts)
        return () if query is None else (query,)

    def predict(self, facts: Facts) -> Prediction | Unknown:
        """Return what the installer's dry run foretells; a question about the environment's files is Unknown then."""
        means = self._means(facts)
        if isinstance(means, CannotAct):
            return Unknown(means.summary)
        wishes = foreseen(self.wishes, facts, self.arguments.secret_paths)
        if isinstance(wishes, Unknown):
            return wishes
        expected = outlook(wishes, means, facts)
        if isinstance(expected, Unknown):
            return expected
        scene = Scene(facts=facts, node=means.node, before=expected.before, after=expected.after)
        answers = scene.answers() if expected.after.round != expected.before.round else {}
        after = facts.foreseen(answers)
        return Prediction(
            changes=differences(self.state(facts), self.state(after)),
            answers=answers,
            details=expected.remarks,
            failures=self._failures(expected, means, facts),
        )

    def writes(self, facts: Facts) -> tuple[Written, ...]:
        answer = facts[self._installer_query()]
        return environment(installer_facts(answer).venv) if isinstance(answer, Known) else ()

    def state(self, facts: Facts) -> State:
        packages = package_state(facts[distributions_query(venv=self.wishes.venv)])
        if self.wishes.reinstall:
            packages = told_apart(packages, self.wishes.reinstall, facts[record_times_query(self.wishes.venv)])
        answer = facts[self._installer_query()]
        if isinstance(answer, Known) and installer_facts(answer).kind == "environment":
            return {**packages, ("environment", self.wishes.venv): Held("present")}
        return packages

    def implied(self) -> tuple[Condition, ...]:
        at = self.arguments.at
        arguments = Arguments({"venv": self.wishes.venv}, at, {("venv",): self.arguments.place("venv")})
        return (Condition(kind="environment_intact", arguments=arguments, at=at),)

    def reach(self, facts: Facts) -> frozenset[Query] | None:
        """Return the questions about the environment, and those whose answers may rest on it or its size."""
        answer = facts[self._installer_query()]
        if not isinstance(answer, Known):
            return None
        about = (query for query, _ in concerned(facts, installer_facts(answer)))
        return frozenset((*about, *(query for query in facts.answers if query.kind in _OPEN)))

    def traits(self, facts: Facts) -> Mapping[str, str]:
        node, environment = (
            told(facts[self._installer_query()]),
            told(facts[distributions_query(venv=self.wishes.venv)]),
        )
        uv, python = node.get("uv"), environment.get("python_version")
        found = {"uv": str(uv.get("version")) if isinstance(uv, dict) else "none"} if node else {}
        return found | ({f"Python in {self.wishes.venv}": str(python)} if python is not None else {})

    def concerns(self) -> tuple[Concern, ...]:
        wishes = self.wishes
        changed = Concern(Matter.ENVIRONMENT, wishes.venv, changed=True)
        if wishes.installer is Installer.PIP:
            # pip is started as a module of the environment, wherever the search path leads.
            return (changed, Concern(Matter.SETTINGS, "pip")) if wishes.inherit_config else (changed,)
        program = Concern(Matter.PROGRAM, "uv")
        return (changed, program, Concern(Matter.SETTINGS, "uv")) if wishes.inherit_config else (changed, program)

    def notes(self, facts: Facts) -> tuple[Diagnosis, ...]:
        answer = facts[self._installer_query()]
        if self.wishes.inherit_config or not isinstance(answer, Known):
            return ()
        node = installer_facts(answer)
        installer = self._installer(node, making=node.kind in ("missing", "empty"))
        if isinstance(installer, CannotAct):
            return ()
        name = installer.value
        found = [it for it in node.ignored_variables if it.startswith(f"{name.upper()}_")]
        found += [it for it in node.ignored_files if name in it.rpartition("/")[2]]
        if not found:
            return ()
        at = self.arguments.at
        remedy = f"Add `inherit_config: true` at {at.line}:{at.column} to have them count."
        summary = f"settings of {name} on the node are ignored: {listing(found)}"
        return (Diagnosis(summary=summary, severity=Severity.NOTE, at=at, remedy=remedy),)

    def diagnose(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        answer = evidence.before[self._installer_query()]
        node = installer_facts(answer) if isinstance(answer, Known) else None
        return _explained(self.wishes, node, evidence)

    def diagnose_state(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        from stackplan.actions._install_failures import explain_state  # noqa: PLC0415 - as for `_explained`

        facts, venv = evidence.after, self.wishes.venv
        wanted = [it.asked_by(facts.user) for it in (distributions_query(venv=venv), records_query(venv))]
        unasked = {query: Unknown("it was not asked") for query in wanted if query not in facts.answers}
        return explain_state(self.wishes, replace(evidence, after=facts.foreseen(unasked)))

    def outstanding(self, evidence: Evidence) -> Outstanding | None:
        from stackplan.actions._outstanding import outstanding  # noqa: PLC0415 - as for `_explained`

        return outstanding(self.wishes, evidence)

    def _failures(self, expected: Outlook, means: Means, facts: Facts) -> tuple[Diagnosis, ...]:
        """Return why the installer would fail, in the words in which a run that failed so would be explained."""
        at = self.arguments.at
        if expected.stuck:
            summary = f"{listing(expected.stuck)} has no RECORD, so no installer can take it away."
            remedy = "Remove that folder from site-packages in an earlier step."
            return (Diagnosis(code="SP204", summary=summary, at=at, remedy=remedy),)
        if (refusal := expected.refusal) is None:
            return ()
        if mute := unanswered(self.wishes, expected, self.arguments):
            return mute
        evidence = Evidence(
            step="",
            at=at,
            arguments=self.arguments,
            before=facts,
            after=facts,
            ending=Exited(refusal.exit_code),
            output=refusal.output,
            reason=Reason.ACTION,
        )
        found = _explained(self.wishes, means.node, evidence)
        said = f"{means.installer.value} would fail: {refusal.reason}"
        return tuple(replace(it, step=None) for it in found) or (Diagnosis(summary=said, at=at),)

    def _means(self, facts: Facts) -> Means | CannotAct:
        """Return what the action is done with on this node, or why it cannot be done."""
        answer = facts[self._installer_query()]
        if not isinstance(answer, Known):
            return CannotAct(f"it is not known what installs packages on this node: {answer.why}")
        node = installer_facts(answer)
        refusal = self._refusal(node)
        if refusal is not None:
            return refusal
        making = node.kind in ("missing", "empty")
        installer = self._installer(node, making=making)
        return installer if isinstance(installer, CannotAct) else Means(node=node, installer=installer, making=making)

    def _installer_query(self) -> Query:
        create = self.wishes.create
        return installer_query(self.wishes.venv, None if create is None else create.python or "python3")

    def _refusal(self, node: InstallerFacts) -> CannotAct | None:
        """Return why nothing can be installed there, whatever the installer, or None."""
        venv, at = self.wishes.venv, self.arguments.at
        if node.kind in ("missing", "empty"):
            if self.wishes.create is None:
                what = "there is nothing at" if node.kind == "missing" else "there is an empty folder at"
                remedy = (
                    f'Correct `venv`, or add `create: {{python: "3.12"}}` at {at.line}:{at.column} to have it made.'
                )
                return CannotAct(f"{what} {venv}, where a virtual environment should be", remedy)
            if node.kind == "missing" and not node.parent_writable:
                return _not_allowed(node.user, node.parent.path, node.parent.owner)
            return None if node.kind == "missing" or node.writable else _not_allowed(node.user, node.venv, node.owner)
        if node.kind != "environment":
            what = (
                "a folder, but no virtual environment: it has no pyvenv.cfg" if node.kind == "folder" else "no folder"
            )
            return CannotAct(f"{venv} is {what}", f"Name an environment's folder in `venv` at {self._place('venv')}.")
        if node.interpreter is None:
            remedy = (
                "Its Python was removed or moved; make the environment anew (`uv venv --clear`) in an earlier step."
            )
            return CannotAct(f"{venv}/bin/python leads nowhere", remedy)
        return None if node.obstacle is None else _not_allowed(node.user, node.obstacle.path, node.obstacle.owner)

    def _installer(self, node: InstallerFacts, *, making: bool) -> Installer | CannotAct:
        """Return which installer does it, or why none can."""
        stated = self.wishes.installer
        pip = node.base_python_makes_environments if making else node.pip
        if stated is not Installer.PIP and node.uv is not None:
            return Installer.UV
        if stated is Installer.UV:
            remedy = f"Install uv for {node.user} on the node, or write `installer: pip` at {self._place('installer')}."
            return CannotAct(f"there is no uv on the PATH of {node.user}, nor where its installers put it", remedy)
        if not pip:
            lack = f"no Python that makes environments ({self._base()})" if making else f"no pip in {self.wishes.venv}"
            also = "" if stated is Installer.PIP else "no uv, and "
            remedy = f"Install uv for {node.user} on the node"
            if making:
                return CannotAct(f"there is {also}{lack}", f"{remedy}, or Python's venv module (python3-venv).")
            return CannotAct(
                f"there is {also}{lack}", f"{remedy}, or run `{self.wishes.venv}/bin/python -m ensurepip`."
            )
        lacking = next(_pip.impossible(self.wishes), None)
        if lacking is not None:
            key, why = lacking
            remedy = f"Install uv for {node.user} on the node, or remove `{key}` at {self._place(key)}."
            return CannotAct(f"the node has pip but no uv, and `{key}` needs uv: {why}", remedy)
        return Installer.PIP

    def _base(self) -> str:
        python = self.wishes.create.python if self.wishes.create is not None else None
        return python or "python3"

    def _place(self, key: str) -> str:
        place = self.arguments.place(key)
        return f"{place.line}:{place.column}"


def _not_allowed(user: str, path: str, owner: str) -> CannotAct:
    return CannotAct(f"{user} may not write {path}, which belongs to {owner}", f"Add `user: {owner}` to the step.")


def _uv_line(wishes: Wishes, node: InstallerFacts, making: bool) -> tuple[Invocation, ...]:
    python = wishes.create.python if wishes.create is not None else None
    made = (_uv.create(wishes, node, python),) if making else ()
    removed = (_uv.uninstall(wishes, node),) if wishes.remove and not making else ()
    return (*made, *removed, *((_uv.install(wishes, node),) if wishes.installs else ()))


def _pip_line(wishes: Wishes, node: InstallerFacts, making: bool) -> tuple[Invocation, ...]:
    made = (_pip.create(wishes, node),) if making else ()
    removed = (_pip.uninstall(wishes, node),) if wishes.remove and not making else ()
    return (*made, *removed, *((_pip.install(wishes, node),) if wishes.installs else ()))


def _explained(wishes: Wishes, node: InstallerFacts | None, evidence: Evidence) -> tuple[Diagnosis, ...]:
    from stackplan.actions._install_failures import explain_failure  # noqa: PLC0415 - many modules, for failures alone

    return explain_failure(wishes, node, evidence)


KIND = PythonPackages
