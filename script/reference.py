"""Write the files that are made from others, or with `--check` name those that are stale (exit status 1).

Made from the schema fragments and the kinds' docstrings: `schemas/playbook.v1.json` and a page a kind in
`docs/reference/`.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from stackplan.language import schema
from stackplan.model.kind import ACTIONS, CONDITIONS, Room

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
    pages = ROOT / "docs" / "reference"
    index = ["# Reference", "", "Made from the schemas and the kinds themselves by `script/generate`.", ""]
    for title, room, folder in (("Conditions", CONDITIONS, "conditions"), ("Actions", ACTIONS, "actions")):
        index += [f"## {title}", "", "| kind | |", "| --- | --- |"]
        for word in room.builtin():
            fragment = json.loads((ROOT / "schemas" / folder / f"{word}.json").read_text("utf-8"))
            index.append(f"| [`{word}`]({folder}/{word}.md) | {fragment['description']} |")
            yield pages / folder / f"{word}.md", page(word, room, fragment)
        index.append("")
    yield pages / "README.md", "\n".join(index).rstrip() + "\n"


def page(word: str, room: Room, fragment: Json) -> str:
    """Return the page of one kind: what it states, its arguments, examples."""
    lines = [f"# `{word}`", "", str(fragment["description"]), "", *docstring(room.find(word)), ""]
    properties = fragment.get("properties", {})
    assert isinstance(properties, dict)
    if properties:
        lines += ["| argument | |", "| --- | --- |"]
        required = fragment.get("required", [])
        assert isinstance(required, list)
        for name, about in properties.items():
            mark = " (required)" if name in required else ""
            lines.append(f"| `{name}`{mark} | {cell(about)} |")
        lines.append("")
    for example in fragment.get("examples", []):  # type: ignore[attr-defined]
        text = yaml.safe_dump({word: example}, sort_keys=False, allow_unicode=True, width=100).rstrip()
        lines += ["```yaml", f"- {text}".replace("\n", "\n  "), "```", ""]
    return "\n".join(lines).rstrip() + "\n"


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
