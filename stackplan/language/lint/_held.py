"""What the variables of a script were given, as it is written: `PIDS=$(pgrep x)` gives PIDS the text `$(pgrep x)`."""

from collections.abc import Iterable, Mapping

from stackplan.language.lint._shell import Command
from stackplan.model.regular import regular

_VARIABLE = regular(r"\$\{?(?P<name>[A-Za-z_]\w*)\b[^}/]*\}?")

_MOST_TEXTS = 20


def held(commands: Iterable[Command]) -> dict[str, str]:
    """Return the texts that commands assign, by variable; of one that is assigned twice, all of them.

    Of many, as of a script that some program has written, the first few are kept.
    """
    found: dict[str, dict[str, None]] = {}
    for it in commands:
        for word in (
            *it.assignments,
            *(it.words[1:] if it.program in ("export", "local", "readonly", "declare") else ()),
        ):
            name, equals, value = word.partition("=")
            if equals and len(kept := found.setdefault(name, {})) < _MOST_TEXTS:
                kept[value] = None
    return {name: " ".join(kept) for name, kept in found.items()}


def filled(word: str, values: Mapping[str, str]) -> str:
    """Return a word with what its variables were given in their place; unknown ones stay."""
    return _VARIABLE.sub(lambda match: values.get(match["name"], match[0]), word) if "$" in word else word
