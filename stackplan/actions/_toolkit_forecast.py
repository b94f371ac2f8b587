"""How a node answers once a CUDA toolkit was installed, so far as the toolkit's version tells it."""

from collections.abc import Mapping

from stackplan.actions._foretold import left_open
from stackplan.actions._target import told
from stackplan.model.facts import Answer, Facts, Known, Plain, Query


def installed_answers(
    facts: Facts, build: Query, version: str, release: str, *, link_moves: bool
) -> dict[Query, Answer]:
    """Return the answers about the toolkit's folder, and about the common link where that will lead to it.

    `build` is the question `toolkit_build` as it was asked of the node.
    """
    about = told(facts.answers[build])
    prefix, given, link = str(about["prefix"]), str(build.arguments["prefix"]), str(build.arguments["link"])
    moved = (link,) if link_moves else ()
    answers = left_open(facts, given, prefix, *moved, why="it depends on what the toolkit's installer puts there")
    for query, answer in facts.of_kind("link_end"):
        if query.arguments["path"] == link and isinstance(answer, Known):
            # The action puts the link back where it led; what it is to lead to is a folder that the installer makes.
            answers[query] = Known({**told(answer), "kind": "link", "leads_to": prefix}) if link_moves else answer
    for query in answers:
        if query.kind == "nvcc" and _folder(query) in (given, prefix, *moved):
            answers[query] = Known(_compiler(told(facts.answers[query]), query, release))
        elif query.kind == "toolkit_build" and _folder(query) in (given, prefix):
            answers[query] = Known(_built(told(facts.answers[query]), version, prefix if link_moves else None))
    return answers


def _folder(query: Query) -> str:
    """Return the toolkit's folder that a question names by itself or by its compiler."""
    named = query.arguments.get("prefix") or str(query.arguments.get("path")).removesuffix("/bin/nvcc")
    return str(named).rstrip("/")


def _compiler(before: Mapping[str, Plain], query: Query, release: str) -> dict[str, Plain]:
    path = before.get("path") or f"{_folder(query)}/bin/nvcc"
    return {**before, "path": path, "exists": True, "leads_to": None, "release": release, "version": None}


def _built(before: Mapping[str, Plain], version: str, leads_to: str | None) -> dict[str, Plain]:
    after = {**before, "exists": True, "version": version if version.count(".") == 2 else None}
    link = before.get("link")
    if leads_to is not None and isinstance(link, dict):
        after["link"] = {**link, "kind": "link", "target": leads_to, "leads_to": leads_to}
    return after
