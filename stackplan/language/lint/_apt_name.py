"""What a Debian package is called, in whatever way it is asked for."""

from stackplan.model.regular import regular

_NAME = regular(r"(?P<name>[^=/:]+?)(?:[+^]|:[a-z0-9-]+)?(?:[=/].*)?")


def bare(text: str) -> str:
    """Return the name alone: `cuda` of cuda=13.0.*, cuda:amd64, cuda/unknown and cuda+."""
    match = _NAME.fullmatch(text)
    return match["name"] if match else text
