"""Which questions about environments no longer stand once something is written into the environment's own folder. Pure.

An environment tells what is installed by its metadata, and what it is by a few files of its own: where one of these is
written, nothing that the node said of the environment is known any more. Elsewhere among its packages a file may be
what is imported, linked or counted, and only what is installed stays known. What lies beside (a launch script in
`bin/`) touches none of it.
"""

from collections.abc import Iterator

from stackplan.actions._target import told
from stackplan.model.environment_place import places
from stackplan.model.facts import Facts, Query
from stackplan.model.regular import regular

_MAKES_IT = regular(r"pyvenv\.cfg|bin(/python[^/]*)?|conda-meta(/.*)?|lib(64)?(/[^/]+(/site-packages)?)?")
_METADATA = regular(r"lib(64)?/[^/]+/site-packages/[^/]+\.(dist|egg)-info(/.*)?")
_AMONG_PACKAGES = regular(r"lib(64)?/.*")


def written_into(facts: Facts, paths: tuple[str, ...]) -> Iterator[Query]:
    """Yield the questions about environments of which the answer may be another once something stands at `paths`, as
    they were written or as they were found.
    """
    for query in facts.answers:
        venv = query.arguments.get("venv")
        if venv is None and query.arguments.get("python") is None:
            continue
        more = {"installer": None, "distributions": _METADATA}.get(query.kind, _AMONG_PACKAGES)
        inside = (it for folder in _folders(facts, query) for it in _below(folder, paths))
        if any(_MAKES_IT.fullmatch(it) or (more is not None and more.fullmatch(it)) for it in inside):
            yield query


def _folders(facts: Facts, query: Query) -> Iterator[str]:
    """Yield the folder of the environment that a question is about, by all its names."""
    names = places(told(facts.answers[query]))
    if isinstance(venv := query.arguments.get("venv"), str):
        yield from (venv.rstrip("/"), *names)
        return
    for program in (*names, query.arguments.get("python")):
        if isinstance(program, str):
            # An interpreter stands in the environment's bin; the last name may be that of the environment itself.
            yield from (program, program.rpartition("/")[0].rpartition("/")[0])


def _below(folder: str, paths: tuple[str, ...]) -> Iterator[str]:
    return (path[len(folder) + 1 :] for path in paths if folder and path.startswith(f"{folder}/"))
