"""Files of an installed package deleted behind the installer's back."""

import re
from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._subject import Subject

_INSIDE = re.compile(r"(?:site|dist)-packages/(?!~)[^/\s]+")


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for it in step.commands:
            if it.program == "rm" and any(_INSIDE.search(word) for word in it.words[1:]):
                summary = (
                    "the package's metadata, or its files, stay behind: the next install says that nothing is to do"
                )
                remedy = "write it as `python_packages: {venv: …, remove: [NAME]}`"
                yield Finding(summary, step.command_at(it), remedy, step.id)


RULE = error(
    "SP178",
    "files of a package deleted by hand",
    "Installers look at the dist-info folder alone. With `torch/` deleted, `uv pip install torch` says `Checked 1 "
    "package`, exits 0, and the import fails; with the dist-info deleted, the files stay and are nobody's. Leftover "
    "`~name` folders are not meant: those may go.",
    check,
)
