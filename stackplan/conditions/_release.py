"""CUDA releases: `13.0` names one release, `13` all of a major one."""


def release_matches(wanted: str, observed: str) -> bool:
    """Return whether the release `observed` is `wanted`, compared part by part as text, as far as `wanted` goes."""
    parts = wanted.strip().split(".")
    return observed.strip().split(".")[: len(parts)] == parts
