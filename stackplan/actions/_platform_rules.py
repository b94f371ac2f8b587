"""Rules for packages of which no wheel fits the node: its Python, its processor, its C library."""

from collections.abc import Iterator

from stackplan.actions._failure import Failure
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.regular import regular

_NO_TAG = regular(
    r"\b(?P<name>[A-Za-z0-9][\w.-]*)==(?P<version>\S+) has no wheels with a matching (?P<what>[\w ]+?) tag"
    r" \(e\.g\., `(?P<own>[^`]+)`\)"
)
_TAGS = regular(r"(?:on|with) the following (?P<what>[\w ]+?)s?: (?P<tags>`[^`]+`(?:, `[^`]+`)*)")
_NO_PYTHON = regular(
    r"\b(?P<name>[A-Za-z0-9][\w.-]*)==(?P<version>\S+) (?:requires|depends on) Python ?(?P<wanted>[<>=!~][^\s)]*)"
    r"|Package '(?P<named>[^']+)' requires a different Python: \S+ not in '(?P<range>[^']+)'"
)
_NOT_HERE = regular(r"(?P<file>[^\s/]+\.whl) is not a supported wheel on this platform")


def no_wheel(failure: Failure) -> Diagnosis | None:
    """SP213: the version exists, and not for this node."""
    if failure.exit_code in (0, None):
        return None
    text = " ".join(failure.output.split())
    for summary, causes in _reasons(text, failure.wishes.venv):
        return failure.diagnosis("SP213", summary, _remedy(failure, text), key="packages", causes=causes)
    return None


def _reasons(text: str, venv: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    if match := _NO_TAG.search(text):
        tags = _TAGS.search(text)
        offered = f", only for {tags['tags'].replace('`', '')}" if tags is not None else ""
        summary = f"There is no wheel of {match['name']} {match['version']} for this node ({match['own']}){offered}."
        yield summary, (match[0],)
    if match := _NO_PYTHON.search(text):
        what = f"{match['name']} {match['version']}" if match["name"] else match["named"]
        summary = f"{what} is for Python {match['wanted'] or match['range']}, and the one in {venv} is another."
        yield summary, (match[0],)
    if match := _NOT_HERE.search(text):
        yield f"{match['file']} is not made for this node's Python or platform.", ()


def _remedy(failure: Failure, text: str) -> str:
    """Return the way out by what does not fit: another environment for another Python, else another version."""
    packages = f"at {failure.place('packages')}" if "packages" in failure.arguments else f"at {failure.at}"
    if "platform tag" in text or _NOT_HERE.search(text):
        return (
            f"Name a version {packages} that has a wheel for this node's processor and C library, or an index that "
            "offers one."
        )
    return (
        f"Name a version {packages} that has a wheel for this Python, or another `venv` with `create: {{python: …}}` "
        f"at {failure.at}."
    )
