"""Which variables of an environment an audit tells of, and what of their values may be seen.

Nothing that may let somebody in leaves the node: of a variable whose name speaks of a secret only the name is told,
of an address neither its login nor what stands behind its question mark, and of an index's only scheme and host, for
some indexes want a token as a part of the path.
"""

from __future__ import annotations

import re
from typing import Iterable, Mapping

MOST_VARIABLES = 200
MOST_CHARACTERS = 300
_FAMILIES = ("UV_", "PIP_", "FLASHINFER_", "TORCH_", "TORCHINDUCTOR_", "TRITON_")
_NAMES = frozenset(
    {
        "CONDA_DEFAULT_ENV",
        "CONDA_PREFIX",
        "CUDA_HOME",
        "CUDA_PATH",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "PYTHONHOME",
        "PYTHONPATH",
        "TMPDIR",
        "VIRTUAL_ENV",
        "XDG_CACHE_HOME",
        "http_proxy",
        "https_proxy",
        "no_proxy",
        "all_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "ALL_PROXY",
    }
)
_SECRET = re.compile(r"TOKEN|KEY|PASSW|SECRET|CREDENTIAL|AUTH|USERNAME", re.IGNORECASE)
_ADDRESSES = re.compile(r"(?:INDEX|FIND_LINKS|_URLS?|_MIRROR)$", re.IGNORECASE)
_NO_PROXY = re.compile(r"no_proxy$", re.IGNORECASE)
_PROXY = re.compile(r"_PROXY$", re.IGNORECASE)
# Name, scheme and slashes, each of which may be missing; a word that begins so goes on with login and host.
_BEGIN = re.compile(r"(?:[\w.-]+=)?[\"']?(?:[A-Za-z][A-Za-z0-9+.-]*:(?=//))?(?://)?")
_WORD = re.compile(r"\S+")
_HOST = re.compile(r"[^/?#]*")
_QUESTION = re.compile(r"(://[^\s?#]*)\?\S*")
# `/opt/gcc@13/lib` holds no login.
_PATH = re.compile(r"(?:[\w.-]+=)?(?:/(?!/)|\.{1,2}/|~[\w-]*/)")


def telling(variables: Mapping[str, str]) -> dict[str, str]:
    """Return those of a command's variables that may surprise a playbook, with what may be seen of them."""
    names = [name for name in variables if name in _NAMES or name.startswith(_FAMILIES)]
    return {readable(name): masked(name, variables[name]) for name in sorted(names)[:MOST_VARIABLES]}


def masked(name: str, value: str) -> str:
    """Return what may be seen of a variable's value; of a long one the beginning."""
    if _SECRET.search(name):
        return "***"
    # Masked before it is cut, for a login that is cut off no longer ends in an @.
    text = _without_logins(name, readable(value))
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + "…"


def _without_logins(name: str, text: str) -> str:
    if _PROXY.search(name) and "@" in text:
        # One address, whose password may hold what parts words elsewhere.
        return text if _NO_PROXY.search(name) else _host(_word(text))
    if _ADDRESSES.search(name):
        return _addresses(text)
    if _PROXY.search(name) and not _NO_PROXY.search(name):
        # A proxy has no use for a path; some let in by one that nobody guesses.
        return _host(text)
    return _QUESTION.sub(r"\1?***", _WORD.sub(lambda it: _word(it[0]), text))


def _addresses(text: str) -> str:
    """Return scheme and host of each address of several.

    A word behind the first that is neither an address nor a path is a piece of one that somebody broke in two.
    """
    words = [it[0] for it in _WORD.finditer(text)]
    if any("@" in it and "//" not in it and not _PATH.match(it) for it in words[1:]):
        # It was broken inside of a login.
        begin = _BEGIN.match(text.strip())
        return f"{begin[0] if begin else ''}***@{_host(text[text.rindex('@') + 1 :])}"
    shown, end = "", 0
    for it in _WORD.finditer(text):
        space, word = text[end : it.start()], it[0]
        first, end = not end, it.end()
        broken = not first and "//" not in word and not (_PATH.match(word) and not {"\n", "\r"} & set(space))
        shown += space + ("***" if broken else _host(word))
    return shown + text[end:]


def _word(word: str) -> str:
    """Return a word without what stands in front of an @: the login of an address, with or without its scheme."""
    if "@" not in word or (_PATH.match(word) and "://" not in word):
        return word
    begin = _BEGIN.match(word)
    return f"{begin[0] if begin else ''}***@{word[word.rindex('@') + 1 :]}"


def _host(word: str) -> str:
    """Return scheme and host of an address; a path of this machine's own stays as it is."""
    if _PATH.match(word) and "://" not in word and "?" not in word:
        return word
    bare = _word(word)
    begin = _BEGIN.match(bare)
    host = _HOST.match(bare, begin.end() if begin else 0)
    assert host is not None
    port = host[0].rpartition("]")[2].partition(":")[2]
    if port and not port.isdigit():
        # What stands where a port does is a password whose host is missing.
        return f"{bare[: host.start()]}***"
    rest = bare[host.end() :]
    return bare[: host.end()] + ("/***" if rest.strip("/") else rest)


def readable(text: str) -> str:
    """Return text with the bytes replaced that are not UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def parsed(block: bytes) -> dict[str, str]:
    """Return the variables of what `env -0` prints, in the form of `os.environ`."""
    return dict(_pairs(os_text(it) for it in block.split(b"\0")))


def os_text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _pairs(lines: Iterable[str]) -> Iterable[tuple[str, str]]:
    for line in lines:
        name, equals, value = line.partition("=")
        if equals and name:
            yield name, value
