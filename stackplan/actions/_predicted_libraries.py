"""What of `cuda_libraries` stays true once packages have changed. Pure; imports model only.

The files of what is not touched stay as they are; those of what is installed are not known before they are there. So
the answer goes on without the distributions that change, and names them as `unseen`.
"""

from collections.abc import Mapping

from stackplan.model.facts import Answer, Known, Plain
from stackplan.model.pep503 import canonical_name


def libraries_answer(
    answer: Answer, head: Mapping[str, Plain], changed: frozenset[str], left: frozenset[str]
) -> Answer:
    """Return the answer of `cuda_libraries` after the distributions `changed`; `left` are all that are there then.

    What a distribution that goes away provided may be needed by others, so it counts as unseen, too.
    """
    told = answer.value if isinstance(answer, Known) and isinstance(answer.value, dict) else None
    if told is None:
        return answer
    before, unseen = told["distributions"], told["unseen"]
    assert isinstance(before, list)
    assert isinstance(unseen, list)
    rows = [row for row in before if isinstance(row, dict)]
    gone = {_name(row) for row in rows if row["provides"] and _name(row) in changed}
    names: list[Plain] = [*sorted({*(str(it) for it in unseen), *(changed & left), *gone})]
    kept: list[Plain] = [row for row in rows if _name(row) not in changed]
    return Known({**told, **head, "distributions": kept, "unseen": names})


def _name(row: Mapping[str, Plain]) -> str:
    return canonical_name(str(row["name"]))
