"""Requirements as a playbook states them: checked before a node is asked, each error with the edit that mends it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from stackplan.actions._sources import guarded, without_credentials
from stackplan.model.arguments import Arguments
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.secret import Secret, Text, reveal

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
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
    """One thing to install. `name` is canonical, None for a path or a bare address, which say it only when opened."""

    text: Text
    name: str | None

    @property
    def requirement(self) -> Requirement | None:
        return Requirement(reveal(self.text)) if self.name is not None else None

    @property
    def shown(self) -> str:
        return without_credentials(self.text) if isinstance(self.text, str) else str(self.text)


def read_wanted(arguments: Arguments, key: str = "packages") -> tuple[Wanted, ...]:
    """Return the requirements at `key`, or raise Invalid with one error for each that is none."""
    found, wrong = [], []
    for index, text in enumerate(arguments.secret_texts(key)):
        place = arguments.place(key, index)
        plain = reveal(text).strip()
        fault = _fault(plain)
        if fault is not None:
            summary, remedy = fault
            observed = str(text) if isinstance(text, Secret) else without_credentials(plain)
            wrong.append(Diagnosis(summary=summary, observed=observed, at=place, remedy=remedy))
            continue
        name = None if is_place(plain) else canonicalize_name(Requirement(plain).name)
        found.append(Wanted(guarded(plain) if isinstance(text, str) else Secret(plain), name))
    if wrong:
        raise Invalid(wrong)
    return tuple(found)


def read_names(arguments: Arguments, key: str) -> tuple[str, ...]:
    """Return the canonical names at `key`, or raise Invalid with one error for each that is no bare name."""
    found, wrong = [], []
    for index, text in enumerate(arguments.texts(key)):
        if _NAME.fullmatch(text):
            found.append(canonicalize_name(text))
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


def _fault(text: str) -> tuple[str, str | None] | None:
    """Return what is wrong with a requirement and how to mend it, or None when nothing is."""
    if not text:
        return "an empty requirement", "remove it"
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        return "a requirement holds a line break or another control character", "write one requirement an item"
    if text.startswith("-"):
        option = re.split(r"[= ]", text, maxsplit=1)[0]
        remedy = (
            f"write `{_FIELD_OF[option]}` on the action" if option in _FIELD_OF else "use the action's own arguments"
        )
        return "a requirement may not begin with `-`: the installer would take it for an option", remedy
    if is_place(text):
        return None
    try:
        Requirement(text)
    except InvalidRequirement as error:
        reason = str(error).splitlines()[0]
        mended = next((candidate for candidate in _candidates(text) if _parses(candidate)), None)
        return f"not a requirement: {reason}", f"write {mended}" if mended else None
    return None


def _candidates(text: str) -> Iterator[str]:
    """Yield what may have been meant, likeliest first."""
    name = r"([A-Za-z0-9][A-Za-z0-9._-]*(?:\[[^]]*\])?)"
    yield re.sub(rf"^{name}\s*=\s*(?=[^=\s])", r"\1==", text)
    yield re.sub(rf"^{name}\s+(?=\d)", r"\1==", text)
    yield re.sub(rf"^{name}\s*@\s*(?=v?\d)", r"\1==", text)
    yield re.sub(rf"^{name}\s*:\s*(?=\d)", r"\1==", text)
    # A local label goes with == alone; `>=2.11+cu130` has no meaning in PEP 440.
    yield re.sub(r"(>=|<=|~=|>|<)\s*(?=[^,;]*\+)", "==", text)
    yield re.sub(r"(?<=[\w.*])\s*(?=(>=|<=|==|!=|~=|>|<))(?!^)", ",", re.sub(rf"^{name}", r"\1 ", text)).replace(
        " ,", "", 1
    )
    yield re.sub(r"\s*=>\s*", ">=", text)
    yield re.sub(r"\s*=<\s*", "<=", text)


def _parses(text: str) -> bool:
    try:
        Requirement(text)
    except InvalidRequirement:
        return False
    return True
