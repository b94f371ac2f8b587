"""A condition that rests on what an installer says of itself."""

from collections.abc import Iterable, Iterator, Mapping

from stackplan.language.lint._installers import asked
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Subject
from stackplan.model.regular import regular

_WORDS = regular(
    r"Audited|Checked \d|Successfully installed|already satisfied|Would make no changes|Installed \d+ package|"
    r"already the newest|No broken requirements|All installed packages are compatible"
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
            continue
        questions = {question for it in told if (question := asked(it)) is not None}
        if "check" in questions:
            summary = "`pip check` calls a mix of cu128 and cu130, and packages without their files, compatible"
            yield Finding(summary, statement.at, "state `packages_consistent` and `cuda_coherent`", identity)
        elif questions:
            summary = (
                f"`pip {min(questions)}` reads what an installer wrote down, also of packages whose files are gone"
            )
            yield Finding(summary, statement.at, "state `package`, with its version or its label", identity)
        elif _believes_dpkg(told, texts):
            summary = "`ii` of `dpkg -l` says that some version is there, also one that nothing runs with yet"
            yield Finding(summary, statement.at, "state `apt_package`, with its version", identity)


def _believes_dpkg(told: Iterable[Command], texts: Iterable[str]) -> bool:
    """Return whether `^ii` is looked for in what `dpkg -l` prints, by a program or by a matcher."""
    if not any(it.program == "dpkg" and it.has_flag("l", "--list") for it in told):
        return False
    return any("^ii" in text for text in (*texts, *(word for it in told for word in it.words)))


RULE = warning(
    "SP136",
    "a tool's words as proof",
    "uv says `Audited` up to 0.10.9 and `Checked` since, also when it did nothing; apt says `already the newest "
    "version` of half-configured packages; `uv pip check` is content with two CUDA releases in one environment and "
    "with packages whose files are gone, as `pip show` and `pip list` are; `ii` of `dpkg -l` is said of any version. "
    "Conditions read the state itself.",
    check,
    by_step=True,
)
