"""Where things lie: a playbook by path or by name, and the root of the project."""

from collections.abc import Iterator
from pathlib import Path

from stackplan.language.inventory import FILE as INVENTORY
from stackplan.language.nearest import did_you_mean
from stackplan.model.diagnosis import Diagnosis, Invalid

SUFFIXES = (".yaml", ".yml")


def find_playbook(name: str, inventory: Path | None, here: Path) -> Path:
    """Return the playbook's path: `name` itself, else `playbooks/NAME` beside the inventory or above `here`.

    Raise Invalid, naming the folders and the nearest name in them, when there is none.
    """
    path = Path(name)
    if not name.strip():
        raise Invalid([Diagnosis(summary="the name of the playbook is empty", expected="a path, or a playbook's name")])
    if _is_file(path):
        return path
    if path.is_dir():
        raise Invalid([Diagnosis(summary=f"{name} is a folder", expected="a playbook: a YAML file")])
    folders = list(dict.fromkeys(_playbook_folders(inventory, here)))
    for folder in folders:
        for candidate in (folder / name, *(folder / f"{name}{suffix}" for suffix in SUFFIXES)):
            if _is_file(candidate):
                return as_named(candidate, here)
    raise Invalid([_no_playbook(name, folders, here)])


def _is_file(path: Path) -> bool:
    """Return whether there is such a file. Raise Invalid for what cannot be a path at all."""
    try:
        return path.is_file()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Invalid([Diagnosis(summary=f"`{str(path)[:80]}` cannot be read: {reason}")]) from error


def git_root(start: Path) -> Path | None:
    """Return the nearest folder at or above `start` that holds `.git`."""
    return next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), None)


def as_named(path: Path, here: Path) -> Path:
    """Return `path` relative to `here` where it lies below, as people would type it."""
    path = path.absolute()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _playbook_folders(inventory: Path | None, here: Path) -> Iterator[Path]:
    if inventory is not None:
        yield inventory.absolute().parent / "playbooks"
    root = git_root(here)
    for folder in (here, *here.parents):
        if folder == root or (folder / INVENTORY).is_file():
            yield folder / "playbooks"
        if folder == root:
            return


def _no_playbook(name: str, folders: list[Path], here: Path) -> Diagnosis:
    found = sorted(it.name for folder in folders if folder.is_dir() for it in folder.iterdir() if it.suffix in SUFFIXES)
    looked = ", ".join(str(as_named(folder, here)) for folder in folders)
    return Diagnosis(
        summary=f"there is no playbook {name}",
        expected="a path, or the name of a file in a `playbooks` folder beside the inventory or the git root",
        observed=f"no such file, neither here nor in {looked}" if looked else "no such file",
        remedy=did_you_mean(Path(name).stem, [Path(it).stem for it in found])
        or (f"there is {', '.join(found[:8])}" if found else None),
    )
