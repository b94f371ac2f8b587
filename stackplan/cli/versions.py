"""The two versions of a playbook that `diff` compares: from two files, from git revisions, or from the work tree."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from stackplan.cli.places import as_named, check_playbook, find_file, is_file, what_else
from stackplan.language import playbook as playbooks
from stackplan.language.compare import Version
from stackplan.language.git_files import GitFiles, commit, inside, merge_base, toplevel
from stackplan.language.git_rename import former_path
from stackplan.model.comparison import Side
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.playbook import Playbook
from stackplan.model.regular import regular

WORK_TREE = "working tree"
_RANGE = regular(r"(.*?)(\.\.\.?)(.*)")


def of_files(old: str, new: str) -> tuple[Version, Version]:
    """Return the versions that two files are. Raise Invalid with what is wrong in either."""
    for name in (old, new):
        if (other := what_else(Path(name))) is not None:
            raise Invalid([Diagnosis(summary=f"{name} is {other}", expected="a playbook: a YAML file")])
        if not is_file(Path(name)):
            remedy = f"for a revision of git: `stackplan diff {old} -- PLAYBOOK`"
            raise Invalid([Diagnosis(summary=f"there is no file `{name}` to compare", remedy=remedy)])
        check_playbook(Path(name))
    first, second = (_file_version(Path(name), name) for name in (old, new))
    return first, second


def of_revisions(words: tuple[str, ...], name: str, inventory: Path | None) -> tuple[Version, Version, Path]:
    """Return the versions of a playbook in one or two revisions, or in one and the work tree, and where it is.

    A side that has no such playbook is a version without one, unless the old one has it under another name. Raise
    Invalid where neither has it, and for a playbook of another repository or of none.
    """
    here = Path.cwd()
    root = toplevel(here)
    old, new = _revisions(words)
    path = _place(name, inventory, here)
    absolute = inside(root, here / path)
    base = merge_base(root, *old) if isinstance(old, tuple) else commit(root, old)
    label = f"{'...'.join(old) if isinstance(old, tuple) else old}"
    before = GitFiles(root, base)
    after = None if new is None else GitFiles(root, commit(root, new))
    second = _work_tree_version(path) if after is None else _revision_version(after, absolute, new or "")
    first = _revision_version(before, absolute, label)
    if first.playbook is None and second.playbook is not None:
        former = former_path(before, second.files.read(absolute, name), _still_there(root, after))
        if former is not None:
            first = _revision_version(before, root / former, label, renamed=True)
    if first.playbook is None and second.playbook is None:
        summary = f"there is no playbook {as_named(path, here)}, neither in {label} nor in {new or 'the working tree'}"
        raise Invalid([Diagnosis(summary=summary, remedy="name it by its path in the repository")])
    return first, second, path


def _still_there(root: Path, after: GitFiles | None) -> Callable[[str], bool]:
    """Return what tells whether the new side has a file, by its path from the root."""
    if after is None:
        return lambda path: (root / path).exists()
    return frozenset(after.paths()).__contains__


def _revisions(words: tuple[str, ...]) -> tuple[str | tuple[str, str], str | None]:
    """Return OLD and NEW; OLD is two revisions where it is the commit at which they went apart (`A...B`)."""
    match = _RANGE.fullmatch(words[0])
    if len(words) == 1 and match is not None:
        first, dots, second = match[1] or "HEAD", match[2], match[3] or "HEAD"
        return ((first, second), second) if dots == "..." else (first, second)
    if len(words) > 2:
        summary = f"these are {len(words)} revisions"
        raise Invalid([Diagnosis(summary=summary, expected="OLD, or OLD and NEW, before `--`")])
    return words[0], words[1] if len(words) == 2 else None


def _place(name: str, inventory: Path | None, here: Path) -> Path:
    """Return where the playbook is, or would be: a revision may have one that the work tree no longer has."""
    try:
        return find_file(name, inventory, here)
    except Invalid:
        if Path(name).is_dir():
            raise
        return Path(name)


def _work_tree_version(path: Path) -> Version:
    if (other := what_else(path)) is not None:
        raise Invalid([Diagnosis(summary=f"{path} is {other}", expected="a playbook: a YAML file")])
    if not path.is_file():
        return Version(_side(WORK_TREE, path, None), None)
    check_playbook(path)
    return _file_version(path, WORK_TREE)


def _file_version(path: Path, label: str) -> Version:
    found = playbooks.read(path)
    return Version(_side(label, path, found), found)


def _revision_version(files: GitFiles, path: Path, label: str, *, renamed: bool = False) -> Version:
    shown = f"{label} ({files.label})" if not files.commit.startswith(label) else files.label
    if (submodule := files.submodule_of(path)) is not None:
        summary = f"{as_named(path, Path.cwd())} lies in the submodule {submodule}, which is a repository of its own"
        raise Invalid([Diagnosis(summary=summary, remedy="run `stackplan diff` in the submodule")])
    if not files.is_file(path):
        side = replace(_side(shown, path, None), revision=files.commit)
        return Version(side, None, files)
    found = playbooks.read(path, files=files)
    named = f"{shown}: {as_named(path, Path.cwd())}" if renamed else shown
    return Version(_side(named, path, found), found, files)


def _side(label: str, path: Path, found: Playbook | None) -> Side:
    named = as_named(path, Path.cwd())
    if found is None:
        return Side(label=label, path=str(named))
    return Side(label=label, path=str(named), revision=found.revision, sha256=found.sha256)
