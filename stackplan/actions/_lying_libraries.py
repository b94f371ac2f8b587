"""Where in an environment a library lies that a program asked for and did not get. Pure.

`cuda_libraries` tells where the files of an environment would have it from, a copy by its name included that the loader
does not look for; `library` which copies its program did not load.
"""

from collections.abc import Iterator, Mapping

from stackplan.model.facts import Facts, Known, Plain

_KINDS = ("cuda_libraries", "library")


def folders_with(facts: Facts, venv: str, library: str) -> tuple[str, ...]:
    """Return the folders of the environment that hold `library`, whole paths; none where nobody asked or saw it."""
    found = (
        path.rpartition("/")[0]
        for query, answer in facts.of_kind(*_KINDS)
        if query.arguments.get("venv") == venv and query.user == facts.user and isinstance(answer, Known)
        for path in _inside(answer.value, library)
    )
    return tuple(dict.fromkeys(found))


def wheels_with(facts: Facts, venv: str, library: str) -> tuple[str, ...]:
    """Return the distributions of the environment that hold `library`, with their versions."""
    found = (
        f"{row.get('name')} {row.get('version')}"
        for query, answer in facts.of_kind("cuda_libraries")
        if query.arguments.get("venv") == venv and query.user == facts.user and isinstance(answer, Known)
        for row in _items(answer.value, "distributions")
        if isinstance(row, Mapping)
        for provided in _items(row, "provides")
        if isinstance(provided, Mapping) and provided.get("library") == library
    )
    return tuple(dict.fromkeys(found))


def within(folder: str, facts: Facts, venv: str) -> str:
    """Return a folder as people name it: from the environment's site-packages, where it lies there."""
    for query, answer in facts.of_kind(*_KINDS):
        if query.arguments.get("venv") == venv and isinstance(answer, Known):
            for own in _texts(answer.value, "site_packages"):
                if folder.startswith(f"{own}/"):
                    return folder.removeprefix(f"{own}/")
    return folder


def _inside(told: Plain, library: str) -> Iterator[str]:
    """Yield the paths below the environment's site-packages at which an answer tells of `library`."""
    own = tuple(f"{it}/" for it in _texts(told, "site_packages"))
    paths = [it for it in _texts(told, "others") if it.rpartition("/")[2] == library]
    for row in _items(told, "distributions"):
        for need in _items(row, "needs"):
            if isinstance(need, Mapping) and need.get("library") == library:
                paths += _texts(need, "found")
    return (path for path in paths if path.startswith(own))


def _texts(told: Plain, key: str) -> Iterator[str]:
    return (it for it in _items(told, key) if isinstance(it, str))


def _items(told: Plain, key: str) -> list[Plain]:
    found = told.get(key) if isinstance(told, Mapping) else None
    return found if isinstance(found, list) else []
