"""A wheel by its address without its digest, or a repository without its commit."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject
from stackplan.language.lint._wanted import texts
from stackplan.model.regular import regular

_REPOSITORY = regular(r"git\+[a-z+]+://[^/]*/(?P<path>[^#?]*)")
_FIXED = regular(r"[0-9a-f]{7,64}|.*\d+\.\d+.*")
"""A commit, or the tag of a release, which by custom stays where it is."""


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.installing:
        for at, text in texts(step.arguments, "packages") + texts(step.arguments, "requirements"):
            address = (text.partition("@")[2] if "@ " in text else text).strip()
            if address.startswith(("https://", "http://")) and "#" not in address and "{{" not in address:
                summary = "this wheel has no digest: another file under the same address would be installed unseen"
                yield Finding(summary, at, "add its digest: `…whl#sha256=…`", step.id)
            elif (reference := _moving(address)) is not None:
                summary = f"{reference} of this repository moves: two nodes need not get the same package"
                yield Finding(summary, at, "name the commit: `…@0123abc…`, with all of its 40 digits", step.id)


def _moving(address: str) -> str | None:
    """Return what of a repository is asked for, where that is another commit every day; None where it stays."""
    match = _REPOSITORY.match(address) if address.startswith("git+") and "{{" not in address else None
    if match is None:
        return None
    reference = match["path"].partition("@")[2]
    if not reference:
        return "the main branch"
    return None if _FIXED.fullmatch(reference) else f"`{reference}`"


RULE = warning(
    "SP114",
    "a wheel from an address without a digest, or a repository without a commit",
    "An index announces the digest of each file, an address by itself does not. Releases on the web are replaced in "
    "place, and a proxy may answer with something else. Both installers compare `#sha256=…` behind the address. A "
    "branch of a repository moves with every push, and its version number seldom does: name the commit. A tag that "
    "bears a version is let be.",
    check,
    by_step=True,
)
