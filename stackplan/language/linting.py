"""Every lint rule on one playbook: what they find, less what the author has answered with a comment."""

import importlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from stackplan.language import lint, source
from stackplan.language.lint import _ignores, stray_ignore
from stackplan.language.lint._ignores import Ignore
from stackplan.language.lint._rule import Finding, Rule
from stackplan.language.lint._secrets import hiding, masked
from stackplan.language.lint._subject import Subject
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.listing import module_names
from stackplan.model.playbook import Playbook
from stackplan.model.regular import regular
from stackplan.model.review import Ignored, Review, RuleAbout

Found = tuple[Finding, Rule]
Findings: TypeAlias = dict[str, tuple[Finding, ...]]
"""What some rules have found, by code."""
MOST_PARTS = 200
SMALLEST_PART = 25
"""So many steps: of less it is not worth telling another process."""
MOST_IN_A_STEP = 100
"""So many findings of a rule in a step are listed, and the others are counted."""
CODE = regular(r"SP1\d\d")


@lru_cache(maxsize=1)
def _rules() -> tuple[tuple[str, Rule], ...]:
    names = module_names(lint.__path__)
    found = [(name, importlib.import_module(f"{lint.__name__}.{name}").RULE) for name in names]
    return tuple(sorted(found, key=lambda pair: pair[1].code))


def rules() -> tuple[RuleAbout, ...]:
    """Return what each rule is about, by code."""
    return tuple(
        RuleAbout(code=it.code, name=name, severity=it.severity, summary=it.summary, text=it.text)
        for name, it in _rules()
    )


def example(name: str, which: str) -> str:
    """Return the text of a rule's example, `bad` or `good`: a whole playbook."""
    return (Path(lint.__path__[0]) / "examples" / f"{name}.{which}.yaml").read_text("utf-8")


def review(written: Playbook, rendered: Playbook) -> Review:
    """Return what the rules find in a playbook that was read, and rendered as far as it goes without a node."""
    examination = Examination(written, rendered)
    return examination.review(examination.of_whole(), {it: examination.of_part(it) for it in range(examination.parts)})


class Examination:
    """The rules at work on one playbook. What they find in each of its parts may be worked out anywhere, in any order.

    `parts` is their number: at least 1, at most MOST_PARTS.
    """

    def __init__(self, written: Playbook, rendered: Playbook) -> None:
        self._rules = tuple(rule for _, rule in _rules())
        self._subject = Subject.of(written, rendered, frozenset(it.code for it in self._rules))
        self._size = max(SMALLEST_PART, math.ceil(len(written.steps) / MOST_PARTS))
        self.parts = max(1, math.ceil(len(written.steps) / self._size))

    def of_part(self, number: int) -> Findings:
        """Return what the rules that look at one step at a time find in a part, counted from 0."""
        return self._found(self._part(number), by_step=True)

    def of_whole(self) -> Findings:
        """Return what the other rules find: they look at several steps at once."""
        return self._found(self._subject, by_step=False)

    def review(self, of_whole: Findings, of_parts: Mapping[int, Findings]) -> Review:
        """Return what was found in the whole and in every part, less what comments answer."""
        subject = self._subject
        each = [*(of_parts[number] for number in range(self.parts)), of_whole]
        by_rule = ((rule, [it for found in each for it in found.get(rule.code, ())]) for rule in self._rules)
        pairs = [(it, rule) for rule, found in by_rule for it in rule.joined(found)]
        hide = hiding({secret for it, _ in pairs for secret in it.secrets})
        ignores = _ignores.Ignores(subject)
        left: list[Found] = []
        answered: list[tuple[Found, Ignore]] = []
        for found in dict.fromkeys(pairs):
            answer = ignores.answer(*found)
            if answer is None:
                left.append(found)
            else:
                answered.append((found, answer))
        used = {(answer, rule.code) for (_, rule), answer in answered}
        left += [(it, stray_ignore.RULE) for it in stray_ignore.unused(ignores.all, used, subject.codes)]
        ignored = [
            Ignored(_diagnosis(it, rule, subject, hide), answer.reason, answer.at)
            for it, rule in _bounded(found for found, _ in answered)
            if (answer := ignores.answer(it, rule)) is not None
        ]
        told = dict.fromkeys(_diagnosis(it, rule, subject, hide) for it, rule in _bounded(left))
        return Review(tuple(_sorted(told)), tuple(dict.fromkeys(ignored)))

    def _part(self, number: int) -> Subject:
        return self._subject.part(number * self._size, (number + 1) * self._size)

    def _found(self, subject: Subject, *, by_step: bool) -> Findings:
        looked = ((it.code, tuple(it.check(subject))) for it in self._rules if it.by_step is by_step)
        return {code: found for code, found in looked if found}


def _bounded(found: Iterable[Found]) -> Iterator[Found]:
    """Yield findings, of each rule in each step as many as somebody reads, and of the others how many there are."""
    beyond: dict[tuple[str, str | None], list[Found]] = {}
    seen = Counter[tuple[str, str | None]]()
    for it, rule in found:
        seen[rule.code, it.step] += 1
        if seen[rule.code, it.step] <= MOST_IN_A_STEP:
            yield it, rule
        else:
            beyond.setdefault((rule.code, it.step), []).append((it, rule))
    for left in beyond.values():
        first, rule = left[0]
        summary = f"and {len(left)} more of {rule.code} from here on, which are not listed: {rule.summary}"
        yield replace(first, summary=summary, remedy="mend those that are listed first"), rule


def _diagnosis(finding: Finding, rule: Rule, subject: Subject, hide: Callable[[str], str]) -> Diagnosis:
    """Return a finding with its line, in which no secret stands any more: whoever reads the log is not to have it.

    What the rules have found is taken out by `hide`; what only looks like a secret is masked as well.
    """
    # The words of a finding of secrets are its rule's own.
    own = bool(finding.secrets)
    bare = Diagnosis(
        summary=finding.summary if own else hide(masked(finding.summary)),
        severity=rule.severity,
        code=rule.code,
        at=finding.at,
        step=finding.step,
        remedy=finding.remedy if own else hide(finding.remedy),
    )
    (told,) = source.annotate([bare], subject.sources)
    line = None if told.source is None else masked(hide(told.source))
    return told if line == told.source else replace(told, source=line)


def _sorted(found: Iterable[Diagnosis]) -> Iterator[Diagnosis]:
    return iter(sorted(found, key=lambda it: (it.at is not None, it.at and (it.at.path, it.at.line), it.code)))
