"""The kind `file`: what stands at a path."""

import stat
from collections.abc import Mapping
from typing import Self

from stackplan.conditions._answers import mapping, matching, one_line, unanswered
from stackplan.model.arguments import Arguments
from stackplan.model.change import Held, State
from stackplan.model.facts import Facts, Plain, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.matcher import Matcher, read_matcher
from stackplan.model.verdict import Verdict, conjunction, held, not_held, unknown

TYPES = ("file", "directory", "symlink", "fifo", "socket", "character-device", "block-device")
_NOT_RECORDED = "its content is secret, and nothing of it is recorded"
_STATED = "the content that is stated"
_CLOSED = "not everybody may read it, and nothing of its content is recorded"


@dataclass(frozen=True, slots=True)
class File(ConditionKind):
    """A path exists or not, and is of a type, mode, owner, group, digest, content, or leads somewhere.

    A link is followed for all but `type: symlink` and `target`; one that leads nowhere does not count as existing. A
    path that may not be looked at is unknown, never absent. `content` is compared up to 1 MiB; `sha256` reads the whole
    file. Of what is only foretold, `exists`, a number or a name may be null: then it is unknown. Of a file to which a
    step of the playbook writes a secret neither content nor digest nor size is shown or kept; of another file that not
    everybody may read neither content nor digest.
    """

    path: str
    exists: bool = True
    type: str | None = None
    mode: int | None = None
    owner: str | None = None
    group: str | None = None
    sha256: str | None = None
    content: Matcher | None = None
    target: str | None = None
    secret: bool = False

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        exists = arguments.flag("exists", default=True)
        for key in ("type", "mode", "owner", "group", "sha256", "content", "target"):
            if not exists and key in arguments:
                raise arguments.invalid(
                    key, f"`{key}` says nothing of what does not exist", remedy=f"take `{key}` away"
                )
        return cls(
            path=arguments.text("path"),
            exists=exists,
            type=arguments.converted("type", _type, f"one of {', '.join(TYPES)}") if "type" in arguments else None,
            mode=arguments.converted("mode", _mode, "an octal mode such as 0644") if "mode" in arguments else None,
            owner=arguments.optional_text("owner"),
            group=arguments.optional_text("group"),
            sha256=arguments.converted("sha256", _digest, "64 hexadecimal digits") if "sha256" in arguments else None,
            content=read_matcher(arguments, "content"),
            target=arguments.optional_text("target"),
            secret=arguments.text("path") in arguments.secret_paths,
        )

    def describe(self) -> str:
        if not self.exists:
            return f"no {self.path}"
        stated = (
            self.type and f"is a {self.type}",
            self.mode is not None and f"has mode {self.mode:04o}",
            self.owner and f"belongs to {self.owner}",
            self.group and f"belongs to group {self.group}",
            self.sha256 and self._digest_text(self.sha256),
            self.content and one_line(matching("content", self.content), 80),
            self.target and f"leads to {self.target}",
        )
        return f"{self.path} {' and '.join(part for part in stated if part) or 'exists'}"

    def _digest_text(self, sha256: str) -> str:
        closed = self.mode is not None and not self.mode & stat.S_IROTH
        return "has the sha256 that is stated" if closed else f"has sha256 {sha256[:12]}…"

    def queries(self) -> tuple[Query, ...]:
        return (self._query,)

    def evaluate(self, facts: Facts) -> Verdict:
        text = self.describe()
        told = mapping(facts[self._query])
        if told is None:
            return unanswered(text, facts[self._query])
        link = told["link"]
        if not self.exists:
            return _absence(text, told)
        if told["exists"] is None and not self._speaks_of_link_alone:
            return unknown(text, why=f"where {self.path} will lead is not known")
        if not told["exists"] and (link is None or not self._speaks_of_link_alone):
            observed = "nothing there" if link is None else f"a link to {link}, which leads nowhere"
            wanted = f"a {self.type}" if self.type else "something there"
            return not_held(text, expected=wanted, observed=observed, evidence=str(told["path"]))
        parts = self._parts(told)
        return conjunction(text, parts) if parts else held(text, observed=_kind(told), evidence=str(told["path"]))

    def state(self, facts: Facts) -> State:
        told = mapping(facts[self._query])
        if told is None or not (told["exists"] or told["link"]):
            return {}
        kept = str(told["modified_ns"]) if _withheld(told) else None
        return {("file", self.path): Held(_summary(told), _fingerprint(told), kept)}

    @property
    def _speaks_of_link_alone(self) -> bool:
        others = (self.mode, self.owner, self.group, self.sha256, self.content)
        asks_link = self.target is not None or self.type == "symlink"
        return asks_link and self.type in (None, "symlink") and all(part is None for part in others)

    @property
    def _private(self) -> str:
        return "is secret" if self.secret else "not everybody may read"

    @property
    def _unrecorded(self) -> str:
        return _NOT_RECORDED if self.secret else _CLOSED

    @property
    def _query(self) -> Query:
        asked = {"sha256": self.sha256 is not None, "content": self.content is not None}
        return Query("file", {"path": self.path, **asked, **({"secret": True} if self.secret else {})})

    def _parts(self, told: Mapping[str, Plain]) -> tuple[Verdict, ...]:
        parts = []
        if self.type is not None:
            parts.append(self._part(f"is a {self.type}", self.type, _kind(told, self.type)))
        if self.target is not None:
            parts.append(self._part(f"leads to {self.target}", self.target, str(told["link"] or "no link")))
        if self.mode is not None:
            parts.append(self._part(f"has mode {self.mode:04o}", f"{self.mode:04o}", str(told["mode"])))
        for key, number, wanted in (("owner", "uid", self.owner), ("group", "gid", self.group)):
            if wanted is not None:
                stated = f"belongs to {key} {wanted}"
                observed = told[number] if wanted.isdigit() else told[key]
                if observed is None:
                    why = f"the {key} that it will have is not known by {'number' if wanted.isdigit() else 'name'}"
                    parts.append(unknown(f"{self.path} {stated}", why=why, expected=wanted))
                else:
                    parts.append(self._part(stated, wanted, str(observed)))
        if self.sha256 is not None:
            parts.append(self._hashed(self.sha256, told))
        if self.content is not None:
            parts.append(self._content(self.content, told))
        return tuple(parts)

    def _part(self, stated: str, expected: str, observed: str) -> Verdict:
        text = f"{self.path} {stated}"
        return (
            held(text, observed=observed)
            if observed == expected
            else not_held(text, expected=expected, observed=observed)
        )

    def _hashed(self, wanted: str, told: Mapping[str, Plain]) -> Verdict:
        found = told["sha256"]
        if not _withheld(told):
            return self._part("has the sha256", wanted, str(found or f"a {_kind(told)}"))
        # The digest of a short text tells the text.
        if found is None:
            return unknown(f"{self.path} has the sha256", why=self._unrecorded, expected=_STATED)
        observed = _STATED if found == wanted else f"another content, which {self._private}"
        return self._part("has the sha256", _STATED, observed)

    def _content(self, wanted: Matcher, told: Mapping[str, Plain]) -> Verdict:
        text = f"{self.path} {one_line(matching('content', wanted), 80)}"
        if told["type"] != "file":
            return not_held(text, expected=wanted.text, observed=f"a {_kind(told)}")
        if told["content_fault"] is not None:
            return unknown(text, why=str(told["content_fault"]), expected=wanted.text)
        if told["content"] is None and "content" in _withheld(told):
            return unknown(text, why=self._unrecorded, expected=wanted.text)
        content = str(told["content"])
        evidence = None if told["utf8"] else "it is not UTF-8"
        if wanted.accepts(content):
            return held(text, observed="it matches", evidence=evidence)
        hidden = self.secret or "content" in _withheld(told)
        observed = f"another content, which {self._private}" if hidden else one_line(content) or "an empty file"
        return not_held(text, expected=wanted.text, observed=observed, evidence=evidence)


def _absence(text: str, told: Mapping[str, Plain]) -> Verdict:
    if told["exists"] is None:
        return not_held(text, expected="nothing there", observed=f"a link to {told['link']}")
    if told["link"] is not None and not told["exists"]:
        return not_held(text, expected="nothing there", observed=f"a link to {told['link']}, which leads nowhere")
    if told["exists"]:
        return not_held(text, expected="nothing there", observed=f"a {_kind(told)}", evidence=str(told["path"]))
    return held(text, observed="nothing there", evidence=str(told["path"]))


def _kind(told: Mapping[str, Plain], wanted: str | None = None) -> str:
    """Return the type of what a path leads to; that of a link itself only when a link is wanted, or leads nowhere."""
    if told["link"] is not None and (wanted == "symlink" or not told["exists"]):
        return "symlink"
    return str(told["type"])


def _summary(told: Mapping[str, Plain]) -> str:
    """Return what stands there, in the words of the actions that write files: one change is to be told once."""
    if told["link"] is not None:
        return f"link to {told['link']}"
    kind = {"file": "file", "directory": "folder"}.get(str(told["type"]), "other")
    text = f"mode {told['mode']}, {told['owner']}:{told['group']}"
    if kind != "file":
        return f"{kind}, {text}"
    size = "" if "size" in _withheld(told) else f", {told['size']} bytes"
    return text + size + (f", sha256 {str(told['sha256'])[:12]}" if told["sha256"] and not _withheld(told) else "")


def _withheld(told: Mapping[str, Plain]) -> tuple[str, ...]:
    """Return the names of what may be used and not kept."""
    names = told.get("withheld")
    return tuple(str(name) for name in names) if isinstance(names, list) else ()


def _fingerprint(told: Mapping[str, Plain]) -> str:
    """Return what tells one content from another; a file too large to be hashed unasked has its size and time."""
    if told.get("type") != "file":
        return ""
    return str(told["sha256"] or f"{told['size']}:{told['modified_ns']}")


def _type(text: str) -> str:
    if text not in TYPES:
        raise ValueError(text)
    return text


def _mode(text: str) -> int:
    mode = int(text, 8)
    if not 0 <= mode <= 0o7777:
        raise ValueError(text)
    return mode


def _digest(text: str) -> str:
    digest = text.strip().lower().removeprefix("sha256:")
    if len(digest) != 64:
        raise ValueError(text)
    int(digest, 16)
    return digest


KIND = File
