"""pip, uv or conda in a script, where an action would predict and prove."""

from collections.abc import Iterator

from stackplan.language.lint._installers import verb
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._shell import Command
from stackplan.language.lint._subject import Subject

_VERBS = {
    "poetry": frozenset({"install", "add", "update", "remove", "sync"}),
    "pdm": frozenset({"install", "add", "update", "remove", "sync"}),
    "pipenv": frozenset({"install", "update", "uninstall", "sync"}),
    "pipx": frozenset({"install", "inject", "upgrade", "upgrade-all", "reinstall", "uninstall"}),
    "uv tool": frozenset({"install", "upgrade", "uninstall"}),
}
"""Installers for projects and tools, with what they can be told to do."""


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for it in step.commands:
            done = verb(it) or _other(it)
            if done is not None:
                summary = f"what `{it.program} … {done}` in a script changes cannot be predicted, nor be taken back"
                if it.program == "uv" and done in ("sync", "add"):
                    summary = f"`uv {done}` puts back what a lock file says, and undoes overrides of other steps"
                yield Finding(summary, step.command_at(it), "write it as a step `python_packages`", step.id)


def _other(it: Command) -> str | None:
    """Return what an installer for projects and tools is told to do: `setup.py install`, `uv tool install`."""
    if it.elsewhere or it.has("--dry-run", "--help"):
        return None
    if it.program == "easy_install":
        return it.plain[0] if it.plain else None
    verbs = _VERBS.get("uv tool" if it.starts("uv", "tool") else it.program)
    if verbs is not None:
        return next((word for word in it.plain[:2] if word in verbs), None)
    words = it.plain if it.program.startswith(("python", "pypy")) else it.words
    if len(words) > 1 and words[0].rpartition("/")[2] == "setup.py" and words[1] in ("install", "develop"):
        return words[1]
    return None


RULE = warning(
    "SP163",
    "an installer in a script",
    "A `run` step has an unknown effect: the plan cannot say which packages change, later steps are unknown with it, "
    "no snapshot is made, and the node's UV_ and PIP_ settings are let in. `python_packages` predicts the exact "
    "changes and walks over the files afterwards. `uv sync` and `uv add` restore a project's lock file.",
    check,
    by_step=True,
)
