"""What modules a package has, where each of them is one of a kind: a rule, a condition, a finding."""

import os
from collections.abc import Iterable

_SUFFIX = ".py"


def module_names(folders: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the modules in a package's folders, sorted, but for those with an underscore in front.

    Raise OSError where a folder cannot be listed: `pkgutil` takes it for an empty one, and no rule at all would find
    nothing wrong.
    """
    names = (name for folder in folders for name in os.listdir(folder))  # noqa: PTH208 - a package's path is of texts
    return tuple(sorted(it.removesuffix(_SUFFIX) for it in names if it.endswith(_SUFFIX) and not it.startswith("_")))
