"""What a node has to install Python packages with, as the query `installer` answers it."""

from stackplan.model.facts import Known, Plain, Query
from stackplan.model.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Owned:
    """A path and the user to whom it belongs."""

    path: str
    owner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallerFacts:
    """`kind` is environment, folder, empty, other or missing; `base_python` is what could make an environment."""

    user: str
    home: str
    venv: str
    kind: str
    interpreter: str | None
    obstacle: Owned | None
    parent: Owned
    parent_writable: bool
    writable: bool
    owner: str
    uv: str | None
    pip: bool
    base_python: str | None
    base_python_makes_environments: bool
    ignored_variables: tuple[str, ...]
    ignored_files: tuple[str, ...]
    through: tuple[str, ...] = ()

    @property
    def real(self) -> str:
        """The folder that `venv` is once links are followed, as far as the node told."""
        return self.through[-1] if self.through else self.venv

    def expand(self, path: str) -> str:
        """Return `path` with a leading `~` replaced by the step user's home."""
        return self.home + path[1:] if path == "~" or path.startswith("~/") else path


def installer_query(venv: str, python: str | None) -> Query:
    """Return the question for installers and rights at `venv`; `python` names what an environment is to be made of."""
    return Query("installer", {"venv": venv, "python": python})


def installer_facts(answer: Known) -> InstallerFacts:
    value = _mapping(answer.value)
    parent = _mapping(value["parent"])
    obstacle = value.get("obstacle")
    uv, pip, python = value.get("uv"), value.get("pip"), value.get("python")
    ignored = _mapping(value.get("ignored") or {})
    interpreter = value.get("interpreter")
    return InstallerFacts(
        user=str(value["user"]),
        home=str(value["home"]),
        venv=str(value["venv"]),
        kind=str(value["kind"]),
        interpreter=None if interpreter is None else str(interpreter),
        obstacle=None if obstacle is None else Owned(str(_mapping(obstacle)["path"]), str(_mapping(obstacle)["owner"])),
        parent=Owned(str(parent["path"]), str(parent["owner"])),
        parent_writable=parent["writable"] is True,
        writable=value.get("writable") is True,
        owner=str(value.get("owner")),
        uv=None if uv is None else str(_mapping(uv)["path"]),
        pip=pip is not None,
        base_python=None if python is None else str(_mapping(python)["path"]),
        base_python_makes_environments=python is not None and _mapping(python).get("venv") is True,
        ignored_variables=_texts(ignored.get("variables")),
        ignored_files=_texts(ignored.get("files")),
        through=_texts(value.get("through")),
    )


def _mapping(value: Plain) -> dict[str, Plain]:
    assert isinstance(value, dict)
    return value


def _texts(value: Plain) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()
