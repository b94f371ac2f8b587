"""Files of an installed package deleted behind the installer's back."""

from collections.abc import Iterator

from stackplan.language.lint._handed import python_text
from stackplan.language.lint._held import filled, held
from stackplan.language.lint._removal import removed
from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Looked, Subject
from stackplan.language.lint._tree import blocks, own_pipelines
from stackplan.model.regular import regular

_FOLDER = regular(
    r"(?:site|dist)-packages(?:/(?P<entry>[^\s'\"]*))?|getsitepackages|__file__|__path__|get_paths?\(|purelib|platlib"
)
_LEFT_OVER = regular(
    r"~.*|.*__pycache__/?|.*\*?\.py[co]|(?!__editable__|distutils-precedence|nvidia|_virtualenv)[^*?/]+\.pth"
)
"""What pip itself left behind, what Python makes anew, and a single .pth file, which people write by hand."""
_WHOLE = regular(r"site-packages/?$")
_REMOVING = frozenset({"rm", "unlink", "shred", "rmdir", "mv", "rename", "find"})
_IN_PYTHON = regular(r"\b(?:rmtree|unlink|rmdir|remove|removedirs)\(")


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for it in dict.fromkeys(_deleting(step)):
            summary = "the package's metadata, or its files, stay behind: the next install says that nothing is to do"
            remedy = "write it as `python_packages: {venv: …, remove: [NAME]}`"
            yield Finding(summary, step.command_at(it), remedy, step.id)


def _deleting(step: Looked) -> Iterator[Command]:
    """Yield the commands that delete below site-packages, whatever folder they run in."""
    removing = [it for it in step.commands if it.program in _REMOVING]
    if step.script is not None and removing:
        values = held(step.commands)
        for block in blocks(step.script.block):
            folder = ""
            for pipeline in own_pipelines(block):
                for it, path in removed(pipeline, folder):
                    target = it.program == "mv" and len(it.plain) > 1 and path.endswith(it.plain[-1])
                    place = filled(path, values)
                    # With the whole tree the metadata goes as well; Debian keeps that of its own elsewhere.
                    whole = it.program in ("rm", "mv") and path.endswith(it.plain) and _WHOLE.search(place)
                    if it.program in _REMOVING and not (target or whole) and _of_package(place):
                        yield it
                last = pipeline.parts[-1]
                if isinstance(last, Command) and last.program in ("cd", "pushd"):
                    folder = filled(last.plain[0], values) if last.plain else ""
    for it in step.commands:
        if (text := python_text(it)) and _IN_PYTHON.search(text) and _FOLDER.search(text):
            yield it


def _of_package(path: str) -> bool:
    match = _FOLDER.search(path)
    return match is not None and not _LEFT_OVER.fullmatch((match["entry"] or "").removeprefix("./"))


RULE = error(
    "SP178",
    "files of a package deleted by hand",
    "Installers look at the dist-info folder alone. With `torch/` deleted, `uv pip install torch` says `Checked 1 "
    "package`, exits 0, and the import fails; with the dist-info deleted, the files stay and are nobody's. Leftover "
    "`~name` folders are not meant: those may go.",
    check,
    by_step=True,
)
