"""What in a text of another program is a secret by its form: by the name in front of it, or by how it begins.

Who wrote a journal, a command line or a log did not tell stackplan its secrets, so they cannot be known by value:
    server_args=ServerArgs(model_path='/m', api_key='…', tp_size=8)
    ExecStart=/opt/ml-env/bin/python -m sglang.launch_server --api-key …
    {"HF_TOKEN": "…"}   Authorization: Bearer …   http://user:…@proxy:3128
Rather too much is masked than too little; numbers behind `token` and the names of a tokenizer's own tokens stay.
"""

from __future__ import annotations

import re

MASK = "***"
# Without one of these in it, nothing of a text is looked at any closer.
_HINTS = (
    "key", "passw", "passphrase", "secret", "token", "credential", "authorization", "bearer", "cookie", "sig=",
    "signature=", "mysql_pwd", "://", "eyj",
)  # fmt: skip
_PREFIXES = (
    "hf_", "sk-", "nvapi-", "ghp_", "gho_", "ghs_", "ghu_", "github_pat_", "glpat-", "xox", "akia", "asia", "npm_",
    "dckr_pat_", "aiza", "ya29.", "pypi-", "r8_",
)  # fmt: skip
_KIND = (
    r"(?P<kind>(?:api|access|account|admin|auth|encryption|license|master|private|secret|shared|signing)[ _-]?keys?"
    r"|passwords?|passwd|passphrase|secrets?|tokens?|credentials?|authorization|mysql_pwd)"
)
# What a name may go on with and still be one: HF_TOKEN_PROD, secret_value.
_ENDING = r"(?:[_-](?:prod|production|dev|staging|test|value|content|main|old|new|[0-9]{1,3}))?"
_COLOUR = r"(?:\x1b\[[0-9;]{0,12}m){0,4}"
_SIGN = rf"{_COLOUR}\s{{0,40}}(?:=>|->|:?={{1,3}}|::?){_COLOUR}\s{{0,40}}{_COLOUR}"
_VALUE = (
    r"(?P<value>(?:[A-Za-z]{1,20}\()?"
    r"(?:\[[^\]]*\]?|\{[^}]*\}?|\([^)]*\)?"
    r"|b?'(?:[^'\\]|\\.)*'?"
    r'|b?"(?:[^"\\]|\\.)*"?'
    r"|(?P<escaped>\\+[\"'])[^\"'\\]*"
    r"|(?:(?:basic|bearer|token)\s+)?[^\s,;)\]}&\"'\\]+))"
)
# name=value, name: value, "name": "value", 'name': 'value', \"name\": \"value\"
_NAMED = re.compile(
    rf"{_KIND}{_ENDING}(?P<between>(?: (?:provided|given|used))?\\*[\"']?{_SIGN}| is (?=[\"'])){_VALUE}", re.IGNORECASE
)
# Of these the whole line is one: what follows a scheme, and every cookie.
_LINE = re.compile(
    r"((?:authorization\s{0,4}[=:]\s{0,4}(?:digest|negotiate|ntlm|hawk|signature|aws4-hmac-sha256|token\s+token=)"
    r"|(?:set-)?cookie\s{0,4}:)\s?)[^\r\n]+",
    re.IGNORECASE,
)
_SIGNED = re.compile(r"((?:[?&;]sig|signature)=)[^&\s\"';]+", re.IGNORECASE)
_TAGGED = re.compile(r"(<(?:\w{0,20}(?:password|secret|token|passphrase|key))>)[^<]+", re.IGNORECASE)
_BLOCK = re.compile(r"(-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----)(?:(?!-----END)[\s\S])*")
# --api-key X, and as lists of words: '--api-key', 'X'
_OPTION = re.compile(
    rf"(?<![\w-])--?[a-z0-9_-]{{0,40}}?{_KIND}(?P<between>\\*[\"']\s{{0,4}},\s{{0,4}}|\s{{1,4}})(?!--?[a-z]){_VALUE}",
    re.IGNORECASE,
)
_BEARER = re.compile(r"\b(bearer\s+)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)
_BY_FORM = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|nvapi-[A-Za-z0-9_-]{16,}|gh[opsu]_[A-Za-z0-9]{16,}"
    r"|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|A[KS]IA[0-9A-Z]{16}"
    r"|npm_[A-Za-z0-9]{20,}|dckr_pat_[A-Za-z0-9_-]{16,}|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{16,}"
    r"|pypi-[A-Za-z0-9_-]{20,}|r8_[A-Za-z0-9]{20,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)"
)
# The last @ of a word ends a login: a password may hold one, too.
_LOGIN = re.compile(r"(?<=://)[^\s\"'<>]{1,256}@")
# The names of a tokenizer's own tokens, and what is counted in tokens.
_OF_A_MODEL = re.compile(
    r"(?:audio|bad|bos|cached|cls|end|eos|image|input|mask|max|new|next|num|output|pad|per|prompt|sep|special|start"
    r"|stop|tool|total|unk|video)[_-]?\Z",
    re.IGNORECASE,
)
_NOTHING = re.compile(r"(?:none|null|true|false|undefined|\*+|\[\]|\"\"|'')\Z", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?[0-9.]+%?\Z")
_CALL = re.compile(r"[A-Za-z]{1,20}\((?=[\[b\"'\\])")
_BEGIN = re.compile(r"b?\\*[\"']|\[")


def without_secrets(text: str) -> str:
    """Return `text` with `***` in the place of what is a secret by its form."""
    small = text.lower()
    if not any(it in small for it in (*_HINTS, *_PREFIXES)):
        return text
    text = _LOGIN.sub(f"{MASK}@", text) if "://" in text else text
    text = _BLOCK.sub(rf"\g<1>{MASK}", text) if "PRIVATE KEY" in text else text
    text = _LINE.sub(rf"\g<1>{MASK}", text) if "cookie" in small or "authorization" in small else text
    text = _SIGNED.sub(rf"\g<1>{MASK}", text) if "sig" in small else text
    text = _TAGGED.sub(rf"\g<1>{MASK}", text) if "</" in text else text
    text = _OPTION.sub(_masked, text) if "-" in text else text
    text = _BEARER.sub(rf"\g<1>{MASK}", _NAMED.sub(_masked, text))
    return _BY_FORM.sub(MASK, text)


def _masked(match: re.Match[str]) -> str:
    value, kind = match["value"], match["kind"].lower()
    if _NOTHING.match(value):
        return match[0]
    if kind.startswith("token"):
        before = match.string[max(0, match.start("kind") - 12) : match.start("kind")]
        if _NUMBER.match(value) or _OF_A_MODEL.search(before):
            return match[0]
    call = _CALL.match(value)
    begin = _BEGIN.match(value, call.end() if call else 0)
    opened = value[: begin.end()] if begin else ""
    quote = "" if begin is None else "]" if begin[0] == "[" else begin[0][-1]
    closed = quote if quote and not match["escaped"] and value.endswith(quote) and len(value) > len(opened) else ""
    return match[0][: match.start("value") - match.start()] + opened + MASK + closed
