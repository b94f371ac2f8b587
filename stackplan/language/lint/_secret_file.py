"""Where a shell puts what stands in the file of a secret into a word: `$(cat /run/secrets/db)`, `$(< ~/.hf_token)`."""

import re

from stackplan.model.regular import regular

_READ = regular(
    r"(?:\$\(|`)\s*(?:(?:sudo\s+)?cat\s+|<\s*)[\"']?(?P<path>[^\s)`\"'|;]+)[\"']?\s*(?:2>\s*\S+\s*)?"
    r"(?:\|\s*(?:tr|head|tail|cut|sed|jq|xargs|base64)\b|\)|`)"
)
"""A file that is put into the word as it is, or by way of a program that leaves the secret in it."""
_PATH = regular(
    r"(?:^|[/._-])(?:secrets?/.+|(?:[a-z]+[-_])?(?:token|secret|password|passwd|passphrase)|credentials?|"
    r"(?:api|access|secret)[-_]?key)(?:\.(?:txt|key|secret))?$",
    re.IGNORECASE,
)
_SUBSTITUTION = regular(r"[$<>]\(.*\)|`[^`]*`", re.DOTALL)
_STORE = regular(
    r"(?:\$\(|`)\s*(?P<program>vault|pass|gopass|op|aws|gcloud)\s+"
    r"(?:kv\s+get|read|show|secretsmanager\s+get-secret-value|secrets\s+versions\s+access)\s"
)
"""Programs that print a secret out of a store."""


def outside(word: str) -> str:
    """Return a word without its substitutions: what a program in them is given is no part of the command line."""
    return _SUBSTITUTION.sub("", word)


def secret_read(word: str) -> str | None:
    """Return where the secret comes from that a word is filled with: a path, a store; None of any other word."""
    if ("$(" not in word and "`" not in word) or word.startswith(("<(", ">(")):
        return None
    for match in _READ.finditer(word):
        if _PATH.search(match["path"]) and not match["path"].startswith("/etc/passwd"):
            return match["path"]
    stored = _STORE.search(word)
    return stored["program"] if stored else None
