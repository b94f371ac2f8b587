"""Branches of a script that end with a failure in any case: what they look at on the way may fail as well."""

from collections.abc import Iterator

from stackplan.language.lint import _apt, _installers
from stackplan.language.lint._status import says
from stackplan.language.lint._tree import Block, Chain, Command, Group, Pipeline, blocks, inside, surface_of
from stackplan.model.regular import regular

_LEAVING = frozenset({"exit", "return", "break", "continue"})
_FAILED = regular(r"0*[1-9]\d*")
_GIVEN = regular(r"\$(?:1|\{1(?::?-0*[1-9]\d*)?\})")
"""The status that a function is given: `exit "${1:-1}"`."""
_NOTED = regular(r"\$(?:\w+|\{\w+\})")
"""A variable, which in the branch behind a failure holds its status."""
_INSTALLING = frozenset(
    {"install", "reinstall", "upgrade", "dist-upgrade", "full-upgrade", "add", "sync", "update", "-i"}
)
_PACKAGES = frozenset({"dpkg", "dnf", "yum", "zypper", "rpm", "snap", "npm", "dkms", "aptitude", "nala"})


def failing(script: Block) -> frozenset[int]:
    """Return the identities of the blocks behind which nothing but a failure comes: `{ dmesg; exit 1; }`."""
    found: list[int] = []
    _gather(script, failing_functions(script), found, noted=False, already=False)
    return frozenset(found)


def failing_functions(script: Block) -> frozenset[str]:
    """Return the names of the functions of a script that end with a failure in any case: `fail() { …; exit 1; }`."""
    defined = [
        (it.words[:1], function_body(it)) for block in blocks(script) for it in _groups(block) if it.kind == "function"
    ]
    return frozenset(it for name, body in defined if _fails(body, frozenset(), noted=_notes(body)) for it in name)


def ends_badly(block: Block, functions: frozenset[str]) -> bool:
    """Return whether a block ends with a failure, and with nothing else before; `functions` are those that do."""
    return _fails(block, functions, noted=False)


def leaves_well(command: Command) -> bool:
    """Return whether a command leaves a script or a function with a status that may be 0."""
    status = command.words[1] if len(command.words) == 2 else ""
    return command.program in ("exit", "return") and not (_FAILED.fullmatch(status) or _GIVEN.fullmatch(status))


def installs(command: Command) -> bool:
    """Return whether a command puts packages on the node, which no diagnosis does."""
    if _apt.verb(command) or _installers.verb(command):
        return True
    return command.program in _PACKAGES and bool(_INSTALLING & set(command.words[1:4]))


def _gather(block: Block, functions: frozenset[str], found: list[int], *, noted: bool, already: bool) -> None:
    if fails := already or _fails(block, functions, noted=noted):
        found.append(id(block))
    for chain in block.chains:
        for before, pipeline in zip(("", *chain.operators), chain.pipelines, strict=False):
            for part in pipeline.parts:
                if isinstance(part, Group) and part.kind == "function":
                    body = function_body(part)
                    _gather(body, functions, found, noted=_notes(body), already=False)
                elif isinstance(part, Group):
                    for role, inner in part.blocks:
                        branch = before == "||" if part.kind == "{" else part.kind in ("if", "case") and role != "test"
                        _gather(inner, functions, found, noted=branch, already=fails)
                for inner in part.inner if isinstance(part, Group) else inside(part):
                    _gather(inner, functions, found, noted=False, already=False)


def _fails(block: Block, functions: frozenset[str], *, noted: bool) -> bool:
    """Return whether a block ends with a failure, and with nothing else before."""
    if not block.chains or (last := _last(block.chains[-1])) is None:
        return False
    if last.program in ("exit", "return"):
        status = last.words[1] if len(last.words) == 2 else ""
        if not (_FAILED.fullmatch(status) or _GIVEN.fullmatch(status) or (noted and _NOTED.fullmatch(status))):
            return False
    elif last.program != "false" and last.program not in functions:
        return False
    return not any(it is not last and _leaves(it) for it in surface_of(block))


def _leaves(command: Command) -> bool:
    """Return whether a command may leave a branch before its end, without a failure."""
    return command.program in _LEAVING and not (len(command.words) == 2 and _FAILED.fullmatch(command.words[1]))


def _last(chain: Chain) -> Command | None:
    """Return the command with which a chain ends, where nothing but words stands before it."""
    first = [_alone(it) for it in chain.pipelines]
    last = first[-1]
    told = all(it is not None and says(it) for it in first[:-1])
    return last if last is not None and told and chain.end != "&" and "||" not in chain.operators else None


def _alone(pipeline: Pipeline) -> Command | None:
    part = pipeline.parts[0]
    return part if len(pipeline.parts) == 1 and isinstance(part, Command) and not pipeline.negated else None


def _notes(body: Block) -> bool:
    """Return whether a function begins by keeping the status before it: `fail() { local rc=$?; …; exit "$rc"; }`."""
    first = _alone(body.chains[0].pipelines[0]) if body.chains else None
    return first is not None and any("=$?" in it for it in (*first.words, *first.assignments))


def function_body(function: Group) -> Block:
    """Return what stands between the braces of a function."""
    block = function.blocks[0][1] if function.blocks else Block(())
    inner = next(_groups(block), None)
    return inner.blocks[0][1] if inner is not None and inner.kind in ("{", "(") else block


def _groups(block: Block) -> Iterator[Group]:
    parts = (part for chain in block.chains for pipeline in chain.pipelines for part in pipeline.parts)
    return (part for part in parts if isinstance(part, Group))
