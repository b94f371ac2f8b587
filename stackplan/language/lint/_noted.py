"""How a script notes that a command failed, and what it does in that case: `A || rc=$?`, then `if [ $rc -ne 0 ]`."""

import re
from collections.abc import Iterator

from stackplan.language.lint._status import mentions
from stackplan.language.lint._tree import Block, Chain, Command, Group, Pipeline, surface, surface_of
from stackplan.model.frozen import dataclass
from stackplan.model.regular import regular

_TESTS = frozenset({"[", "[[", "test"})
_COMPARISON = regular(r"(?P<sign>-eq|-ne|-gt|-ge|-lt|==?|!=|>=?|<)\s*(?P<value>\w*)")
_ASSIGNED = regular(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Note:
    """A variable that says how a command ended: it has `value` after a failure, or after a success.

    No value is whatever status a failure has.
    """

    name: str
    value: str | None
    of_success: bool = False


def notes(chain: Chain, following: tuple[Chain, ...]) -> list[Note]:
    """Return what tells later how a chain ended: `$?` and the variables that it sets in one case alone."""
    found = []
    for operator, right in zip(chain.operators, chain.pipelines[1:], strict=False):
        for it in (command for part in right.parts for command in surface(part)):
            found += [Note(name, value, operator == "&&") for name, value in _assigned(it)]
    for it in (command for later in following[:1] for part in later.pipelines[0].parts for command in surface(part)):
        found += [Note(name, value) for name, value in _assigned(it) if value is None]
    return found


def _assigned(it: Command) -> Iterator[tuple[str, str | None]]:
    for word in () if it.words else it.assignments:
        if match := _ASSIGNED.fullmatch(word):
            yield match["name"], None if "$?" in match["value"] else match["value"]


def after_failure(chain: Chain, noted: list[Note]) -> Iterator[Command]:
    """Yield the commands of a chain that run where a note says that something failed."""
    first = chain.pipelines[0]
    verdict = _verdict(first, noted)
    for at, operator in enumerate(chain.operators):
        if verdict is (operator == "&&") and (operator == "||" or at == 0):
            yield from (it for part in chain.pipelines[at + 1].parts for it in surface(part))
    for part in first.parts:
        if isinstance(part, Group) and part.kind == "if":
            yield from _of_if(part, noted)


def _of_if(group: Group, noted: list[Note]) -> Iterator[Command]:
    (_, test), *rest = group.blocks
    verdict = _verdict(test.chains[0].pipelines[0], noted) if _single(test) else None
    if verdict is True:
        yield from surface_of(rest[0][1])
    elif verdict is False:
        yield from (it for _, block in rest[1:] for it in surface_of(block))


def _single(block: Block) -> bool:
    return len(block.chains) == len(block.chains[0].pipelines) == 1 if block.chains else False


def _verdict(pipeline: Pipeline, noted: list[Note]) -> bool | None:
    """Return whether a test holds after a failure; None where it asks for something else."""
    it = pipeline.parts[0]
    for note in noted if isinstance(it, Command) else ():
        assert isinstance(it, Command)
        if (holds := _holds(it, note)) is not None:
            return holds != (note.of_success != pipeline.negated)
    return None


def _holds(it: Command, note: Note) -> bool | None:
    """Return whether a test holds while the variable has the value of the note; None where it is no test of it."""
    if it.words and it.words[0] in (f"${note.name}", f"${{{note.name}}}"):
        return {"true": True, "false": False}.get(note.value or "")
    arithmetic = it.words[0].startswith("((") if it.words else False
    if not (arithmetic or it.program in _TESTS) or not mentions(it, note.name):
        return None
    words = [word for word in it.words if word not in ("[", "[[", "test", "]", "]]")]
    turned = "!" in words
    if {"-n", "-z"} & set(words):
        return ((note.value != "") != ("-z" in words)) != turned
    match = _COMPARISON.search(" ".join(words))
    if match is None:
        return (note.value not in ("0", "") if arithmetic else note.value != "") != turned
    same = match["value"] != "0" if note.value is None else match["value"] == note.value
    if match["sign"] in ("-gt", ">", "-ge", ">="):
        return (note.value != "0") != turned
    return (same != (match["sign"] in ("-ne", "!=", "-lt", "<"))) != turned
