"""Write the files that are made from others, or with `--check` name those that are stale (exit status 1).

Made from the schema fragments, the kinds' docstrings and the lint rules: `schemas/playbook.v1.json`, a page a kind in
`docs/reference/`, and `docs/reference/rules.md`; from the cases of `tests/field`: `docs/field.md`.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from stackplan.language import linting, schema
from stackplan.model.room import ACTIONS, CONDITIONS, Room
from tests.field import table

ROOT = Path(__file__).parent.parent
Json = dict[str, object]


def main(arguments: list[str]) -> int:
    files = dict(generated())
    pages = ROOT / "docs" / "reference"
    orphans = [path for path in pages.rglob("*.md") if path not in files]
    stale = [path for path, text in files.items() if not path.exists() or path.read_text("utf-8") != text]
    if "--check" in arguments:
        for path in (*stale, *orphans):
            print(f"{path.relative_to(ROOT)} is stale: run script/generate")
        return 1 if stale or orphans else 0
    for path in orphans:
        path.unlink()
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path], "utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


def generated() -> Iterator[tuple[Path, str]]:
    yield ROOT / "schemas" / "playbook.v1.json", schema.playbook_text()
    yield ROOT / "docs" / "field.md", table.page()
    pages = ROOT / "docs" / "reference"
    index = ["# Reference", "", "Made from the schemas and the kinds themselves by `script/generate`.", ""]
    values = json.loads((ROOT / "schemas" / "values.json").read_text("utf-8"))["$defs"]
    index += ["## Values", "", "| what may stand there | |", "| --- | --- |"]
    index += [f"| {name} | {cell(about)} |" for name, about in values.items()]
    index.append("")
    for title, room, folder in (("Conditions", CONDITIONS, "conditions"), ("Actions", ACTIONS, "actions")):
        index += [f"## {title}", "", "| kind | |", "| --- | --- |"]
        for word in room.builtin():
            fragment = json.loads((ROOT / "schemas" / folder / f"{word}.json").read_text("utf-8"))
            index.append(f"| [`{word}`]({folder}/{word}.md) | {fragment['description']} |")
            yield pages / folder / f"{word}.md", page(word, room, fragment)
        index.append("")
    index += ["## Lint", "", "[All rules](rules.md), by code.", ""]
    yield pages / "rules.md", rules_page()
    yield pages / "README.md", "\n".join(index).rstrip() + "\n"


class Block(str):
    """A text of several lines, which an example shows as a block."""

    __slots__ = ()


yaml.SafeDumper.add_representer(
    Block, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style="|")
)


def page(word: str, room: Room, fragment: Json) -> str:
    """Return the page of one kind: what it states, its arguments, examples."""
    lines = [f"# `{word}`", "", *docstring(room.find(word)), ""]
    properties = fragment.get("properties", {})
    assert isinstance(properties, dict)
    if properties:
        lines += ["| argument | is | |", "| --- | --- | --- |"]
        required = fragment.get("required", [])
        assert isinstance(required, list)
        for name, about in properties.items():
            mark = " (required)" if name in required else ""
            lines.append(f"| `{name}`{mark} | {shape(about)} | {cell(about)} |")
        lines.append("")
    for example in fragment.get("examples", []):  # type: ignore[attr-defined]
        text = yaml.safe_dump({word: blocks(example)}, sort_keys=False, allow_unicode=True, width=100).rstrip()
        lines += ["```yaml", f"- {text}".replace("\n", "\n  "), "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def rules_page() -> str:
    """Return the page of all lint rules: a table, then each with its text and what it finds and does not find."""
    rules = linting.rules()
    lines = [
        "# Lint rules",
        "",
        "Made from the rules themselves by `script/generate`. How to use them: [lint](../lint.md).",
        "",
    ]
    lines += ["| code | severity | finds |", "| --- | --- | --- |"]
    lines += [f"| [{it.code}](#{it.code.lower()}) | {it.severity.value} | {it.summary} |" for it in rules]
    for it in rules:
        lines += [
            "",
            f"## {it.code}",
            "",
            f"**{it.summary[0].upper()}{it.summary[1:]}** ({it.severity.value}).",
            "",
            it.text,
        ]
        for which, title in (("bad", "Found in:"), ("good", "Content with:")):
            lines += ["", title, "", "```yaml", linting.example(it.name, which).rstrip(), "```"]
    return "\n".join(lines) + "\n"


def blocks(value: object) -> object:
    if isinstance(value, dict):
        return {key: blocks(item) for key, item in value.items()}
    if isinstance(value, list):
        return [blocks(item) for item in value]
    return Block(value) if isinstance(value, str) and "\n" in value else value


def shape(about: Json) -> str:
    """Return in a word or two what may stand there: the name of a shared definition, or the schema's own type."""
    if "$ref" in about:
        return str(about["$ref"]).rpartition("/")[2]
    if "enum" in about:
        return "one of these"
    parts = about.get("anyOf")
    if isinstance(parts, list):
        return " or ".join(dict.fromkeys(shape(part) for part in parts))
    if about.get("type") == "array":
        items = about.get("items")
        return f"list of {shape(items)}" if isinstance(items, dict) else "list"
    return "mapping" if about.get("type") == "object" else str(about.get("type", "value"))


def cell(about: Json) -> str:
    text = str(about.get("description", "")).replace("|", "\\|").replace("\n", " ")
    if "enum" in about:
        choices = about["enum"]
        assert isinstance(choices, list)
        text += f" One of {', '.join(f'`{choice}`' for choice in choices)}."
    return text


def docstring(kind: type | None) -> list[str]:
    """Return a docstring's lines without the indentation that its place in the code gave them."""
    text = (kind.__doc__ or "") if kind is not None else ""
    return [line.strip() for line in text.strip().splitlines()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
