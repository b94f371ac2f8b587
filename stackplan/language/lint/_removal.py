"""Which paths a command removes, empties or moves away, however it is written."""

from stackplan.language.lint._handed import python_text
from stackplan.language.lint._tree import Command, Part, Pipeline, surface, surface_of
from stackplan.model.regular import regular

_REMOVING = frozenset({"rm", "unlink", "truncate", "shred", "rmdir", "mv", "rename"})
_NAMES = frozenset({"-name", "-iname", "-path", "-wholename"})
_IN_PYTHON = regular(r"\b(?:remove|unlink|rmtree|rename|replace|truncate)\b")
_QUOTED = regular(r"['\"](/[^'\"]*)['\"]")


def removed(pipeline: Pipeline, folder: str = "") -> list[tuple[Command, str]]:
    """Return the paths that the commands of a pipeline take away, each with its command; `folder` is where they run.

    What is removed from another root than the node's is passed over.
    """
    found: list[tuple[Command, str]] = []
    before: Part | None = None
    for part in pipeline.parts:
        for command in surface(part):
            words = [] if command.elsewhere else list(_paths(command))
            if command.program in _REMOVING and "xargs" in command.wrappers and before is not None:
                # What is removed are the lines that come through the pipe.
                words += [
                    word for it in surface(before) for word in (_found(it) if it.program == "find" else it.words[1:])
                ]
            found += [(command, path if path.startswith("/") or not folder else f"{folder}/{path}") for path in words]
        before = part
    return found


def _paths(command: Command) -> tuple[str, ...]:
    if command.program in _REMOVING:
        return command.plain
    if command.program == "find":
        executed = [it.program for block in command.handed for it in surface_of(block)]
        if "-delete" in command.words or _REMOVING & set(executed):
            return _found(command)
    if command.program in ("cp", "dd", "install", "ln"):
        emptied = any(word.endswith("/dev/null") for word in command.words[1:])
        return tuple(word.removeprefix("of=") for word in command.words[1:]) if emptied else ()
    if text := python_text(command):
        return tuple(_QUOTED.findall(text)) if _IN_PYTHON.search(text) else ()
    if not command.words or command.program in (":", "true", "echo", "printf", "cat"):
        return tuple(target for sign, target in command.redirections if sign in (">", ">|", "1>"))
    return ()


def _found(command: Command) -> tuple[str, ...]:
    """Return where find looks, with the names that it looks for below it."""
    roots = [word for word in command.words[1:] if word.startswith(("/", "~", "$", "."))]
    names = [word for at, word in enumerate(command.words) if at and command.words[at - 1] in _NAMES]
    return tuple(f"{root.rstrip('/')}/{name}" for root in roots for name in names or [""])
