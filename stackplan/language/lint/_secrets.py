"""What a token or a password looks like when it is written out in clear."""

import re

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
TOKEN = re.compile(
    r"(?<![A-Za-z0-9_])(?:" + "|".join(f"(?P<k{at}>{it})" for at, it in enumerate(_TOKENS.values())) + ")"
)
_NAMES = tuple(_TOKENS)
PASSWORD = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/:@'\"{}]*:(?P<password>[^\s/@'\"{}$]+)@")
SECRET_NAME = re.compile(r"(?:^|_)(?:token|password|passwd|secret|api_?key|access_?key|private_?key)$", re.IGNORECASE)


def kind(match: re.Match[str]) -> str:
    """Return in words what a match of TOKEN is."""
    return next(_NAMES[int(name[1:])] for name, text in match.groupdict().items() if text is not None)


def masked(line: str) -> str:
    """Return a line with each token in it replaced by as many `*`, so that a caret still points rightly."""
    return TOKEN.sub(lambda match: "*" * len(match[0]), line)
