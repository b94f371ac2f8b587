"""The node's own installer settings let in."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject

_VARIABLES = ("UV_INDEX", "UV_EXTRA_INDEX", "UV_DEFAULT_INDEX", "PIP_INDEX", "PIP_EXTRA_INDEX")
_BESIDE = {"uv": ("UV_EXTRA_INDEX_URL", "UV_INDEX"), "pip": ("PIP_EXTRA_INDEX_URL",)}
"""What adds an index to the usual one, by the installer that reads it."""


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.installing:
        if step.arguments.values.get("inherit_config") is True:
            summary = "what each node's profile says of indexes goes before the playbook's own `index_url`"
            remedy = "leave `inherit_config` out, and write what is needed into the step"
            yield Finding(summary, step.place("inherit_config"), remedy, step.id)
        for name, _, at in step.environment:
            if name.startswith(_VARIABLES) and "index_url" in step.arguments:
                summary = f"{name} goes before `index_url`: packages come from there first"
                yield Finding(summary, at, "write it as `index_url` or `extra_index_urls`", step.id)
            elif name in _BESIDE["pip" if step.arguments.values.get("installer") == "pip" else "uv"]:
                summary = f"{name} adds an index that nothing in the step's arguments tells of"
                yield Finding(summary, at, "write it as `extra_index_urls`, or as `index_url`", step.id)


RULE = warning(
    "SP117",
    "installer settings from the node's environment",
    "`UV_EXTRA_INDEX_URL` left in a profile beats `--upgrade --index-url …/cu130`: exit status 0, nothing changed. "
    "uv reads no PIP_ variables and pip no UV_ ones, and sudo drops both, so the same step does different things. "
    "stackplan ignores them unless a step lets them in.",
    check,
)
