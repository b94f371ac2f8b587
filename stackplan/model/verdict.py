"""The evaluation of a condition against facts."""

import enum

from stackplan.model.frozen import dataclass


class Status(enum.Enum):
    HELD = "held"
    NOT_HELD = "not-held"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`text` states the condition ("torch built for CUDA 13.0"); `evidence` says where `observed` was read.

    `why` belongs to UNKNOWN alone: what stood in the way of an answer.
    """

    status: Status
    text: str
    expected: str | None = None
    observed: str | None = None
    evidence: str | None = None
    why: str | None = None

    @property
    def held(self) -> bool:
        return self.status is Status.HELD


def held(text: str, *, observed: str | None = None, evidence: str | None = None) -> Verdict:
    return Verdict(status=Status.HELD, text=text, observed=observed, evidence=evidence)


def not_held(text: str, *, expected: str, observed: str, evidence: str | None = None) -> Verdict:
    return Verdict(status=Status.NOT_HELD, text=text, expected=expected, observed=observed, evidence=evidence)


def unknown(text: str, *, why: str, expected: str | None = None) -> Verdict:
    return Verdict(status=Status.UNKNOWN, text=text, expected=expected, why=why)


def conjunction(text: str, parts: tuple[Verdict, ...]) -> Verdict:
    """Return the verdict on all `parts` together.

    Not held when a part is not held, else unknown when one is unknown; it then speaks of those parts alone. Held parts
    are summed up under `text`.
    """
    for status in (Status.NOT_HELD, Status.UNKNOWN):
        if culprits := [part for part in parts if part.status is status]:
            return Verdict(
                status=status,
                text="; ".join(part.text for part in culprits),
                expected=_joined(_common([part.expected for part in culprits])),
                observed=_joined(_common([part.observed for part in culprits])),
                evidence=_joined(dict.fromkeys(part.evidence for part in culprits)),
                why=_joined(dict.fromkeys(part.why for part in culprits)),
            )
    return held(
        text,
        observed=_joined(part.observed for part in parts),
        evidence=_joined(dict.fromkeys(part.evidence for part in parts)),
    )


def _common(texts: list[str | None]) -> list[str | None]:
    """Return the texts, or one of them where all are the same; else each belongs to what was observed beside it."""
    return texts[:1] if len(set(texts)) == 1 else texts


def _joined(texts: "object") -> str | None:
    found = [text for text in texts if text]  # type: ignore[attr-defined]
    return "; ".join(found) or None
