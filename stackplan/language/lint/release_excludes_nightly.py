"""A postcondition that no nightly build can meet: 2.11.0.dev comes before 2.11."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject
from stackplan.model.pep440 import InvalidSpecifier, SpecifierSet


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.installing:
        if not any(it.nightly for it in step.indexes):
            continue
        for it in step.postconditions:
            named = "torch" if it.kind == "torch" else it.text("name") if it.kind == "package" else None
            version = it.text("version")
            if named in step.names and version and not it.negated and (low := _release_bound(version)) is not None:
                summary = f"`{version}` excludes the nightly builds of {low}: {low}.dev… comes before {low}"
                yield Finding(summary, it.arguments.place("version"), f"write `>={low}.dev0`", step.id)


def _release_bound(text: str) -> str | None:
    try:
        found = [it for it in SpecifierSet(text) if it.operator == ">="]
    except InvalidSpecifier:
        return None
    return next(
        (it.version for it in found if "dev" not in it.version and not any(c in it.version for c in "abr")), None
    )


RULE = warning(
    "SP113",
    "a postcondition that excludes the nightly builds that the step installs",
    'By PEP 440, 2.11.0.dev20260201 is lower than 2.11.0, so `version: ">=2.11"` does not hold of it. Beside a '
    "nightly index write `>=2.11.0.dev0`.",
    check,
)
