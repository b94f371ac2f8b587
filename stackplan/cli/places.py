"""Where things lie: a playbook by path or by name, and the root of the project."""

import codecs
import errno
import stat
from collections.abc import Iterator
from pathlib import Path

from stackplan.language.nearest import did_you_mean
from stackplan.language.tree import read_start
from stackplan.model.diagnosis import Diagnosis, Invalid

SUFFIXES = (".yaml", ".yml")
_SNIFFED_BYTES = 4096
_DOCUMENTS = {
    "facts": "the recorded facts of a node",
    "report": "the report of a command",
    "comparison": "a comparison of two playbooks",
    "diagnoses": "the diagnoses of a command",
    "history": "the histories of nodes",
    "runs": "a list of runs",
}


def find_playbook(name: str, inventory: Path | None, here: Path) -> Path:
    """Return the playbook's path: `name` itself, else `playbooks/NAME` beside the inventory or above `here`.

    Raise Invalid, naming the folders and the nearest name in them, when there is none, and for what is no playbook.
    """
    found = find_file(name, inventory, here)
    check_playbook(found)
    return found


def check_playbook(path: Path) -> None:
    """Raise Invalid for a file that is surely something else: what stackplan itself wrote, or nothing at all."""
    data = read_start(path, str(path), _SNIFFED_BYTES)
    begins = data.removeprefix(codecs.BOM_UTF8).strip()
    if len(data) < _SNIFFED_BYTES and begins in (b"", b"{}"):
        what = "holds an empty mapping" if begins else "is empty"
        expected = "a playbook, with `nodes` and `steps`"
        raise Invalid([Diagnosis(summary=f"{path} {what}: neither a playbook nor a saved plan", expected=expected)])
    if begins.startswith(b"{") and (found := _written_by_stackplan(path)) is not None:
        raise Invalid([found])


def _written_by_stackplan(path: Path) -> Diagnosis | None:
    from stackplan.engine.saved_plan_file import is_plan_file, other_document  # noqa: PLC0415 - spared by a playbook

    if is_plan_file(path):
        apply = f"apply it with `stackplan apply {path}`; its playbook is the one that `stackplan plan` was given"
        return Diagnosis(summary=f"{path} is a saved plan", expected="a playbook", remedy=apply)
    if (name := other_document(path)) is None:
        return None
    kind, _, _ = name.removeprefix("stackplan.").partition("/")
    what = _DOCUMENTS.get(kind, f"a document of the format {name}")
    remedy = f"plan on them with `stackplan plan --facts {path.parent} PLAYBOOK`" if kind == "facts" else None
    return Diagnosis(
        summary=f"{path} holds {what}: neither a playbook nor a saved plan", expected="a playbook", remedy=remedy
    )


def find_file(name: str, inventory: Path | None, here: Path) -> Path:
    """Return the same without a look into it."""
    path = Path(name)
    if not name.strip():
        raise Invalid([Diagnosis(summary="the name of the playbook is empty", expected="a path, or a playbook's name")])
    if is_file(path):
        return path
    if (other := what_else(path)) is not None:
        raise Invalid([Diagnosis(summary=f"{name} is {other}", expected="a playbook: a YAML file")])
    folders = list(dict.fromkeys(_playbook_folders(inventory, here)))
    for folder in folders:
        for candidate in (folder / name, *(folder / f"{name}{suffix}" for suffix in SUFFIXES)):
            if is_file(candidate):
                return as_named(candidate, here)
    raise Invalid([_no_playbook(name, folders, here)])


def is_file(path: Path) -> bool:
    """Return whether there is such a file. Raise Invalid for what cannot be a path at all."""
    try:
        return path.is_file()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Invalid([Diagnosis(summary=f"`{str(path)[:80]}` cannot be read: {reason}")]) from error


def what_else(path: Path) -> str | None:
    """Return what a path leads to where that is no regular file, in words; None for a file, and where nothing is."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return "a symbolic link that leads nowhere" if path.is_symlink() else None
    except (OSError, ValueError) as error:
        return "a symbolic link that leads in a circle" if getattr(error, "errno", None) == errno.ELOOP else None
    if stat.S_ISREG(mode):
        return None
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a pipe, which can be read only once" if stat.S_ISFIFO(mode) else "no regular file"


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
    from stackplan.language.inventory import FILE  # noqa: PLC0415 - spared by whoever names a file

    root = git_root(here)
    for folder in (here, *here.parents):
        if folder == root or (folder / FILE).is_file():
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
