"""Colour, added last: texts are measured and wrapped bare and painted afterwards."""

import enum

from stackplan.model.frozen import dataclass


class Style(enum.Enum):
    """Values are the numbers of the terminal's own palette, so that a user's theme stays in force."""

    GOOD = "32"
    BAD = "1;31"
    CHANGE = "33"
    UNSURE = "35"
    STRONG = "1"
    FAINT = "2"
    PLAIN = ""


@dataclass(frozen=True, slots=True)
class Paint:
    colour: bool

    def __call__(self, style: Style, text: str) -> str:
        """Return `text` in `style`, or as it is when there is no colour."""
        if not self.colour or not text or style is Style.PLAIN:
            return text
        return f"\x1b[{style.value}m{text}\x1b[0m"
