"""Which build a condition states, in whatever words: `torch: {cuda: 13.0}`, `local: cu130`, `torch.version.cuda`.

A build is `cu130`, `cpu`, `cu13` where any release of CUDA 13 would do, or NO_CUDA.
"""

import re
from collections.abc import Iterator, Mapping

from stackplan.language.lint._subject import Statement
from stackplan.language.lint._wanted import build_of
from stackplan.model.arguments import Value
from stackplan.model.frozen import dataclass
from stackplan.model.pep503 import canonical_name
from stackplan.model.regular import regular

NO_CUDA = "no CUDA"
"""What builds for ROCm, Intel's GPUs and the processor are alike: `torch: {cuda: none}` holds of each of them."""
_RELEASE = regular(r"(?P<major>\d{2})(?:\.(?P<minor>\d))?(?:\.\d+)?")
_LABEL = regular(r"\+(cu\d{2,3}|cpu)\b")
_ASKS_TORCH = regular(r"torch\.version\.cuda|torch\.__version__")


@dataclass(frozen=True, slots=True)
class StatedBuild:
    name: str
    build: str


def stated_builds(it: Statement) -> Iterator[StatedBuild]:
    """Yield the builds that a condition states, each with the distribution that it states it of."""
    if it.kind == "torch":
        yield from _of(("torch",), of_release(it.text("cuda")), _labelled(it.text("version")))
    elif it.kind == "cuda_coherent":
        yield from _of(("torch",), of_release(it.text("cuda")))
    elif it.kind == "package" and (name := it.text("name")) is not None:
        yield from _of((canonical_name(name),), build_of(it.text("local")), _labelled(it.text("version")))
    elif it.kind == "python" and _ASKS_TORCH.search(it.text("expr") or ""):
        yield from _of(("torch",), *_printed(it.arguments.values))
    elif it.kind == "command" and _ASKS_TORCH.search(str(it.arguments.values)):
        printed = it.arguments.values.get("stdout")
        yield from _of(("torch",), *_printed(printed if isinstance(printed, Mapping) else {"equals": printed}))


def _of(names: tuple[str, ...], *builds: str | None) -> Iterator[StatedBuild]:
    yield from (StatedBuild(name, build) for name in names for build in builds if build is not None)


def _printed(matcher: Mapping[str, Value]) -> Iterator[str | None]:
    for key in ("equals", "contains"):
        text = matcher.get(key)
        if isinstance(text, str):
            yield of_release(text.strip()) or _labelled(text)


def of_release(text: str | None) -> str | None:
    """Return the build of a CUDA release: cu130 of 13.0, cu13 of 13, NO_CUDA of none; None of any other text."""
    if text == "none":
        return NO_CUDA
    match = _RELEASE.fullmatch(text or "")
    return None if match is None else f"cu{match['major']}{match['minor'] or ''}"


def _labelled(text: str | None) -> str | None:
    match = _LABEL.search(text or "")
    return match[1] if match else None


def agree(one: str, other: str) -> bool:
    """Return whether something can be of both builds: cu13 is whatever cu130 and cu132 are."""
    if NO_CUDA in (one, other):
        return not one.startswith("cu") and not other.startswith("cu")
    short, long = sorted((one, other), key=len)
    return short == long or (re.fullmatch(r"cu\d{2}", short) is not None and long.startswith(short))
