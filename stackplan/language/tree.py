"""From text to a tree whose every part knows its line and column; nothing here knows what a playbook is.

The tree is built from the parser's events one by one, so that no depth, alias or cycle of a hostile file can exhaust
anything. Scalars stay as they were written: `13.0`, `0644` and `on` are texts here, and become later what their field
wants.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
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
_UNREADABLE = regular("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
# Line ends are LF or CR LF: what else YAML 1.1 takes for one (CR alone, NEL, LS, PS) would shift all later positions.
_RETURN_ALONE = regular("\r(?!\n)")
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
    # Not one expression for both: it would look at each character for either.
    wrong = [_UNREADABLE.search(text), _RETURN_ALONE.search(text) if "\r" in text else None]
    if match := min(filter(None, wrong), key=re.Match.start, default=None):
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
    root = builder.root
    if root is None:
        raise Invalid([Diagnosis(summary="the file is empty", expected="a YAML mapping", at=Location(path, 1, 1))])
    return root


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
    """A collection whose end has not come yet: `parts` are its items, or its keys with their values.

    A mapping alone has `names`, and a `key` that waits for its value.
    """

    at: Location
    anchor: str | None
    parts: list[Any]
    names: dict[str, Location] | None
    key: YamlScalar | None = None
    waiting: bool = False


class _Builder:
    """Puts the parser's events together; collects what is wrong and stops only where going on makes no sense."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.diagnoses: list[Diagnosis] = []
        # The document stands as a list around all that is open in it.
        self._open = [_Open(Location(path, 1, 1), None, [], None)]
        self._anchored: dict[str, Tree | None] = {}
        self._aliased = 0
        self._documents = 0

    @property
    def root(self) -> Tree | None:
        """The whole, once it has been taken; None of an empty file."""
        return next(iter(self._open[0].parts), None)

    def take_all(self, events: Iterable[Any]) -> None:
        path, opened = self.path, self._open
        for event in events:
            kind = type(event)
            tree: Tree | None
            if kind is _SCALAR:
                mark, style = event.start_mark, event.style
                tree = YamlScalar(event.value, Location(path, mark.line + 1, mark.column + 1), bool(style))
                if style == '"' or event.tag is not None or event.anchor is not None:
                    self._examine(tree, event)
            elif kind is _MAPPING or kind is _SEQUENCE:
                self._start(event)
                continue
            elif kind is _MAPPING_END or kind is _SEQUENCE_END:
                tree = self._ended()
            else:
                tree = self._other(event)
                if tree is None:
                    continue
            parent = opened[-1]
            if parent.names is None:
                parent.parts.append(tree)
            elif parent.waiting:
                parent.waiting = False
                if parent.key is not None:
                    parent.parts.append((parent.key, tree))
            else:
                parent.waiting = True
                parent.key = self._key(parent.names, tree, event)

    def _place(self, event: yaml.Event) -> Location:
        return marked(event.start_mark, self.path)

    def _fault(self, summary: str, event: yaml.Event, **words: str | None) -> Diagnosis:
        return Diagnosis(summary=summary, at=self._place(event), **words)  # type: ignore[arg-type]

    def _other(self, event: yaml.Event) -> Tree | None:
        """Return what an alias repeats; every other event holds no part of the tree."""
        if type(event) is yaml.DocumentStartEvent:
            self._documents += 1
            if self._documents > 1:
                remedy = "keep one document a file; `include` others"
                raise _Hopeless(self._fault("a second document begins here", event, remedy=remedy))
        return self._repeated(event) if isinstance(event, yaml.AliasEvent) else None

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
            self._anchored[event.anchor] = scalar

    def _tag(self, event: yaml.ScalarEvent | yaml.MappingStartEvent | yaml.SequenceStartEvent) -> Diagnosis:
        shown = str(event.tag).replace("tag:yaml.org,2002:", "!!")
        return self._fault(
            f"the tag `{shown}` is not read", event, remedy="take it away: a field says itself what it holds"
        )

    def _start(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        opened, anchor = self._open, event.anchor
        if len(opened) > DEEPEST:
            expected = f"at most {DEEPEST} levels"
            raise _Hopeless(self._fault("lists and mappings are nested too deeply here", event, expected=expected))
        if event.tag is not None and event.tag not in _COLLECTION_TAGS:
            self.diagnoses.append(self._tag(event))
        if opened[-1].names is not None and not opened[-1].waiting:
            self._refuse_as_key(event, opened[-1])
        if anchor is not None:
            self._anchored[anchor] = None
        opened.append(_Open(self._place(event), anchor, [], {} if type(event) is _MAPPING else None))

    def _refuse_as_key(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent, parent: _Open) -> None:
        at = self._place(event)
        if event.flow_style and (at.line, at.column) == (parent.at.line, parent.at.column + 1):
            remedy = 'put the template in quotes: "{{ name }}"'
            raise _Hopeless(Diagnosis(summary="a template without quotes is not a text", at=parent.at, remedy=remedy))
        kind = "mapping" if isinstance(event, yaml.MappingStartEvent) else "list"
        raise _Hopeless(self._fault(f"a {kind} cannot be a key", event, expected="a text"))

    def _ended(self) -> Tree:
        done = self._open.pop()
        parts = tuple(done.parts)
        tree = YamlSequence(parts, done.at) if done.names is None else YamlMapping(parts, done.at)
        if done.anchor is not None:
            self._anchored[done.anchor] = tree
        return tree

    def _repeated(self, event: yaml.AliasEvent) -> Tree:
        if event.anchor not in self._anchored:
            raise _Hopeless(self._fault(f"there is no anchor `&{event.anchor}` before this alias", event))
        tree = self._anchored[event.anchor]
        if tree is None:
            summary = f"the alias `*{event.anchor}` stands inside of what it repeats"
            raise _Hopeless(self._fault(summary, event, remedy="write out what is meant"))
        self._aliased += _size(tree, MOST_ALIASED + 1)
        if self._aliased > MOST_ALIASED or len(self._open) - 1 + _depth(tree) > DEEPEST:
            expected = f"aliases that add at most {MOST_ALIASED} parts to the file"
            raise _Hopeless(self._fault("the aliases of this file expand to too much", event, expected=expected))
        return tree

    def _key(self, names: dict[str, Location], tree: Tree, event: yaml.Event) -> YamlScalar | None:
        """Return what can be a key in a mapping that has these `names`, or None where it cannot: its value is read, and
        then left out.
        """
        if type(tree) is YamlScalar and (tree.quoted or tree.text not in _NO_KEYS) and tree.text not in names:
            names[tree.text] = tree.at
            return tree
        if not isinstance(tree, YamlScalar):
            self.diagnoses.append(self._fault("what this alias repeats cannot be a key", event, expected="a text"))
        elif not tree.quoted and tree.text == "<<":
            remedy = "write the keys out, or put them into `defaults` or `vars`"
            self.diagnoses.append(Diagnosis(summary="merge keys are not read", at=tree.at, remedy=remedy))
        elif not tree.quoted and tree.text == "":
            self.diagnoses.append(Diagnosis(summary="a key is missing before this colon", at=tree.at))
        else:
            first = names[tree.text]
            summary = f"`{tree.text}` stands twice in this mapping"
            where = f"the first one stands at {first.line}:{first.column}"
            remedy = "keep one of the two"
            self.diagnoses.append(Diagnosis(summary=summary, at=tree.at, observed=where, remedy=remedy))
        return None


def _parts(tree: Tree) -> Iterable[Tree]:
    if isinstance(tree, YamlMapping):
        return (part for entry in tree.entries for part in entry)
    return tree.items if isinstance(tree, YamlSequence) else ()


def _size(tree: Tree, most: int) -> int:
    """Return of how many parts a tree is made, itself among them, or `most` where there are at least so many."""
    size = 1
    for part in _parts(tree):
        if size >= most:
            break
        size += _size(part, most - size)
    return size


def _depth(tree: Tree) -> int:
    """Return how many lists and mappings stand in each other at the deepest place of a tree."""
    if isinstance(tree, (YamlScalar, YamlValue)):
        return 0
    return 1 + max(map(_depth, _parts(tree)), default=0)
