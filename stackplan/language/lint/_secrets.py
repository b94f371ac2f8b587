"""What a token or a password looks like when it is written out in clear."""

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from stackplan.language.secret_name import NAME, in_clear, is_secret_name
from stackplan.model.regular import regular

# Each prefix is documented by its issuer; what follows is as long as those tokens are at least.
_TOKENS = {
    "a Hugging Face token": r"hf_[A-Za-z0-9]{30,}",
    "a GitHub token": r"gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,}",
    "a GitLab token": r"glpat-[A-Za-z0-9_-]{20,}",
    "an NVIDIA API key": r"nvapi-[A-Za-z0-9_-]{40,}",
    "an AWS access key": r"(?:AKIA|ASIA)[A-Z0-9]{16}",
    "a Slack token": r"xox[abprs]-[A-Za-z0-9-]{20,}",
    "a PyPI token": r"pypi-[A-Za-z0-9_-]{60,}",
    "an OpenAI key": r"sk-(?:proj-)?[A-Za-z0-9_-]{32,}",
    "a private key": r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----",
}
TOKEN = regular(r"(?<![A-Za-z0-9_])(?:" + "|".join(f"(?P<k{at}>{it})" for at, it in enumerate(_TOKENS.values())) + ")")
_NAMES = tuple(_TOKENS)
MARKS = (
    "hf_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "nvapi-", "AKIA", "ASIA", "xox", "pypi-",
    "sk-", "PRIVATE KEY", "@", "uthorization", "login", "auth",
)  # fmt: skip
"""One of them stands in every line in which `in_line` finds something."""
PASSWORD = regular(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@'\"{}<>]*:(?P<secret>[^\s/@'\"{}$<>`]+)@")
_HEADER = regular(
    r"authorization[\"']?\s*[:=,]?\s*[\"']?(?:bearer|basic|token|apikey)\s+(?P<secret>[A-Za-z0-9+/=._~:-]+)",
    re.IGNORECASE,
)
_AUTH = regular(r"(?<![A-Za-z0-9])_?auth[\"']?\s*[:=]\s*[\"']?(?P<secret>[A-Za-z0-9+/]{6,}={0,2})")
"""As docker, podman and npm keep a user and a password for a registry."""
_NAMED = regular(
    rf"(?<![A-Za-z0-9_.-])(?:--?)?(?P<name>{NAME})(?P<between>[\"']?\s*(?:=|:\s)\s*)(?P<quote>[\"']?)"
    r"(?P<secret>[^\s\"',;&}]+)",
    re.IGNORECASE,
)
_MASKED = regular(
    rf"(?:(?<![A-Za-z0-9_.-])(?:(?:--?)?{NAME}[\"']?\s*[=:]|--{NAME}(?=\s+[^\s-]|[\"']))\s*[\"']?|"
    r"\s(?:-[A-Za-z]*[uU]|--user|--proxy-user|--[a-z-]*creds)[=\s]?\s*[\"']?[^\s:\"'-][^\s:\"']*:|"
    r"(?:login|sshpass|mysql\w*|mariadb|redis-cli|ipmitool)\b.{0,200}?\s-[paPw]\s*[\"']?)"
    r"(?P<secret>[^\s\"',;&}]+)",
    re.IGNORECASE,
)
_SHORTEST = 3
_NETRC = regular(r"\blogin\s+\S+\s+password\s+(?P<secret>\S+)")


def in_line(line: str) -> Iterator[tuple[str, int, str]]:
    """Yield what of a line is a secret by its form, wherever it stands, with its column from 0, and the secret."""
    yield from ((f"{kind(match)} stands here", match.start(), match[0]) for match in TOKEN.finditer(line))
    if "://" in line and "@" in line and (found := PASSWORD.search(line)) and in_clear(found["secret"], shortest=2):
        yield "a password stands in this address", found.start("secret"), found["secret"]
    if "uthorization" in line and (found := _HEADER.search(line)) and in_clear(found["secret"]):
        yield "what an Authorization header lets in stands here", found.start("secret"), found["secret"]
    if "login" in line and (found := _NETRC.search(line)) and in_clear(found["secret"], shortest=2):
        yield "the password of a login stands here", found.start("secret"), found["secret"]
    if "auth" in line and (found := _AUTH.search(line)) and _lets_in(found["secret"]):
        yield "the password for a registry stands here", found.start("secret"), found["secret"]


def _lets_in(text: str) -> bool:
    """Return whether a text is USER:PASSWORD in base64, which hides neither."""
    try:
        user, _, password = base64.b64decode(text, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return False
    return bool(user and password) and (user + password).isprintable()


def named(text: str) -> Iterator[tuple[str, int, str]]:
    """Yield the names of secrets that a text gives values to, `NAME=VALUE` or `NAME: VALUE`, where, and the values.

    A plain word behind a colon counts for prose.
    """
    for match in _NAMED.finditer(text):
        name, value = match["name"], match["secret"]
        if is_secret_name(name) and in_clear(value) and ("=" in match["between"] or _looks_random(value)):
            yield name, match.start("secret"), value


def _looks_random(value: str) -> bool:
    return any(it.isdigit() for it in value) or value not in (value.lower(), value.upper(), value.capitalize())


def kind(match: re.Match[str]) -> str:
    """Return in words what a match of TOKEN is."""
    return next(_NAMES[int(name[1:])] for name, text in match.groupdict().items() if text is not None)


@lru_cache(maxsize=1024)
def masked(line: str) -> str:
    """Return a line with whatever may be a secret replaced by as many `*`, so that a caret still points rightly."""
    line = TOKEN.sub(lambda match: "*" * len(match[0]), line)
    for pattern in (_HEADER, _NETRC, _MASKED):
        line = pattern.sub(_stars, line)
    return _AUTH.sub(lambda match: _stars(match) if _lets_in(match["secret"]) else match[0], line)


def hiding(secrets: Iterable[str]) -> Callable[[str], str]:
    """Return what replaces these secrets in a text by as many `*`, wherever they stand as words of their own."""
    # What quotes and backslashes make a word of stands in the file in pieces.
    pieces = {piece for it in secrets for piece in (it, *re.split(r"[\"'\\]+", it)) if len(piece) >= _SHORTEST}
    if not pieces:
        return str
    alternatives = "|".join(re.escape(it) for it in sorted(pieces, key=len, reverse=True))
    # Not within another word, unless an option of one letter stands before it, as in `-phunter22`, or a `\n`.
    pattern = re.compile(rf"(?:(?<![A-Za-z0-9])|(?<=\s-[A-Za-z])|(?<=\\[nrt]))(?:{alternatives})(?![A-Za-z0-9])")
    return lambda text: pattern.sub(lambda match: "*" * len(match[0]), text)


def _stars(match: re.Match[str]) -> str:
    start, end = (at - match.start() for at in match.span("secret"))
    return match[0][:start] + "*" * (end - start) + match[0][end:] if in_clear(match["secret"]) else match[0]
