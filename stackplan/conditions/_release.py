"""CUDA releases: `13.0` names one release, `13` all of a major one."""

import re


def release(text: str) -> str:
    """Return a CUDA release as torch names it. Raise ValueError for anything else, a third part included."""
    # torch/version.py names no third part: one that is asked for would never hold.
    if re.fullmatch(r"\d{1,4}(\.\d+)?", text.strip(), re.ASCII) is None:
        raise ValueError(text)
    return text.strip()


def release_matches(wanted: str, observed: str) -> bool:
    """Return whether the release `observed` is `wanted`, compared part by part as text, as far as `wanted` goes."""
    parts = wanted.strip().split(".")
    return observed.strip().split(".")[: len(parts)] == parts
