"""An extra index that uv asks first, also for packages of which it has an old copy."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject
from stackplan.language.lint._wanted import LABELLED, TORCH_FAMILY, texts


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.installing:
        extra = texts(step.arguments, "extra_index_urls")
        if not extra or step.arguments.values.get("installer") == "pip" or "index_strategy" in step.arguments:
            continue
        others = [it for it in step.wanted if it.name not in TORCH_FAMILY | LABELLED and it.pin is None]
        if others:
            names = ", ".join(f"`{it.name}`" for it in others[:3])
            summary = f"uv takes {names} from the extra index if that has the name at all, in whatever old version"
            remedy = "install it in a step of its own without the extra index, or pin its version"
            yield Finding(summary, extra[0][0], remedy, step.id)


RULE = warning(
    "SP107",
    "an extra index beside packages that are not meant to come from it",
    "uv looks at extra indexes before `index_url` and takes a package from the first index that has its name. The "
    "torch indexes also list other projects: `sglang` with the cu130 index as extra index brought sglang 0.5.2, an "
    "old copy without its dependencies, with exit status 0. pip takes the best version of all indexes, so the same "
    "playbook brings different packages. Install torch from its index first, and the application afterwards without.",
    check,
)
