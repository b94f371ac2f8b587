"""A condition that rests on what an installer says of itself."""

import re
from collections.abc import Iterator, Mapping

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject

_WORDS = re.compile(
    r"Audited|Checked \d|Successfully installed|already satisfied|Would make no changes|Installed \d+ package|"
    r"is already the newest version|No broken requirements|All installed packages are compatible"
)


def check(subject: Subject) -> Iterator[Finding]:
    for told, statement, step in subject.asked:
        identity = None if step is None else step.id
        matched = [statement.arguments.values.get(name) for name in ("stdout", "stderr")]
        texts = [str(it) for value in matched for it in (value.values() if isinstance(value, Mapping) else [value])]
        texts += [word for it in told if it.program in ("grep", "egrep") for word in it.words[1:]]
        if any(_WORDS.search(text) for text in texts):
            summary = (
                "this believes what an installer says of itself; the words change, and they are said of no-ops too"
            )
            yield Finding(summary, statement.at, "state what is installed: `package`, `torch`, `apt_package`", identity)
        elif any(it.starts("uv", "pip", "check") or it.starts("pip", "check") for it in told):
            summary = "`pip check` calls a mix of cu128 and cu130, and packages without their files, compatible"
            yield Finding(summary, statement.at, "state `packages_consistent` and `cuda_coherent`", identity)


RULE = warning(
    "SP136",
    "a tool's words as proof",
    "uv says `Audited` up to 0.10.9 and `Checked` since, also when it did nothing; apt says `already the newest "
    "version` of half-configured packages; `uv pip check` is content with two CUDA releases in one environment and "
    "with packages whose files are gone. Conditions read the state itself.",
    check,
)
