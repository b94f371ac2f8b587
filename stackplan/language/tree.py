"""From text to a tree whose every part knows its line and column; nothing here knows what a playbook is.

The tree is built from the parser's events one by one, so that no depth, alias or cycle of a hostile file can exhaust
anything. Scalars stay as they were written: `13.0`, `0644` and `on` are texts here, and become later what their field
wants.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from stackplan.language import source
from stackplan.language.complaint import marked, worded
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location
from stackplan.model.regular import regular
from stackplan.model.secret import Secret

LARGEST_BYTES = 1024 * 1024
DEEPEST = 64
MOST_ALIASED = 20_000
"""Parts that aliases may add to a file all together: an "alias bomb" asks for billions."""

_LONGEST_NAME = 300
"""Characters of a path that a message still shows, so that the reason after it is seen."""

_LFS_POINTER = "version https://git-lfs.github.com/spec/"

_OURS = regular(r"^<{7} ", re.MULTILINE)
_THEIRS = regular(r"^>{7} ", re.MULTILINE)

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Line ends are LF or CR LF: what else YAML 1.1 takes for one (CR alone, NEL, LS, PS) would shift all later positions.
_READABLE = "\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff"
_UNREADABLE = f"[^{_READABLE}]|\r(?!\n)"
_UNREADABLE_ASCII = regular("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)")
"""The same of a text that is ASCII alone: the set of all readable characters takes a while to compile."""
_SURROGATE_OR_NUL = regular("[\x00\ud800-\udfff]")
_TEXT_TAGS = {"!", "tag:yaml.org,2002:str"}
_COLLECTION_TAGS = {"!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}
_SCALAR = yaml.ScalarEvent
_MAPPING, _MAPPING_END = yaml.MappingStartEvent, yaml.MappingEndEvent
_SEQUENCE, _SEQUENCE_END = yaml.SequenceStartEvent, yaml.SequenceEndEvent
_NO_KEYS = {"", "<<"}
_NULLS = {"", "~", "null", "Null", "NULL"}


# A large file has a hundred thousand of these parts, and making a frozen one takes three times as long. Nothing changes
# a part once it stands in a tree.
@dataclass(slots=True, unsafe_hash=True)
class YamlScalar:
    """A scalar as it was written; `quoted` also of block scalars and of those tagged `!!str`."""

    text: str
    at: Location
    quoted: bool = False

    @property
    def is_null(self) -> bool:
        return not self.quoted and self.text in _NULLS


@dataclass(slots=True, unsafe_hash=True)
class YamlSequence:
    items: "tuple[Tree, ...]"
    at: Location


@dataclass(slots=True, unsafe_hash=True)
class YamlMapping:
    entries: "tuple[tuple[YamlScalar, Tree], ...]"
    at: Location

    def get(self, key: str) -> "Tree | None":
        for name, value in self.entries:
            if name.text == key:
                return value
        return None

    def key_at(self, key: str) -> Location:
        """Return where the key stands, or where the mapping begins when it is not in it."""
        return next((name.at for name, _ in self.entries if name.text == key), self.at)


@dataclass(slots=True, unsafe_hash=True)
class YamlValue:
    """A scalar after it was read: what its field wanted (`language.reading`)."""

    value: bool | int | float | str | Secret | None
    at: Location


Tree: TypeAlias = YamlScalar | YamlValue | YamlSequence | YamlMapping


def read(path: Path, *, named: str | None = None) -> Tree:
    """Return the tree of a file, its locations bearing `named`. Raise Invalid for what cannot be read."""
    name = named or str(path)
    return read_text(decode(read_bytes(path, name), name), name)


def read_bytes(path: Path, named: str) -> bytes:
    """Return the bytes of a file of bounded size. Raise Invalid when there is none that can be read."""
    data = read_start(path, named, LARGEST_BYTES + 1)
    if len(data) > LARGEST_BYTES:
        remedy = "move steps to a file of their own and `include` it"
        summary = f"`{named}` is too large to be a playbook, an inventory or a file of variables"
        raise Invalid([Diagnosis(summary=summary, expected="at most 1 MiB", at=Location(named, 1, 1), remedy=remedy)])
    return data


def read_start(path: Path, named: str, size: int) -> bytes:
    """Return the first `size` bytes of a file. Raise Invalid when it cannot be read, or is none: a pipe, a device.

    What the shell hands over (`/dev/stdin`, `<(…)`) may be a pipe: there is somebody at its other end.
    """
    named = named if len(named) <= _LONGEST_NAME else f"{named[:_LONGEST_NAME]}…"
    handed_over = str(path) == "/dev/stdin" or str(path).startswith(("/dev/fd/", "/proc/self/fd/"))
    try:
        with open(path, "rb", opener=os.open if handed_over else _open_at_once) as file:
            mode = os.fstat(file.fileno()).st_mode
            if not (stat.S_ISREG(mode) or (handed_over and not stat.S_ISDIR(mode))):
                raise Invalid([Diagnosis(summary=f"`{named}` is not a file", expected="a regular file")])
            return file.read(size)
    except FileNotFoundError:
        raise Invalid([Diagnosis(summary=f"there is no file `{named}`")]) from None
    except IsADirectoryError:
        raise Invalid([Diagnosis(summary=f"`{named}` is a folder", expected="a YAML file")]) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Invalid([Diagnosis(summary=f"`{named}` cannot be read: {reason}")]) from error


def _open_at_once(path: str, flags: int) -> int:
    # A named pipe that nobody writes to would be waited for.
    return os.open(path, flags | os.O_NONBLOCK)


def decode(data: bytes, named: str) -> str:
    """Return the text of UTF-8 bytes. Raise Invalid with the place of the first byte or character that is not text."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        summary = "the file is not UTF-8 from here on"
        remedy = "save it as UTF-8 without a byte order mark"
        observed = f"the byte 0x{data[error.start]:02x}"
        diagnosis = Diagnosis(
            summary=summary, expected="UTF-8", observed=observed, at=_at(before, named), remedy=remedy
        )
        raise Invalid([diagnosis]) from error
    text = text.removeprefix("\ufeff")
    if text.startswith(_LFS_POINTER):
        summary = f"`{named}` is a pointer of Git LFS, in the place of the file"
        raise Invalid([Diagnosis(summary=summary, remedy="fetch it with `git lfs pull`, or take it out of LFS")])
    if match := _UNREADABLE_ASCII.search(text) if text.isascii() else re.search(_UNREADABLE, text):
        summary = "a control character stands here"
        observed = f"U+{ord(match[0]):04X}"
        remedy = 'remove it, or write it as an escape in double quotes, such as "\\x1b"'
        diagnosis = Diagnosis(summary=summary, observed=observed, at=_at(text[: match.start()], named), remedy=remedy)
        raise Invalid([diagnosis])
    return text


def read_text(text: str, path: str) -> Tree:
    """Return the tree of a text. Raise Invalid with every fault of its structure, each at its place."""
    if (match := _OURS.search(text)) and _THEIRS.search(text, match.end()):
        summary, remedy = "a merge conflict is not resolved here", "keep one of the two, and remove git's markers"
        diagnosis = Diagnosis(summary=summary, at=_at(text[: match.start()], path), remedy=remedy)
        raise source.invalid([diagnosis], {path: source.lines(text)})
    builder = _Builder(path)
    try:
        builder.take_all(_events(text))
    except yaml.MarkedYAMLError as error:
        # What was noticed before the parser gave up is worth saying as well.
        builder.diagnoses.append(worded(error, text, path))
    except yaml.YAMLError as error:
        builder.diagnoses.append(Diagnosis(summary=f"this is not YAML: {error}", at=Location(path, 1, 1)))
    except _Hopeless as error:
        builder.diagnoses.append(error.diagnosis)
    if builder.diagnoses:
        raise source.invalid(builder.diagnoses, {path: source.lines(text)})
    if builder.root is None:
        raise Invalid([Diagnosis(summary="the file is empty", expected="a YAML mapping", at=Location(path, 1, 1))])
    return builder.root


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment without its `#` and the blanks around it; `alone` when nothing else stands on its line."""

    text: str
    at: Location
    alone: bool


def comments(lines: Sequence[str], path: str) -> tuple[Comment, ...]:
    """Return the comments of a text in which there is nothing wrong, in its order.

    A `#` in a value is none: comments are what stands between the parser's tokens, and behind the mark of a block.
    """
    found: list[Comment] = []
    line, column = 0, 0
    for token in yaml.scan("\n".join(lines), Loader=_LOADER):
        found += _between(lines, path, (line, column), (token.start_mark.line, token.start_mark.column))
        if isinstance(token, yaml.ScalarToken) and token.style in ("|", ">"):
            head = token.start_mark.line
            found += _between(lines, path, (head, token.start_mark.column), (head, len(lines[head])))
        line, column = token.end_mark.line, token.end_mark.column
    return tuple(found)


def _between(lines: Sequence[str], path: str, start: tuple[int, int], end: tuple[int, int]) -> Iterator[Comment]:
    for number in range(start[0], min(end[0], len(lines) - 1) + 1):
        first = start[1] if number == start[0] else 0
        last = end[1] if number == end[0] else len(lines[number])
        column = lines[number].find("#", first, last)
        if column >= 0:
            alone = not lines[number][:column].strip()
            yield Comment(lines[number][column + 1 :].strip(), Location(path, number + 1, column + 1), alone)


def _events(text: str) -> Iterator[yaml.Event]:
    loader = _LOADER(text)
    # Not by `yaml.parse`, which steps into Python twice for each of them.
    events: Iterator[yaml.Event] = iter(loader.get_event, None)
    return events


def _at(before: str, path: str) -> Location:
    """Return the location of what follows the text `before`."""
    return Location(path, before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)


class _Hopeless(Exception):
    """Reading cannot go on after this; never leaves the module."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        self.diagnosis = diagnosis
        super().__init__(diagnosis.summary)


@dataclass(slots=True)
class _Open:
    """A collection whose end has not come yet; `key` waits for its value. `size` and `depth` are those of its parts."""

    at: Location
    anchor: str | None
    mapping: bool
    items: list[Tree] = field(default_factory=list)
    entries: list[tuple[YamlScalar, Tree]] = field(default_factory=list)
    names: dict[str, Location] = field(default_factory=dict)
    key: YamlScalar | None = None
    waiting: bool = False
    size: int = 1
    depth: int = 0


@dataclass(frozen=True, slots=True)
class _Anchored:
    tree: Tree
    size: int
    depth: int


class _Builder:
    """Puts the parser's events together; collects what is wrong and stops only where going on makes no sense."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.diagnoses: list[Diagnosis] = []
        self.root: Tree | None = None
        self._open: list[_Open] = []
        self._anchored: dict[str, _Anchored | None] = {}
        self._aliased = 0
        self._documents = 0

    def take_all(self, events: Iterable[Any]) -> None:
        path, add = self.path, self._add
        for event in events:
            kind = type(event)
            if kind is _SCALAR:
                mark, style = event.start_mark, event.style
                scalar = YamlScalar(event.value, Location(path, mark.line + 1, mark.column + 1), bool(style))
                if style == '"' or event.tag is not None or event.anchor is not None:
                    self._examine(scalar, event)
                add(scalar, 1, 0)
            elif kind is _MAPPING or kind is _SEQUENCE:
                self._start(event)
            elif kind is _MAPPING_END or kind is _SEQUENCE_END:
                self._end()
            elif kind is yaml.AliasEvent:
                self._alias(event)
            elif kind is yaml.DocumentStartEvent:
                self._documents += 1
                if self._documents > 1:
                    remedy = "keep one document a file; `include` others"
                    raise _Hopeless(self._fault("a second document begins here", event, remedy=remedy))

    def _place(self, event: yaml.Event) -> Location:
        return marked(event.start_mark, self.path)

    def _fault(self, summary: str, event: yaml.Event, **words: str | None) -> Diagnosis:
        return Diagnosis(summary=summary, at=self._place(event), **words)  # type: ignore[arg-type]

    def _examine(self, scalar: YamlScalar, event: yaml.ScalarEvent) -> None:
        """See to what few scalars have: a tag, an anchor, or a character that was written as an escape."""
        if event.tag is not None:
            scalar.quoted = True
            if event.tag not in _TEXT_TAGS:
                self.diagnoses.append(self._tag(event))
        if event.style == '"' and _SURROGATE_OR_NUL.search(scalar.text):
            summary = "this text holds a character that no file or terminal can take"
            self.diagnoses.append(self._fault(summary, event, remedy="remove the escape such as `\\0` or `\\ud800`"))
            scalar.text = ""
        if event.anchor is not None:
            self._anchored[event.anchor] = _Anchored(scalar, 1, 0)

    def _tag(self, event: yaml.ScalarEvent | yaml.MappingStartEvent | yaml.SequenceStartEvent) -> Diagnosis:
        shown = str(event.tag).replace("tag:yaml.org,2002:", "!!")
        return self._fault(
            f"the tag `{shown}` is not read", event, remedy="take it away: a field says itself what it holds"
        )

    def _start(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        if len(self._open) >= DEEPEST:
            expected = f"at most {DEEPEST} levels"
            raise _Hopeless(self._fault("lists and mappings are nested too deeply here", event, expected=expected))
        if event.tag is not None and event.tag not in _COLLECTION_TAGS:
            self.diagnoses.append(self._tag(event))
        parent = self._open[-1] if self._open else None
        if parent is not None and parent.mapping and not parent.waiting:
            self._refuse_as_key(event, parent)
        if event.anchor is not None:
            self._anchored[event.anchor] = None
        self._open.append(_Open(self._place(event), event.anchor, type(event) is _MAPPING))

    def _refuse_as_key(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent, parent: _Open) -> None:
        at = self._place(event)
        if event.flow_style and (at.line, at.column) == (parent.at.line, parent.at.column + 1):
            remedy = 'put the template in quotes: "{{ name }}"'
            raise _Hopeless(Diagnosis(summary="a template without quotes is not a text", at=parent.at, remedy=remedy))
        kind = "mapping" if isinstance(event, yaml.MappingStartEvent) else "list"
        raise _Hopeless(self._fault(f"a {kind} cannot be a key", event, expected="a text"))

    def _end(self) -> None:
        done = self._open.pop()
        tree: Tree
        tree = YamlMapping(tuple(done.entries), done.at) if done.mapping else YamlSequence(tuple(done.items), done.at)
        if done.anchor is not None:
            self._anchored[done.anchor] = _Anchored(tree, done.size, done.depth)
        self._add(tree, done.size, done.depth)

    def _alias(self, event: yaml.AliasEvent) -> None:
        if event.anchor not in self._anchored:
            raise _Hopeless(self._fault(f"there is no anchor `&{event.anchor}` before this alias", event))
        anchored = self._anchored[event.anchor]
        if anchored is None:
            summary = f"the alias `*{event.anchor}` stands inside of what it repeats"
            raise _Hopeless(self._fault(summary, event, remedy="write out what is meant"))
        self._aliased += anchored.size
        if self._aliased > MOST_ALIASED or len(self._open) + anchored.depth > DEEPEST:
            expected = f"aliases that add at most {MOST_ALIASED} parts to the file"
            raise _Hopeless(self._fault("the aliases of this file expand to too much", event, expected=expected))
        self._add(anchored.tree, anchored.size, anchored.depth, event)

    def _add(self, tree: Tree, size: int, depth: int, alias: yaml.AliasEvent | None = None) -> None:
        if not self._open:
            self.root = tree
            return
        parent = self._open[-1]
        parent.size += size
        if parent.depth <= depth:
            parent.depth = depth + 1
        if not parent.mapping:
            parent.items.append(tree)
        elif not parent.waiting:
            self._key(parent, tree, alias)
        else:
            if parent.key is not None:
                parent.entries.append((parent.key, tree))
            parent.key, parent.waiting = None, False

    def _key(self, parent: _Open, tree: Tree, alias: yaml.AliasEvent | None) -> None:
        parent.waiting = True
        if type(tree) is YamlScalar and (tree.quoted or tree.text not in _NO_KEYS) and tree.text not in parent.names:
            parent.names[tree.text] = tree.at
            parent.key = tree
        else:
            self._refused(parent, tree, alias)

    def _refused(self, parent: _Open, tree: Tree, alias: yaml.AliasEvent | None) -> None:
        """Note why something cannot be a key; its value is read, and then left out."""
        if not isinstance(tree, YamlScalar):
            assert alias is not None
            self.diagnoses.append(self._fault("what this alias repeats cannot be a key", alias, expected="a text"))
        elif not tree.quoted and tree.text == "<<":
            remedy = "write the keys out, or put them into `defaults` or `vars`"
            self.diagnoses.append(Diagnosis(summary="merge keys are not read", at=tree.at, remedy=remedy))
        elif not tree.quoted and tree.text == "":
            self.diagnoses.append(Diagnosis(summary="a key is missing before this colon", at=tree.at))
        else:
            first = parent.names[tree.text]
            summary = f"`{tree.text}` stands twice in this mapping"
            where = f"the first one stands at {first.line}:{first.column}"
            remedy = "keep one of the two"
            self.diagnoses.append(Diagnosis(summary=summary, at=tree.at, observed=where, remedy=remedy))
