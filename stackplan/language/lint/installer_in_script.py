"""pip, uv or conda in a script, where an action would predict and prove."""

from collections.abc import Iterator

from stackplan.language.lint._installers import verb
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.running:
        for it in step.commands:
            done = verb(it)
            if done is not None:
                summary = f"what `{it.program} … {done}` in a script changes cannot be predicted, nor be taken back"
                if done in ("sync", "add"):
                    summary = f"`uv {done}` puts back what a lock file says, and undoes overrides of other steps"
                yield Finding(summary, step.command_at(it), "write it as a step `python_packages`", step.id)


RULE = warning(
    "SP163",
    "an installer in a script",
    "A `run` step has an unknown effect: the plan cannot say which packages change, later steps are unknown with it, "
    "no snapshot is made, and the node's UV_ and PIP_ settings are let in. `python_packages` predicts the exact "
    "changes and walks over the files afterwards. `uv sync` and `uv add` restore a project's lock file.",
    check,
)
