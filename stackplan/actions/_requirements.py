"""Requirements as a playbook states them: checked before a node is asked, each error with the edit that mends it."""

import re
from collections.abc import Iterator
from functools import lru_cache

from stackplan.actions._sources import guarded
from stackplan.model.arguments import Arguments
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.frozen import dataclass
from stackplan.model.pep503 import canonical_name
from stackplan.model.pep508 import InvalidRequirement, Requirement, requirement
from stackplan.model.regular import regular
from stackplan.model.secret import Secret, Text, Unread, reveal, without_passwords

_NAME = regular(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_RANGE = regular(r"[<>=!~]=|[<>]")
_CONTROL = regular(r"[\x00-\x1f\x7f]")
_FIELD_OF = {
    "-U": "upgrade: true",
    "--upgrade": "upgrade: true",
    "--index-url": "index_url: …",
    "-i": "index_url: …",
    "--extra-index-url": "extra_index_urls: […]",
    "--force-reinstall": "reinstall: true",
    "--reinstall": "reinstall: true",
    "--pre": "prerelease: allow",
    "--no-deps": "no_deps: true",
    "-r": "requirements: …",
    "-c": "constraints: …",
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """One thing to install. `name` is canonical, None for a path or a bare address, which say it only when opened,
    and where a secret that is not read is a part of it.
    """

    text: Text
    shown: str
    name: str | None

    @property
    def requirement(self) -> Requirement | None:
        return requirement(reveal(self.text)) if self.name is not None else None


def read_wanted(arguments: Arguments, key: str = "packages") -> tuple[Wanted, ...]:
    """Return the requirements at `key`, or raise Invalid with one error for each that is none."""
    found, wrong = [], []
    for index, text in enumerate(arguments.secret_texts(key)):
        place = arguments.place(key, index)
        plain = reveal(text).strip()
        secret = isinstance(text, Secret)
        shown = str(text) if secret else without_passwords(plain)
        if (fault := _fault(plain)) is not None:
            if isinstance(text, Unread):
                found.append(Wanted(text, shown, None))
                continue
            summary, remedy = fault
            wrong.append(Diagnosis(summary=summary, observed=shown, at=place, remedy=None if secret else remedy))
            continue
        name = None if is_place(plain) else canonical_name(requirement(plain).name)
        found.append(Wanted(type(text)(plain) if isinstance(text, Secret) else guarded(plain), shown, name))
    if wrong:
        raise Invalid(wrong)
    return tuple(found)


def read_names(arguments: Arguments, key: str) -> tuple[str, ...]:
    """Return the canonical names at `key`, or raise Invalid with one error for each that is no bare name."""
    found, wrong = [], []
    for index, text in enumerate(arguments.texts(key)):
        if _NAME.fullmatch(text):
            found.append(canonical_name(text))
            continue
        begin = _NAME.match(text)
        remedy = f"write the name alone: {begin[0]}" if begin and not text.startswith("-") else None
        summary = f"`{key}` takes names of packages, without versions or options"
        wrong.append(Diagnosis(summary=summary, observed=text, at=arguments.place(key, index), remedy=remedy))
    if wrong:
        raise Invalid(wrong)
    return tuple(dict.fromkeys(found))


def is_place(text: str) -> bool:
    """Return whether `text` says where a package lies (a path, an address) rather than what it is called."""
    if " @ " in text or re.match(r"[A-Za-z0-9._-]+(\[[^]]*\])?@", text):
        return False
    return text.startswith(("/", "./", "../", "~/")) or "://" in text or text.endswith((".whl", ".tar.gz", ".zip"))


@lru_cache(maxsize=8192)
def _fault(text: str) -> tuple[str, str | None] | None:
    """Return what is wrong with a requirement and how to mend it, or None when nothing is."""
    if not text:
        return "an empty requirement", "remove it"
    if _CONTROL.search(text):
        return "a requirement holds a line break or another control character", "write one requirement an item"
    if text.startswith("-"):
        option = re.split(r"[= ]", text, maxsplit=1)[0]
        remedy = (
            f"write `{_FIELD_OF[option]}` on the action" if option in _FIELD_OF else "use the action's own arguments"
        )
        return "a requirement may not begin with `-`: the installer would take it for an option", remedy
    if is_place(text) or (reason := _unreadable(text)) is None:
        return None
    if _RANGE.match(text):
        summary = "a version range alone, which belongs to the requirement before it"
        return summary, "put the whole requirement in quotes: in [a, b] a comma begins the next item"
    mended = next((candidate for candidate in _candidates(text) if _unreadable(candidate) is None), None)
    return f"not a requirement: {reason}", f"write {mended}" if mended else None


def _unreadable(text: str) -> str | None:
    """Return why `text` is no requirement, or None when it is one."""
    try:
        found = requirement(text)
    except InvalidRequirement as error:
        return str(error).splitlines()[0]
    if found.url is not None and ":" not in found.url:
        return f"{found.url} is not an address"
    return None


def _candidates(text: str) -> Iterator[str]:
    """Yield what may have been meant, likeliest first."""
    begin = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[^]]*\])?", text)
    if begin is None:
        return
    name, rest = begin[0], text[begin.end() :].strip()
    edits = (
        re.sub(r"^=(?!=)\s*", "==", rest),
        re.sub(r"^[@:]?\s*(?=v?\d)", "==", rest),
        rest.replace("=>", ">=").replace("=<", "<="),
        # A local label goes with == alone; `>=2.11+cu130` has no meaning in PEP 440.
        re.sub(r"(>=|<=|~=|>|<)\s*(?=[^,;]*\+)", "==", rest),
        re.sub(r"(?<=[\w.*])\s*(?=[<>=!~]=|[<>])", ",", rest),
    )
    yield from (name + edit for edit in edits if edit != rest)
