"""`stackplan explain`: the documentation of a kind, from its schema and its docstring, of a code, a rule, or a word."""

import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any

import click

from stackplan.cli.code import Code
from stackplan.cli.codes import CODES
from stackplan.cli.main import COMMANDS
from stackplan.cli.output import result, width
from stackplan.cli.words import WORDS
from stackplan.language import linting, schema
from stackplan.language.nearest import did_you_mean
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.regular import regular
from stackplan.model.review import RuleAbout
from stackplan.model.room import ACTIONS, CONDITIONS
from stackplan.reports.layout import hanging

_WHERE = "`stackplan explain` lists them; of fields of a playbook tells docs/playbook.md, of reports docs/running.md"
_CODE = regular(r"SP\d+", re.IGNORECASE)
ROOMS = (("condition", "conditions", CONDITIONS), ("action", "actions", ACTIONS))


@click.command("explain")
@click.argument("words", nargs=-1, metavar="[KIND|CODE|WORD]...")
def command(words: tuple[str, ...]) -> int:
    """Explain a kind of condition or action, a rule (SP101), another code (SP201), or a word of reports (no-op).

    Several are explained one after the other; several words that are one in reports (not held) are taken for that.
    Without any, list all.
    """
    lines = all_explained(words, width()) if words else [*_overview()]
    result("\n".join(lines) + "\n")
    return 0


def all_explained(words: Sequence[str], cells: int) -> list[str]:
    """Return what there is to say about `words`: as one where that is known, else about each.

    Raise Invalid when one of them is nothing known.
    """
    together = " ".join(words)
    if len(words) == 1 or _spoken(together) in WORDS:
        return explained(together, cells)
    return [line for word in dict.fromkeys(words) for line in [*explained(word, cells), ""]][:-1]


def explained(word: str, cells: int) -> list[str]:
    """Return what there is to say about `word`. Raise Invalid when it is neither a kind nor a code nor a word."""
    if word.upper() in CODES:
        return _code(word.upper(), CODES[word.upper()], cells)
    rules = {it.code: it for it in linting.rules()}
    if word.upper() in rules:
        return _rule(rules[word.upper()], cells)
    pages = [_page(word, title, room, kinds.find(word), cells) for title, room, kinds in ROOMS if word in _words(room)]
    if (spoken := _spoken(word)) in WORDS:
        pages.append(_code(spoken, WORDS[spoken], cells))
    if pages:
        return [line for page in pages for line in [*page, ""]][:-1]
    if _CODE.fullmatch(word):
        raise Invalid([_no_such_code(word.upper(), [*rules, *CODES])])
    known = [*rules, *CODES, *(it for _, room, _ in ROOMS for it in _words(room)), *WORDS]
    summary = f"`{word}` is neither a kind nor a code nor a word of reports"
    raise Invalid([Diagnosis(summary=summary, remedy=_elsewhere(word) or did_you_mean(word, known) or _WHERE)])


def _spoken(word: str) -> str:
    return "-".join(word.lower().replace("_", "-").split())


def _no_such_code(code: str, known: Sequence[str]) -> Diagnosis:
    """Return that there is no such code, and which there are of its hundred."""
    near = sorted(it for it in known if it[:3] == code[:3])
    there = f"of SP{code[2]}xx there are {near[0]} to {near[-1]}; " if near else ""
    remedy = f"{there}`stackplan explain` lists all, docs/reference/ tells of each"
    return Diagnosis(summary=f"there is no code {code}", remedy=remedy)


def _code(word: str, code: Code, cells: int) -> list[str]:
    return [*hanging(f"{word}  ", code.summary, cells), "", *hanging("", code.text, cells)]


def _elsewhere(word: str) -> str | None:
    """Return where a word is told about that names a command or a schema."""
    if word in COMMANDS:
        return f"`stackplan {word} --help` tells about the command"
    return f"`stackplan schema {word}` prints the schema" if word in schema.names() else None


def _rule(rule: RuleAbout, cells: int) -> list[str]:
    lines = [f"{rule.code}  {rule.summary} ({rule.severity.value})", "", *hanging("", rule.text, cells)]
    for which, title in (("bad", "found in"), ("good", "content with")):
        example = linting.example(rule.name, which).splitlines()
        lines += ["", title, *(f"  {line}" for line in example)]
    return lines


def _words(room: str) -> tuple[str, ...]:
    return schema.kinds(room)


def _overview() -> Iterator[str]:
    for title, room, _ in ROOMS:
        yield f"{title.capitalize()}s: {', '.join(_words(room))}"
    yield f"Rules of lint: {', '.join(it.code for it in linting.rules())}"
    yield f"Codes: {', '.join(CODES)}"
    yield f"Words of reports: {', '.join(WORDS)}"
    yield ""
    yield "`stackplan explain WORD` tells about one of them."


def _page(word: str, title: str, room: str, kind: type | None, cells: int) -> list[str]:
    fragment = schema.load(f"{room}/{word}.json")
    lines = [*hanging(f"{word} ({title})  ", str(fragment.get("description", "")), cells), ""]
    if kind is not None and (documentation := inspect.getdoc(kind)):
        lines += [*documentation.splitlines(), ""]
    lines += _arguments(fragment, cells)
    for example in fragment.get("examples", ()):
        lines += ["example", *(f"  {line}" for line in _yaml({word: example})), ""]
    return lines[:-1]


def _arguments(fragment: dict[str, Any], cells: int) -> list[str]:
    properties = fragment.get("properties", {})
    if not properties:
        return []
    required = fragment.get("required", ())
    column = max(len(name) for name in properties)
    lines = ["arguments"]
    for name, about in properties.items():
        text = str(about.get("description", "")) + (" Required." if name in required else "")
        if "enum" in about:
            text += f" One of {', '.join(str(it) for it in about['enum'])}."
        lines += hanging(f"  {name:<{column}}  ", text, cells)
    return [*lines, ""]


def _yaml(value: object) -> list[str]:
    import yaml  # noqa: PLC0415 - for an example alone

    text = yaml.safe_dump([value], sort_keys=False, allow_unicode=True, width=100)
    return str(text).rstrip().splitlines()
