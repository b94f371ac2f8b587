"""Addresses that may hold a user and a password, and what may be shown of them."""

import re
from urllib.parse import urlsplit

from stackplan.model.arguments import Arguments
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.frozen import dataclass
from stackplan.model.regular import regular
from stackplan.model.secret import MASK, Secret, Text, Unread, reveal, without_passwords

_LABEL = regular(r"/(cu\d{2,4}|cpu|xpu|rocm[\d.]+)/?$")


@dataclass(frozen=True, slots=True)
class Address:
    """`text` is a Secret when it came from one or holds a password: then it may reach neither an argv nor a log."""

    text: Text
    shown: str

    @property
    def secret(self) -> bool:
        return isinstance(self.text, Secret)

    @property
    def label(self) -> str | None:
        """The build label that an index is for, by the custom of torch's own indexes: `…/whl/cu130` is for cu130."""
        match = _LABEL.search(self._path)
        return match[1] if match else None

    @property
    def file_name(self) -> str:
        return self._path.rpartition("/")[2]

    @property
    def _path(self) -> str:
        try:
            return urlsplit(reveal(self.text)).path
        except ValueError:
            # No other text is taken for an address that is none.
            assert isinstance(self.text, Unread)
            return ""


def address(text: Text) -> Address:
    if isinstance(text, Secret):
        return Address(text, MASK)
    return Address(guarded(text), without_passwords(text))


def guarded(text: str) -> Text:
    """Return `text` as a Secret when an address in it holds a password or a token."""
    return Secret(text) if without_passwords(text) != text else text


def read_addresses(
    arguments: Arguments, key: str, *, schemes: tuple[str, ...] = ("https", "http")
) -> tuple[Address, ...]:
    """Return the addresses at `key`, or raise Invalid with one error for each that is none."""
    found = arguments.secret_texts(key)
    wrong = []
    for index, text in enumerate(found):
        if not isinstance(text, Unread) and (why := _fault(reveal(text), schemes)) is not None:
            expected = f"an address that begins with {schemes[0]}://"
            place = arguments.place(key, index)
            wrong.append(Diagnosis(summary=f"`{key}` {why}", expected=expected, observed=address(text).shown, at=place))
    if wrong:
        raise Invalid(wrong)
    return tuple(address(text) for text in found)


def read_address(arguments: Arguments, key: str) -> Address:
    """Return the one address at `key`. Raise Invalid when there is none, or several."""
    arguments.secret_text(key)
    return read_addresses(arguments, key)[0]


def _fault(text: str, schemes: tuple[str, ...]) -> str | None:
    if re.search(r"\s", text):
        return "holds white space"
    try:
        parts = urlsplit(text)
    except ValueError:
        return "is not an address"
    if parts.scheme not in schemes:
        return f"is not an address of {' or '.join(schemes)}"
    return None if parts.hostname else "names no host"
