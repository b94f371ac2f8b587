"""What curl, wget and their like bring to a node, and where it goes."""

import re
from urllib.parse import urlsplit

from stackplan.language.lint._handed import python_text
from stackplan.language.lint._own_address import is_own
from stackplan.language.lint._tree import Command
from stackplan.model.regular import regular

FETCHERS = frozenset({"curl", "wget", "aria2c", "axel"})
MARKS = (*sorted(FETCHERS), "urlretrieve", "urlopen", "requests", "httpx")
"""One of these stands in whatever fetches something."""
_CURL_VALUES = "AbcCdDeEFhHKmoPQrtTuUwxXyYz"
_CURL_LONG = frozenset(
    {
        "--output", "--header", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--json", "--form",
        "--request", "--user", "--max-time", "--connect-timeout", "--retry", "--retry-delay", "--write-out",
        "--user-agent", "--output-dir", "--proxy", "--cacert", "--url", "--upload-file", "--resolve", "--unix-socket",
        "--cookie", "--retry-max-time",
    }
)  # fmt: skip
_DATA = frozenset({"d", "--data", "--data-raw", "--data-binary", "--data-urlencode"})
_SENDING = _DATA | {"F", "T", "I", "--json", "--form", "--upload-file", "--head"}
_ANSWERS = regular(
    r"/(?:-/)?(?:health|healthz|health_generate|ready|readyz|livez?|livez|ping|status|metrics|version)/?$"
)
_NOWHERE = frozenset({"/dev/null", "-", "/dev/stdout", "/dev/stderr"})
_FETCHED_BY_PYTHON = regular(r"\burlretrieve\b|\burlopen\b|\b(?:requests|httpx)\.get\b|\bwget\.download\b")
_WRITTEN_BY_PYTHON = regular(
    r"\burlretrieve\b|\bwget\.download\b|open\([^)]*,\s*['\"][wx]b?|\bwrite_(?:bytes|text)\b|copyfileobj"
)


def options(command: Command) -> dict[str, str]:
    """Return curl's options with their values: of `-fsSLo FILE` the letters, `o` with FILE."""
    found: dict[str, str] = {}
    words = iter(command.words[1:])
    for word in words:
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            found[name] = value if equals else next(words, "") if name in _CURL_LONG else ""
        elif word.startswith("-") and len(word) > 1:
            for at, letter in enumerate(word[1:], 2):
                if letter in _CURL_VALUES:
                    found[letter] = word[at:] or next(words, "")
                    break
                found[letter] = ""
        else:
            found.setdefault("--url", word)
    return found


def fetches(command: Command) -> bool:
    """Return whether a command asks an address that is not this node, for more than how it is."""
    if text := python_text(command):
        return _FETCHED_BY_PYTHON.search(text) is not None and not re.search(r"https?://(?:localhost|127\.)", text)
    if command.program not in FETCHERS:
        return False
    addresses = [word for word in command.words[1:] if "://" in word or is_own(word)]
    if any(is_own(word) or _ANSWERS.search(urlsplit_path(word)) for word in addresses):
        return False
    return not sends(command)


def sends(command: Command) -> bool:
    """Return whether a request is there for what it brings to the other side, or for the answer's head alone."""
    if command.program == "wget":
        return command.has("--spider", "--post-data", "--post-file", "--body-data", "--method", "--help", "--version")
    given = options(command) if command.program == "curl" else {}
    posts = {given.get("X", ""), given.get("--request", "")} & {"POST", "PUT", "DELETE", "PATCH", "HEAD"}
    # With `-G` the data becomes a part of the address.
    sending = _SENDING - _DATA if {"G", "--get"} & set(given) else _SENDING
    return bool(posts or sending & set(given)) or "--unix-socket" in given


def discards(command: Command) -> bool:
    """Return whether what a command brings goes nowhere: `-o /dev/null`, `> /dev/null`."""
    if prints(command):
        signs = (">", ">>", "1>", "&>")
        return any(sign in signs and target == "/dev/null" for sign, target in command.redirections)
    return not keeps(command)


def urlsplit_path(address: str) -> str:
    """Return the path of an address; "" of what is none."""
    try:
        return urlsplit(address).path
    except ValueError:
        return ""


def prints(command: Command) -> bool:
    """Return whether what a command brings goes to its standard output."""
    if command.program == "curl":
        given = options(command)
        return not {"o", "O", "--output", "--remote-name", "--remote-name-all"} & set(given)
    if command.program == "wget":
        return any(re.fullmatch(r"-[a-zA-Z]*O-", word) for word in command.words) or _value(command) == "-"
    return bool(python_text(command)) and not _WRITTEN_BY_PYTHON.search(python_text(command))


def keeps(command: Command) -> bool:
    """Return whether what a command brings becomes a file: by an option, a redirection, or because it always does."""
    if any(
        sign.startswith((">", "1>", "&>")) and not sign.endswith("&") and target not in _NOWHERE
        for sign, target in command.redirections
    ):
        return True
    if prints(command):
        return False
    if command.program == "curl":
        given = options(command)
        into = given.get("o", given.get("--output"))
        return into is None or into not in _NOWHERE
    return command.program != "wget" or _value(command) not in _NOWHERE


def _value(command: Command) -> str:
    """Return where wget writes, as far as it is told."""
    for word, following in zip(command.words, (*command.words[1:], ""), strict=False):
        if re.fullmatch(r"-[a-zA-Z]*O", word) or word == "--output-document":
            return following
        if match := re.match(r"(?:-[a-zA-Z]*O|--output-document=)(.+)", word):
            return match[1]
    return ""
