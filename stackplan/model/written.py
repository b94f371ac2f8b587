"""What an action writes and what can be taken back: of such a thing a snapshot is made before."""

import enum

from stackplan.model.frozen import dataclass


class WrittenKind(enum.Enum):
    """An environment is a whole folder, links to it followed; a file is a file or a link, by its own path."""

    ENVIRONMENT = "environment"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A lasting thing on the node. `path` is whole, without `~`; `user` is who writes it, None whoever connects."""

    kind: WrittenKind
    path: str
    user: str | None = None


def environment(path: str) -> tuple[Written, ...]:
    return (Written(kind=WrittenKind.ENVIRONMENT, path=path),)


def file(path: str) -> tuple[Written, ...]:
    return (Written(kind=WrittenKind.FILE, path=path),)
