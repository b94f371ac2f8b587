"""What curl, wget and their like bring to a node, and where it goes."""

import re
from urllib.parse import urlsplit

from stackplan.language.lint._handed import python_text
from stackplan.language.lint._tree import Command

FETCHERS = frozenset({"curl", "wget", "aria2c", "axel"})
_CURL_VALUES = "AbcCdDeEFhHKmoPQrtTuUwxXyYz"
_CURL_LONG = frozenset(
    {
        "--output", "--header", "--data", "--data-raw", "--data-binary", "--json", "--form", "--request",
        "--user", "--max-time", "--connect-timeout", "--retry", "--retry-delay", "--write-out", "--user-agent",
        "--output-dir", "--proxy", "--cacert", "--url", "--upload-file", "--resolve", "--unix-socket",
        "--cookie", "--retry-max-time",
    }
)  # fmt: skip
_SENDING = frozenset(
    {"d", "F", "T", "I", "--data", "--data-raw", "--data-binary", "--json", "--form", "--upload-file", "--head"}
)
_LOCAL = re.compile(r"(?:\w+://)?(?:[^/@]*@)?(?:localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\])(?=[:/]|$)")
_ANSWERS = re.compile(
    r"/(?:-/)?(?:health|healthz|health_generate|ready|readyz|livez?|livez|ping|status|metrics|version)/?$"
)
_NOWHERE = frozenset({"/dev/null", "-", "/dev/stdout", "/dev/stderr"})
_FETCHED_BY_PYTHON = re.compile(r"\burlretrieve\b|\burlopen\b|\b(?:requests|httpx)\.get\b|\bwget\.download\b")
_WRITTEN_BY_PYTHON = re.compile(
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
    addresses = [word for word in command.words[1:] if "://" in word or _LOCAL.match(word)]
    if any(_LOCAL.match(word) or _ANSWERS.search(urlsplit_path(word)) for word in addresses):
        return False
    if command.program == "wget":
        return not command.has("--spider", "--post-data", "--post-file", "--method", "--help", "--version")
    given = options(command) if command.program == "curl" else {}
    posts = {given.get("X", ""), given.get("--request", "")} & {"POST", "PUT", "DELETE", "PATCH", "HEAD"}
    return not posts and not _SENDING & set(given) and "--unix-socket" not in given


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
