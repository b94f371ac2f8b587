"""Functions that traps alone run: what they fail in changes nothing of a failure, which bash keeps.

    on_error() { collect || true; }
    trap on_error ERR

Behind an ERR trap the shell ends with the status that led there, unless the function ends it with another, or errexit
is off. An EXIT trap runs after a success as well, so there only what runs behind a question for `$?` counts.
"""

from collections.abc import Iterator

from stackplan.language.lint._failing import function_body, leaves_well
from stackplan.language.lint._status import says
from stackplan.language.lint._tree import Block, Command, Group, flat, groups, surface_of
from stackplan.language.lint._variable_tests import FAILED, WELL, holds, looked_at, tested_name, values_set

_FAILING = frozenset({"ERR", "INT", "TERM", "HUP", "QUIT"})
_ENDING = frozenset({"EXIT", "0"})
_PREFIX = "SIG"


def trapped(script: Block) -> Iterator[Block]:
    """Yield the blocks that run only after a failure, by a trap, and do not end the script with another status."""
    everything = tuple(flat(script))
    traps = [it for it in everything if it.program == "trap" and it.handed]
    if not traps:
        return
    in_traps = {id(at) for it in traps for block in it.handed for at in flat(block)}
    switching_off = _switching_off(everything)
    bodies = {name: function_body(it) for it in groups(script) if it.kind == "function" for name in it.words[:1]}
    run = {word for it in everything if id(it) not in in_traps and it.program != "trap" for word in _may_run(it)}
    calls: dict[str, list[Command]] = {}
    for trap in traps:
        for name in {it.words[0] for text in trap.handed for it in surface_of(text) if it.words}:
            calls.setdefault(name, []).append(trap)
    for name, calling in calls.items():
        body = bodies.get(name)
        if body is None or name in run:
            continue
        signals = {signal.removeprefix(_PREFIX) for it in calling for signal in it.plain[1:]}
        if signals & _ENDING and signals <= _FAILING | _ENDING:
            # What the text of the trap runs before has a status of its own.
            alone = all(len(list(surface_of(text))) == 1 for it in calling for text in it.handed)
            yield from _behind_failures(body) if alone else ()
        elif (
            signals <= _FAILING
            and _stops(body, switching_off)
            and not any(_ends_itself(it, "") for it in surface_of(body))
        ):
            yield body


def after_failures(script: Block) -> Iterator[Block]:
    """Yield the texts of traps that run only after a failure, behind which the script ends with it."""
    everything = tuple(flat(script))
    switching_off = _switching_off(everything)
    for it in everything:
        signals = {signal.removeprefix(_PREFIX) for signal in it.plain[1:]} if it.program == "trap" else set()
        if signals and signals <= _FAILING and not switching_off:
            yield from (text for text in it.handed if not any(_ends_itself(at, "") for at in surface_of(text)))


def _switching_off(everything: tuple[Command, ...]) -> int:
    return sum(("errexit", False) in it.switched for it in everything)


def _stops(body: Block, switching_off: int) -> bool:
    """Return whether errexit is on behind a function that a trap runs: bash asks for it when the trap has run.

    `switching_off` is how many commands of the script switch it off, those of the function among them.
    """
    own = [it.switched for it in surface_of(body) if it.switched]
    last = next((on for switched in reversed(own) for name, on in reversed(switched) if name == "errexit"), True)
    return last and sum(("errexit", False) in it for it in own) == switching_off


def _may_run(it: Command) -> tuple[str, ...]:
    """Return the words of a command that may be functions which it runs: its own, and what it is given."""
    return it.words[:1] if says(it) else it.words


def _behind_failures(body: Block) -> Iterator[Block]:
    """Yield the bodies of each `if` of a function that ask whether the script has failed."""
    first = body.chains[0].pipelines[0].parts[0] if body.chains else None
    noted = "?"
    if isinstance(first, Command):
        noted = next((name for name, values in values_set(first, failed=False) if values == (WELL, FAILED)), "?")
    found = list(surface_of(body))
    changed = [it for it in found if it is not first and any(name == noted for name, _ in values_set(it, failed=False))]
    if changed or any(_ends_itself(it, noted) for it in found):
        return
    for number, chain in enumerate(body.chains):
        part = chain.pipelines[0].parts[0]
        if isinstance(part, Group) and part.kind == "if" and (noted != "?" or number == 0):
            yield from _of_if(part, noted)


def _of_if(group: Group, noted: str) -> Iterator[Block]:
    """Yield the branch of an `if` that runs where the variable holds a failure, and nowhere else."""
    asked = group.blocks[0][1].chains[0]
    test = asked.pipelines[0].parts[0]
    if len(group.blocks[0][1].chains) > 1 or asked.operators or not isinstance(test, Command):
        return
    if tested_name(test) != noted:
        return
    answers = holds(test, FAILED), holds(test, WELL)
    if answers in ((True, False), (False, True)):
        bodies = group.blocks[1:2] if answers[0] != asked.pipelines[0].negated else group.blocks[2:]
        yield from (block for role, block in bodies if len(bodies) == 1 and role != "test")


def _ends_itself(it: Command, noted: str) -> bool:
    """Return whether a command ends the script with a status of its own that may be 0."""
    return leaves_well(it) and it.program == "exit" and not (noted and looked_at("".join(it.words[1:])) == noted)
