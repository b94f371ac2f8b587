"""An ignore comment that does not do what it says: no reason, no such rule, nothing to ignore."""

from collections.abc import Iterable, Iterator

from stackplan.language.lint import _ignores
from stackplan.language.lint._ignores import Ignore
from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._subject import Subject
from stackplan.language.nearest import did_you_mean

FORM = "# stackplan: ignore[SP101] the reason"


def check(subject: Subject) -> Iterator[Finding]:
    for it in _ignores.read(subject):
        if not it.codes:
            yield Finding("this comment ignores nothing: it names no code", it.at, f"write `{FORM}`", it.step)
        for code in it.codes:
            if code not in subject.codes:
                remedy = did_you_mean(code, sorted(subject.codes)) or "`stackplan explain` lists the rules"
                yield Finding(f"there is no rule `{code}`", it.at, remedy, it.step)
        if it.codes and not it.reasoned:
            summary = "this comment ignores nothing: it gives no reason, and a reviewer would have to guess it"
            yield Finding(summary, it.at, f"write why behind the bracket: `{FORM}`", it.step)


def unused(ignores: Iterable[Ignore], used: set[tuple[Ignore, str]], known: frozenset[str]) -> Iterator[Finding]:
    """Yield a finding for each code of a comment that answered nothing."""
    for it in ignores:
        for code in dict.fromkeys(it.codes):
            if code in known and it.reasoned and (it, code) not in used:
                summary = f"{code} finds nothing here: the comment would hide a fault that comes later"
                yield Finding(summary, it.at, f"take {code} out of the comment", it.step)


RULE = error(
    "SP100",
    "an ignore comment without a reason, of a rule that does not exist, or of one that finds nothing",
    "A finding is answered by a comment in the step, or right above it: `# stackplan: ignore[SP101] the reason`. In a "
    "script such a comment answers for the command that it stands behind or above. "
    "Several codes are parted by commas. The reason is for whoever reads the playbook after you. A comment that "
    "answers nothing is taken out, because it would hide the same fault when somebody brings it in later.",
    check,
)
