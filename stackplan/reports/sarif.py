"""What lint says as a SARIF 2.1.0 log, for code scanning services and editors; pure.

Paths are relative to the folder in which lint ran (`SRCROOT`); columns count UTF-16 code units, as the format wants by
default. A finding that a comment in the playbook answers is in the log, with a suppression that gives its reason.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import PurePath
from urllib.parse import quote

from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.model.location import Location
from stackplan.model.review import Review, RuleAbout

Document = dict[str, object]
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_PLAIN = RuleAbout(
    code="SP000",
    name="unreadable",
    severity=Severity.ERROR,
    summary="the playbook cannot be used",
    text="It does not have the form that the schema states, or refers to what is not there.",
)
"""What a result without a code is reported under: a result has to name a rule."""


def render(review: Review, rules: tuple[RuleAbout, ...], version: str) -> str:
    """Return the log as the text of a JSON document that ends in a line break."""
    return json.dumps(document(review, rules, version), indent=1) + "\n"


def document(review: Review, rules: tuple[RuleAbout, ...], version: str) -> Document:
    known = (_PLAIN, *rules)
    places = {it.code: at for at, it in enumerate(known)}
    told: list[tuple[Diagnosis, str | None]] = [(it, None) for it in review.findings]
    told += [(it.diagnosis, it.reason) for it in review.ignored]
    prints = _fingerprints(it for it, _ in told)
    results = [_result(it, reason, places, prints[at]) for at, (it, reason) in enumerate(told)]
    driver = {
        "name": "stackplan",
        "semanticVersion": version,
        "rules": [_rule(it) for it in known],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The folder in which stackplan lint ran."}}},
        "results": results,
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: RuleAbout) -> Document:
    return {
        "id": rule.code,
        "name": "".join(part.capitalize() for part in rule.name.split("_")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.text},
        "help": {"text": rule.text, "markdown": rule.text},
        "defaultConfiguration": {"level": rule.severity.value},
    }


def _result(diagnosis: Diagnosis, reason: str | None, places: dict[str, int], fingerprint: str) -> Document:
    code = diagnosis.code if diagnosis.code in places else _PLAIN.code
    assert code is not None
    result: Document = {
        "ruleId": code,
        "ruleIndex": places[code],
        "level": diagnosis.severity.value,
        "message": {"text": _message(diagnosis)},
        "partialFingerprints": {"stackplan/v1": fingerprint},
    }
    if diagnosis.at is not None:
        location: Document = {"physicalLocation": _place(diagnosis, diagnosis.at)}
        if diagnosis.step is not None:
            location["logicalLocations"] = [{"name": diagnosis.step, "kind": "object"}]
        result["locations"] = [location]
    if reason is not None:
        result["suppressions"] = [{"kind": "inSource", "status": "accepted", "justification": reason}]
    return result


def _message(diagnosis: Diagnosis) -> str:
    parts = [diagnosis.summary]
    parts += [f"expected: {diagnosis.expected}"] if diagnosis.expected is not None else []
    parts += [f"observed: {diagnosis.observed}"] if diagnosis.observed is not None else []
    parts += [*diagnosis.causes, *([diagnosis.remedy] if diagnosis.remedy else [])]
    return "\n".join(parts)


def _place(diagnosis: Diagnosis, at: Location) -> Document:
    line = diagnosis.source or ""
    # Columns in the model count characters; without the line they are taken to be the same.
    start = _units(line[: at.column - 1]) + 1 if line else at.column
    marked = line[at.column - 1 : at.column - 1 + diagnosis.span]
    region: Document = {"startLine": at.line, "startColumn": start}
    region["endColumn"] = start + max(1, _units(marked) if marked else diagnosis.span)
    if line:
        region["snippet"] = {"text": line}
    return {"artifactLocation": _artifact(at.path), "region": region}


def _artifact(path: str) -> Document:
    pure = PurePath(path)
    if pure.is_absolute():
        return {"uri": pure.as_uri()}
    return {"uri": quote(pure.as_posix()), "uriBaseId": "SRCROOT"}


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _fingerprints(diagnoses: Iterable[Diagnosis]) -> list[str]:
    """Return for each a digest of what it is about, and not of where: it stays when lines move above it."""
    seen: Counter[str] = Counter()
    found = []
    for it in diagnoses:
        path = it.at.path if it.at is not None else ""
        about = "\0".join((it.code or "", path, it.step or "", (it.source or "").strip(), it.summary))
        seen[about] += 1
        found.append(hashlib.sha256(f"{about}\0{seen[about]}".encode("utf-8", "surrogateescape")).hexdigest()[:32])
    return found
