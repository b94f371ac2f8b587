"""The evidence of a `python_packages` action that failed, read once for all rules."""

import re
from collections.abc import Mapping

from stackplan.actions._installer_facts import InstallerFacts
from stackplan.actions._wishes import Wishes
from stackplan.model.arguments import Arguments
from stackplan.model.change import Change
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.distribution import Distribution, distributions, distributions_query
from stackplan.model.facts import Facts, Known, Query
from stackplan.model.frozen import dataclass
from stackplan.model.job import Exited
from stackplan.model.kind import Evidence, Outstanding
from stackplan.model.outcome import Reason
from stackplan.model.pep440 import InvalidVersion, Version
from stackplan.model.pep503 import canonical_name
from stackplan.model.pep508 import Requirement
from stackplan.model.playbook import Playbook
from stackplan.model.regular import regular
from stackplan.model.verdict import Verdict

_LABEL = regular(r"\b(cu\d{2,4}|cpu|rocm[\d.]+)\b")
_RELEASE = regular(r"\b(\d+)\.(\d+)\b")
_OTHER_OWNER = "also written by "
"""How the walk over RECORD names the second owner of a file."""


@dataclass(frozen=True, slots=True)
class FileFault:
    """A file that the walk over RECORD found fault with; `detail` says by how much, where there is more to say."""

    kind: str
    name: str
    path: str
    detail: str | None

    @property
    def text(self) -> str:
        """What is wrong with it, for people."""
        if self.kind == "wrong-size" and self.detail:
            return f"{self.path} has {self.detail}"
        return f"{self.path} is {'missing' if self.kind == 'missing-file' else 'no plain file'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The evidence, read. `after` is empty where the environment could not be asked afterwards."""

    step: str
    arguments: Arguments
    wishes: Wishes
    node: InstallerFacts | None
    exit_code: int | None
    output: str
    reason: Reason
    changes: tuple[Change, ...]
    unmet: tuple[Verdict, ...]
    after: tuple[Distribution, ...]
    facts: Facts
    """What the node answered afterwards."""
    findings: tuple[tuple[str, str], ...]
    shared: tuple[tuple[str, str], ...] = ()
    """Pairs of distributions that both own a file."""
    files: tuple["FileFault", ...] = ()
    """The files that are not as RECORD says, as far as the walk named them."""
    playbook: Playbook | None = None
    outstanding: tuple[Outstanding, ...] = ()

    @property
    def at(self) -> str:
        """Where an argument is to be added, for the words of a remedy."""
        return f"{self.arguments.at.line}:{self.arguments.at.column}"

    def place(self, key: str) -> str:
        place = self.arguments.place(key)
        return f"{place.line}:{place.column}"

    def diagnosis(
        self,
        code: str,
        summary: str,
        remedy: str | None = None,
        *,
        key: str | None = None,
        causes: tuple[str, ...] = (),
    ) -> Diagnosis:
        """Return a diagnosis of this step; `key` names the argument that the remedy is about."""
        place = self.arguments.place(key) if key is not None else self.arguments.at
        return Diagnosis(
            summary=summary,
            code=code,
            at=self.arguments.at,
            step=self.step,
            causes=causes,
            remedy=remedy,
            remedy_at=place,
        )

    def installed(self, name: str) -> Distribution | None:
        return next((it for it in self.after if it.canonical == name), None)


def read_failure(wishes: Wishes, node: InstallerFacts | None, evidence: Evidence) -> Failure:
    return Failure(
        step=evidence.step,
        arguments=evidence.arguments,
        wishes=wishes,
        node=node,
        exit_code=evidence.ending.code if isinstance(evidence.ending, Exited) else None,
        output=evidence.output,
        reason=evidence.reason,
        changes=tuple(change for change in evidence.changes if change.kind == "package"),
        unmet=evidence.unmet,
        after=_distributions(evidence.after, wishes.venv),
        facts=evidence.after,
        findings=_findings(evidence.after, wishes.venv),
        shared=_shared(evidence.after, wishes.venv),
        files=_files(evidence.after, wishes.venv),
        playbook=evidence.playbook,
        outstanding=evidence.outstanding,
    )


def records_query(venv: str) -> Query:
    """Return the question that `environment_intact` asks too; equal questions are asked once."""
    return Query("records", {"venv": venv})


def _distributions(facts: Facts, venv: str) -> tuple[Distribution, ...]:
    answer = facts[distributions_query(venv=venv)]
    return distributions(answer) if isinstance(answer, Known) else ()


def _findings(facts: Facts, venv: str) -> tuple[tuple[str, str], ...]:
    """Return (kind, canonical name) of what the walk over RECORD found."""
    named = [(kind, row.get("distribution")) for kind, row in _rows(facts, venv)]
    return tuple(dict.fromkeys((kind, canonical_name(name)) for kind, name in named if isinstance(name, str)))


def _files(facts: Facts, venv: str) -> tuple[FileFault, ...]:
    return tuple(
        FileFault(kind, canonical_name(name), path, detail if isinstance(detail := row.get("detail"), str) else None)
        for kind, row in _rows(facts, venv)
        if isinstance(name := row.get("distribution"), str) and isinstance(path := row.get("path"), str)
    )


def _shared(facts: Facts, venv: str) -> tuple[tuple[str, str], ...]:
    """Return the pairs of distributions of which the walk over RECORD found that both own a file."""
    named = [(row.get("distribution"), row.get("detail")) for kind, row in _rows(facts, venv) if kind == "two-owners"]
    pairs = [
        (canonical_name(one), canonical_name(detail.removeprefix(_OTHER_OWNER)))
        for one, detail in named
        if isinstance(one, str) and isinstance(detail, str) and detail.startswith(_OTHER_OWNER)
    ]
    return tuple(dict.fromkeys(pairs))


def _rows(facts: Facts, venv: str) -> list[tuple[str, Mapping[str, object]]]:
    answer = facts[records_query(venv)]
    value = answer.value if isinstance(answer, Known) else None
    findings = value.get("findings") if isinstance(value, dict) else None
    if not isinstance(findings, dict):
        return []
    return [
        (kind, row)
        for kind, about in findings.items()
        for row in (about.get("first") if isinstance(about, dict) else None) or ()  # type: ignore[union-attr]
        if isinstance(row, dict)
    ]


def silence(failure: Failure, name: str) -> int:
    """Return where among the unmet conditions `name` is first spoken of; a large number when it is not."""
    pattern = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    texts = [f"{it.text} {it.observed} {it.evidence}".lower().replace("_", "-") for it in failure.unmet]
    return next((index for index, text in enumerate(texts) if pattern.search(text)), len(texts))


def admits(requirement: Requirement, version: str) -> bool:
    try:
        return requirement.specifier.contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False


def label(failure: Failure, name: str) -> str | None:
    """Return the build label that is wanted, where the playbook tells it: by its index, or by an unmet condition."""
    wishes = failure.wishes
    if wishes.index_url is not None and wishes.index_url.label is not None:
        return wishes.index_url.label
    if wishes.torch_backend not in (None, "auto"):
        return wishes.torch_backend
    labels = {extra.label for extra in wishes.extra_index_urls} - {None}
    if len(labels) == 1:
        return labels.pop()
    for verdict in failure.unmet:
        if match := _LABEL.search(verdict.expected or ""):
            return match[1]
        release = _RELEASE.fullmatch((verdict.expected or "").strip())
        if name == "torch" and "cuda" in verdict.text.lower() and release:
            return f"cu{release[1]}{release[2]}"
    return None
