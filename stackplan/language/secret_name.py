"""Which names say that what bears them is a token or a password, and which values are one written out in clear."""

import re
from collections.abc import Iterator, Mapping

from stackplan.model.regular import regular

NAME = (
    r"(?:[A-Za-z0-9_.-]*[_.-])?(?:(?:access|auth|refresh|hub|api|id|bot)?token|[A-Za-z]*password|passwd|passphrase|secret|"
    r"(?:api|access|private|secret|encryption|signing)[_-]?key|(?<=[_-])pwd|sshpass|"
    r"(?:become|sudo|ssh|db|root)_pass)"
)
"""Such names as a part of a pattern; what `is_secret_name` takes out again is among them."""
_SECRET_NAME = regular(NAME, re.IGNORECASE)
_OF_TEXT = regular(
    # Tokens of a tokenizer, and counts of them.
    r"(?:^|.*[_.-])(?:pad|eos|bos|unk|sep|cls|mask|image|audio|video|stop|next|special|think|tool|start|end|max|min|new|num|"
    r"per|prompt|image|draft)[_-]?token",
    re.IGNORECASE,
)
_NAME_SERVICE = "(?:files|compat|systemd|sss|ldap|nis|nisplus|winbind|db|dns|extrausers)"
_STANDS_FOR_ONE = regular(
    r"<.*>|[*xX.\u2026-]+|\*\*\*.*|(?:your|my)[-_].*|none|null|empty|dummy|unused|true|false|enabled|disabled|required|"
    r"optional|string|redacted|"
    # Where names of users are looked for, as nsswitch.conf says of `passwd`.
    rf"{_NAME_SERVICE}(?:\s+{_NAME_SERVICE})*|"
    r"not[-_](?:needed|used|required)|no[-_]key.*|sk-no-key-required|prompt|ask|"
    # What somebody, or another program, is to put the secret in place of: CHANGEME, `__PW__`.
    r"(?:change|replace)[-_ ]?(?:me|this)|place[-_]?holder|tbd|todo|to[-_]be[-_](?:set|filled|replaced|provided)|"
    r"(?:insert|put|enter|replace|fill)[-_](?:your|the|with|in|here)(?:[-_].*)?|"
    r"__\w+__|##\w+##|"
    # A sentence that says where it is to be had.
    r"(?:see|ask|stored|kept|managed|provided)[-_\s].*",
    re.IGNORECASE,
)
_ELSEWHERE = ("/", "~", "./", "../", "@", "%", "!", "{", "[", "http://", "https://", "file:", "env:", "vault:", "env.")
_RELATIVE = regular(r"(?:[a-z_.-]+/)+[a-z_.-]+")
SHORTEST = 6
"""Characters of the shortest value that a name alone makes a secret of."""


def is_secret_name(name: str) -> bool:
    """Return whether what bears this name is a token or a password: HF_TOKEN, --api-key, and not --eos-token."""
    return _SECRET_NAME.fullmatch(name) is not None and _OF_TEXT.match(name) is None


def in_clear(value: str, *, shortest: int = SHORTEST) -> bool:
    """Return whether a value is written out, and no variable, template, path or word that stands in for it."""
    value = value.strip()
    if len(value) < shortest or any(it in value for it in ("$", "`", "{{", "(", ")", "[")):
        return False
    return not (value.startswith(_ELSEWHERE) or _STANDS_FOR_ONE.fullmatch(value) or _RELATIVE.fullmatch(value))


def names_in_clear(name: str, value: object) -> Iterator[str]:
    """Yield the names, its own or a key within, by which a variable's value is a secret that is written out."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from names_in_clear(str(key), item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from names_in_clear(name, item)
    elif isinstance(value, str) and is_secret_name(name) and in_clear(value):
        yield name
