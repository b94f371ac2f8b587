"""A wheel by its address, without its digest."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject
from stackplan.language.lint._wanted import texts


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.installing:
        for at, text in texts(step.arguments, "packages") + texts(step.arguments, "requirements"):
            address = text.partition(" @ ")[2] or text
            if address.startswith(("https://", "http://")) and "#" not in address and "{{" not in address:
                summary = "this wheel has no digest: another file under the same address would be installed unseen"
                yield Finding(summary, at, "add its digest: `…whl#sha256=…`", step.id)


RULE = warning(
    "SP114",
    "a wheel from an address without a digest",
    "An index announces the digest of each file, an address by itself does not. Releases on the web are replaced in "
    "place, and a proxy may answer with something else. Both installers compare `#sha256=…` behind the address.",
    check,
)
