"""What a node told of its environment, as the query `environment_audit` answers it, in a form that findings ask."""

from collections.abc import Iterable, Iterator, Mapping

from stackplan.model.facts import Plain
from stackplan.model.frozen import dataclass

STEP = "step"
_NAMES = {STEP: "the steps", "login": "a login shell", "interactive": "an interactive login shell", "sudo": "sudo"}
MOST = 4
"""Of a long list so many are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A shell or a service that gives commands an environment. `variables` and `programs` are empty where `fault` says
    why it could not be asked; `programs` leads from a name to where it was found and where that really is.
    """

    name: str
    title: str
    variables: Mapping[str, str]
    programs: Mapping[str, tuple[str, str] | None]
    fault: str | None = None
    noisy: bool = False
    service: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """`places` begins with what the playbook's steps get. The other fields are as the query answers them."""

    user: str
    shell: str | None
    places: tuple[Place, ...]
    libraries: Mapping[str, tuple[str, ...]]
    toolkits: Mapping[str, str | None]
    configuration: tuple[Mapping[str, Plain], ...]
    environments: tuple[Mapping[str, Plain], ...]
    processes: tuple[Mapping[str, Plain], ...]
    space: tuple[Mapping[str, Plain], ...]

    @property
    def step(self) -> Place:
        return self.places[0]

    @property
    def others(self) -> tuple[Place, ...]:
        """Everything but the steps that could be asked."""
        return tuple(it for it in self.places[1:] if it.fault is None)

    @property
    def shells(self) -> tuple[Place, ...]:
        return tuple(it for it in self.others if not it.service)

    def values(self, name: str) -> dict[str | None, tuple[Place, ...]]:
        """Return what a variable is, None where it is not set, with the places where it is that."""
        found: dict[str | None, tuple[Place, ...]] = {}
        for place in (self.step, *self.others):
            value = place.variables.get(name)
            found[value] = (*found.get(value, ()), place)
        return found

    def names(self) -> tuple[str, ...]:
        """Return the names of all variables that are set anywhere."""
        return tuple(sorted({name for place in self.places for name in place.variables}))


def read(value: Plain) -> Told:
    """Return an answer of the node. Raise LookupError, TypeError or AttributeError for what is none."""
    told = _mapping(value)
    contexts = [_place(_mapping(it)) for it in _list(told["contexts"])]
    services = [_service(_mapping(it)) for it in _list(told["services"])]
    shell = told["shell"]
    return Told(
        user=str(told["user"]),
        shell=None if shell is None else str(shell),
        places=(*contexts, *services),
        libraries={name: texts(found) for name, found in _mapping(told["libraries"]).items()},
        toolkits={name: None if it is None else str(it) for name, it in _mapping(told["toolkits"]).items()},
        configuration=tuple(map(_mapping, _list(told["configuration"]))),
        environments=tuple(map(_mapping, _list(told["environments"]))),
        processes=tuple(map(_mapping, _list(told["processes"]))),
        space=tuple(map(_mapping, _list(told["space"]))),
    )


def _place(told: Mapping[str, Plain]) -> Place:
    name, fault = str(told["name"]), told["fault"]
    programs = {program: _program(found) for program, found in _mapping(told["programs"]).items()}
    return Place(
        name=name,
        title=_NAMES.get(name, name),
        variables={key: str(it) for key, it in _mapping(told["variables"]).items()},
        programs=programs,
        fault=None if fault is None else str(fault),
        noisy=told["noisy"] is True,
    )


def _service(told: Mapping[str, Plain]) -> Place:
    name = str(told["unit"])
    variables = {key: str(it) for key, it in _mapping(told["variables"]).items()}
    return Place(name=name, title=name, variables=variables, programs={}, service=True)


def _program(found: Plain) -> tuple[str, str] | None:
    return None if found is None else (str(_mapping(found)["path"]), str(_mapping(found)["leads_to"]))


def _mapping(value: Plain) -> Mapping[str, Plain]:
    if not isinstance(value, dict):
        raise TypeError("a mapping is missing")
    return value


def _list(value: Plain) -> list[Plain]:
    if not isinstance(value, list):
        raise TypeError("a list is missing")
    return value


def texts(value: Plain) -> tuple[str, ...]:
    return tuple(str(it) for it in _list(value))


def titles(places: Iterable[Place]) -> str:
    """Return places in words, the two kinds of login shell as one where both are meant."""
    found = [it.title for it in places]
    if _NAMES["login"] in found and _NAMES["interactive"] in found:
        found.remove(_NAMES["interactive"])
    return listed(found)


def listed(names: Iterable[str]) -> str:
    """Return names in a row; of many the first ones."""
    every = list(dict.fromkeys(names))
    return ", ".join(every[:MOST]) + (f" and {len(every) - MOST} more" if len(every) > MOST else "")


def stated(told: Told, name: str) -> Iterator[str]:
    """Yield, a line a value, where a variable has which."""
    for value, places in told.values(name).items():
        yield f"{titles(places)}: {'not set' if value is None else f'{name}={value}'}"
