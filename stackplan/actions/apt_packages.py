"""Installing, removing and holding Debian packages."""

from collections import Counter
from collections.abc import Iterator, Mapping

from stackplan.actions._apt_foretold import (
    AptRequest,
    foretell_packages,
    foretold_record,
    held_packages,
    installed_packages,
    simulation_changes,
)
from stackplan.actions._target import told
from stackplan.model.arguments import Arguments, Path, Value
from stackplan.model.change import State, differences
from stackplan.model.condition import Condition
from stackplan.model.count import counted
from stackplan.model.debian_package import DPKG_QUERY, PACKAGE_NAME, dpkg_state
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.facts import Facts, Known, Plain, Query, Unknown
from stackplan.model.frozen import dataclass
from stackplan.model.job import Job, Task
from stackplan.model.kind import ActionKind, CannotAct, Evidence, Prediction
from stackplan.model.location import Location
from stackplan.model.regular import regular

LOCK_TIMEOUT_S = 300.0
_VERSION = regular(r"[0-9][A-Za-z0-9.+:~-]*\*?")
_SOURCES = ("/etc/apt/", "/usr/share/keyrings/")


@dataclass(frozen=True, slots=True, kw_only=True)
class AptPackages(ActionKind):
    """Installs, removes and holds Debian packages by apt-get, in one transaction, without ever asking back.

    apt does what is named and what that needs, and nothing else: where it would remove, downgrade or change a package
    on hold that the step does not name, nothing is done. `install: [name]` takes the version that the node's
    repositories and pins put first, also where an older one is installed; `name=version` takes that one, down as well
    as up, and a version that ends in `*` the first that begins so. What is installed and named by `hold` may be changed
    though it is on hold, and is put on hold again. Another program's lock is waited for, and never taken away. Edited
    configuration files stay. needrestart is told to leave running services alone; what a package's own scripts restart
    is the package's affair. Every package named has to be there afterwards, in its version, without that being written
    down.
    """

    arguments: Arguments
    request: AptRequest
    update: bool
    lock_timeout_s: float

    @classmethod
    def read(cls, arguments: Arguments) -> "AptPackages":
        request = AptRequest(
            install=_names(arguments, "install", versions=True),
            remove=_names(arguments, "remove"),
            hold=_names(arguments, "hold"),
        )
        update = arguments.flag("update", default=False)
        if request == AptRequest() and not update:
            raise arguments.invalid(
                "install", "`apt_packages` does nothing", expected="one of install, remove, hold, update"
            )
        for key, names in (("install", [_name(word) for word in request.install]), ("hold", request.hold)):
            if both := sorted({*names} & {*request.remove}):
                raise arguments.invalid(key, f"`{key}` and `remove` both name {', '.join(both)}")
        return cls(
            arguments=arguments,
            request=request,
            update=update,
            lock_timeout_s=arguments.duration_s("lock_timeout", LOCK_TIMEOUT_S),
        )

    def describe(self) -> str:
        parts = (
            "fetch the package lists" if self.update else "",
            f"install {', '.join(self.request.install)}" if self.request.install else "",
            f"remove {', '.join(self.request.remove)}" if self.request.remove else "",
            f"hold {', '.join(self.request.hold)}" if self.request.hold else "",
        )
        return ", ".join(part for part in parts if part) + " (apt)"

    def queries(self) -> tuple[Query, ...]:
        return (DPKG_QUERY,)

    def job(self, facts: Facts) -> Job | CannotAct:
        answer = facts[DPKG_QUERY]
        if not isinstance(answer, Known):
            return CannotAct(f"it is not known what dpkg has installed: {answer.why}")
        about = told(answer)
        if about["apt_get"] is None:
            return CannotAct("the node has no apt-get")
        if about["uid"] != 0:
            return CannotAct(f"{about['user']} may not install apt packages", "Add `become: true` to the step.")
        # What is half done while another program is at work is that program's doing; the task looks again after it.
        if about["locked_by"] is None and (half := _half_done(facts)) is not None:
            return half
        there = {*installed_packages(about), *map(_name, self.request.install)}
        if absent := sorted(name for name in self.request.hold if name not in there):
            return CannotAct(f"`hold` names {', '.join(absent)}, which is not installed", "Add it to `install`.")
        return Job((Task(kind="apt_packages", arguments=self._task(), display=self._display()),))

    def state(self, facts: Facts) -> State:
        answer = facts[DPKG_QUERY]
        return dpkg_state(told(answer)) if isinstance(answer, Known) else {}

    def forecast(self, facts: Facts) -> tuple[Query, ...]:
        query = self._simulation(facts)
        return (query,) if query is not None else ()

    def predict(self, facts: Facts) -> Prediction | Unknown:
        if not isinstance(facts[DPKG_QUERY], Known):
            return Unknown("what dpkg has installed is not known")
        query = self._simulation(facts)
        if query is None:
            return self._prediction(facts, {})
        answer = facts[query]
        if not isinstance(answer, Known):
            return Unknown(f"apt could not be asked: {answer.why}")
        simulation = told(answer)
        hindered = bool(simulation.get("problems") or simulation.get("fetch_problems"))
        if hindered and (bringer := _brings_packages(facts)) is not None:
            return Unknown(f"{bringer}, and without it apt cannot do it")
        changes = simulation_changes(answer)
        from stackplan.actions._apt_failures import explain_simulation  # noqa: PLC0415 - spared by whoever foretells nothing

        failures = explain_simulation(self.arguments, self.request, simulation, changes, held_packages(_dpkg(facts)))
        if failures:
            return Prediction(changes=(), answers={}, failures=failures)
        return self._prediction(facts, changes)

    def implied(self) -> tuple[Condition, ...]:
        return tuple(self._conditions())

    def diagnose(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        from stackplan.actions._apt_failures import explain_apt_failure  # noqa: PLC0415 - for failures alone

        return explain_apt_failure(evidence)

    def _prediction(self, facts: Facts, changes: dict[str, tuple[str | None, str | None]]) -> Prediction:
        answers = foretell_packages(facts, changes, self.request)
        after = facts.foreseen(answers)
        return Prediction(changes=differences(self.state(facts), self.state(after)), answers=answers)

    def _simulation(self, facts: Facts) -> Query | None:
        """Return the question what apt would do, on top of what earlier steps are foretold to have it do."""
        if not (self.request.install or self.request.remove) or _dpkg(facts).get("apt_get") is None:
            return None
        asked: dict[str, Value] = {
            "install": self.request.install,
            "remove": self.request.remove,
            "update": self.update,
            "options": (),
            "after": foretold_record(_dpkg(facts)),
        }
        return Query("apt_simulation", asked)

    def _task(self) -> dict[str, Value]:
        return {
            "install": self.request.install,
            "remove": self.request.remove,
            "hold": self.request.hold,
            "update": self.update,
            "lock_timeout_s": self.lock_timeout_s,
        }

    def _display(self) -> str:
        words = [*self.request.install, *(f"{name}-" for name in self.request.remove)]
        lines = [
            "apt-get update" if self.update else "",
            f"apt-get install {' '.join(words)}" if words else "",
            f"apt-mark hold {' '.join(self.request.hold)}" if self.request.hold else "",
        ]
        return "\n".join(line for line in lines if line)

    def _conditions(self) -> Iterator[Condition]:
        """Yield what has to hold afterwards; of a version that ends in `*`, that it begins so."""
        held = {*self.request.hold}
        for index, word in enumerate(self.request.install):
            name, _, version = word.partition("=")
            values: dict[str, Value] = {"name": name}
            if version:
                values["version"] = version
            if name in held:
                values["held"] = True
            yield self._condition(values, self.arguments.place("install", index))
        for index, name in enumerate(self.request.remove):
            yield self._condition({"name": name, "absent": True}, self.arguments.place("remove", index))
        installed = {*map(_name, self.request.install)}
        for index, name in enumerate(self.request.hold):
            if name not in installed:
                yield self._condition({"name": name, "held": True}, self.arguments.place("hold", index))

    def _condition(self, values: dict[str, Value], at: Location) -> Condition:
        places: dict[Path, Location] = {(key,): at for key in values}
        return Condition(kind="apt_package", arguments=Arguments(values, at, places), at=at)


def _names(arguments: Arguments, key: str, *, versions: bool = False) -> tuple[str, ...]:
    """Return the packages at `key`. Raise Invalid for what apt would not take for a package's name."""
    words = arguments.texts(key)
    for index, word in enumerate(words):
        name, equals, version = word.partition("=")
        whole = PACKAGE_NAME.fullmatch(name) and not name.endswith("-")
        if not whole or (equals and not (versions and _VERSION.fullmatch(version))):
            expected = "a package's name" + (", or name=version" if versions else "")
            raise Invalid(
                [
                    Diagnosis(
                        summary=f"{word!r} in `{key}` is not a package",
                        expected=expected,
                        observed=word,
                        at=arguments.place(key, index),
                        remedy="name it in `remove`" if word.endswith("-") and key == "install" else None,
                    )
                ]
            )
    times = Counter(map(_name, words))
    twice = sorted({word for word in words if times[_name(word)] > 1})
    if twice:
        raise arguments.invalid(key, f"`{key}` names a package twice: {', '.join(twice)}")
    return words


def _name(word: str) -> str:
    return word.partition("=")[0]


def _dpkg(facts: Facts) -> Mapping[str, Plain]:
    return told(facts[DPKG_QUERY])


def _half_done(facts: Facts) -> CannotAct | None:
    """Return that an earlier run of dpkg was interrupted, or None."""
    about = told(facts[DPKG_QUERY])
    unfinished, journal = about["unfinished"], about["journal"]
    if not unfinished and not journal:
        return None
    names = unfinished if isinstance(unfinished, dict) else {}
    what = ", ".join(f"{name} is {status}" for name, status in sorted(names.items()))
    summary = f"dpkg was interrupted: {what or counted(int(str(journal)), 'unfinished change')}"
    return CannotAct(summary, "Run `dpkg --configure -a` on the node; `dpkg --audit` says what is left after it.")


def _brings_packages(facts: Facts) -> str | None:
    """Return which earlier step is foretold to make more packages known to apt, in words, or None."""
    if _dpkg(facts).get("foretold"):
        return "an earlier step installs packages"
    for query, answer in facts.of_kind("target", "file"):
        about = told(answer)
        path = str(about.get("path") or query.arguments.get("path") or "")
        # A file that is only foretold has no time of its last change.
        foretold = "modified_ns" in about and about["modified_ns"] is None
        if path.startswith(_SOURCES) and foretold:
            return f"an earlier step writes {path}"
    return None


KIND = AptPackages
