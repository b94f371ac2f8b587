"""Whether a shell text ends with 0 whatever the node is like: `true`, `cmd || echo failed`, `if cmd; then echo; fi`."""

from stackplan.language.lint._tree import Block, Chain, Command, Group, Part, Pipeline, surface_of
from stackplan.model.regular import regular

_ALWAYS = frozenset({"true", ":", "echo", "printf"})
_TELLING = frozenset({"date", "pwd", "hostname", "whoami", "uptime", "arch", "nproc", "id"})
"""They say something of any node, and succeed; of what they are given they may complain."""
EVERYWHERE = frozenset({"/", "/bin", "/dev", "/etc", "/proc", "/sys", "/tmp", "/usr", "/var"})  # noqa: S108 - only named
_LITERAL = regular(r"[^$`{}*?]+")
_SAME = frozenset({"=", "==", "-eq", "-ge", "-le"})


def always_succeeds(block: Block) -> str | None:
    """Return why a text always ends with 0; None where it may fail."""
    errexit = next((it.errexit for it in surface_of(block)), True)
    if not block.chains or not all(_chain(it) for it in (block.chains if errexit else block.chains[-1:])):
        return None
    last = block.chains[-1]
    if last.end == "&":
        return "what is started with `&` is not waited for"
    told = list(surface_of(Block((last,))))
    if "||" in last.operators and told:
        return f"`|| {told[-1].text}` ends with 0 whatever happens before"
    if len(block.chains) > 1 and not errexit and told:
        return f"the text ends with `{told[-1].text}`"
    return f"`{told[-1].text}` always succeeds" if len(told) == 1 else "it ends with 0 whatever it finds"


def fails(block: Block) -> bool:
    """Return whether a text always fails: `false`, `exit 1`, `! true`."""
    if len(block.chains) != 1 or block.chains[0].operators or len(block.chains[0].pipelines[0].parts) != 1:
        return False
    (pipeline,) = block.chains[0].pipelines
    (part,) = pipeline.parts
    if pipeline.negated:
        return _part(part)
    return isinstance(part, Command) and _false(part)


def only_prints(block: Block) -> str | None:
    """Return the text that is printed by a command which does nothing else; None of any other text."""
    told = list(surface_of(block))
    if len(told) != 1 or told[0].program not in ("echo", "printf"):
        return None
    text = " ".join(told[0].words[1:])
    return text if _LITERAL.fullmatch(text) else None


def _chain(chain: Chain) -> bool:
    if chain.end == "&":
        return True
    holds = _pipeline(chain.pipelines[0])
    for operator, pipeline in zip(chain.operators, chain.pipelines[1:], strict=False):
        holds = holds and _pipeline(pipeline) if operator == "&&" else holds or _pipeline(pipeline)
    return holds


def _pipeline(pipeline: Pipeline) -> bool:
    if pipeline.negated:
        part = pipeline.parts[-1]
        return len(pipeline.parts) == 1 and isinstance(part, Command) and _false(part)
    strict = next((it.pipefail for part in pipeline.parts if isinstance(part, Command) for it in (part,)), True)
    return all(_part(part) for part in (pipeline.parts if strict else pipeline.parts[-1:]))


def _part(part: Part) -> bool:
    return _group(part) if isinstance(part, Group) else _command(part)


def _group(group: Group) -> bool:
    """Return whether a group always ends with 0, as an `if` without `else` does where its test fails."""
    if group.kind not in ("(", "{", "if", "for"):
        # A loop that waits may wait for ever.
        return False
    bodies = [block for kind, block in group.blocks if kind != "test"]
    return bool(bodies) and all(always_succeeds(block) is not None for block in bodies)


def _command(it: Command) -> bool:
    if it.redirections and any(not target.startswith(("/dev/", "1", "2")) for _, target in it.redirections):
        return False
    if not it.words:
        return all(_LITERAL.fullmatch(word) for word in it.assignments) and bool(it.assignments)
    if it.handed:
        return all(always_succeeds(block) is not None for block in it.handed)
    if it.program == "exit":
        return it.words[1:] == ("0",)
    if it.program in ("test", "["):
        return _constant(tuple(word for word in it.words[1:] if word != "]"))
    return it.program in _ALWAYS or it.program in ("sleep", "uname") or (it.program in _TELLING and len(it.words) == 1)


def _constant(words: tuple[str, ...]) -> bool:
    """Return whether a test holds by its words alone: `1 -eq 1`, `-n text`, `-d /etc`."""
    if not all(_LITERAL.fullmatch(word) for word in words):
        return False
    match words:
        case (text,):
            return bool(text)
        case ("-n", text):
            return bool(text)
        case ("-e" | "-d" | "-r", path):
            return path in EVERYWHERE
        case (left, operator, right):
            return operator in _SAME and left == right
    return False


def _false(it: Command) -> bool:
    return it.program == "false" or (it.program == "exit" and bool(it.words[1:]) and it.words[1] != "0")
