"""Secrets are read at the last moment, from the environment, a file or a command, each once."""

import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import ClassVar

from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.frozen import dataclass
from stackplan.model.playbook import Playbook, SecretSource
from stackplan.model.secret import SHORTEST_SECRET, Secret, passwords

_COMMAND_S = 60.0
_LARGEST = 64 * 1024


@dataclass
class Secrets:
    """Reads secrets for all nodes of a run; `read` may be called from any thread.

    Relative paths of files with secrets begin where the variable was written; that one begins at `folder`.
    """

    withheld: ClassVar[bool] = False
    """Whether what `read` returns only stands in for the secrets."""
    presumes: ClassVar[bool] = False
    """Whether a template that cannot be filled in with a stand-in is presumed to yield a text."""
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    folder: Path = field(default_factory=Path)
    _known: dict[SecretSource, Secret] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self, name: str, origin: SecretSource) -> Secret:
        """Return the secret of variable `name`. Raise Invalid, at its place, when there is none."""
        with self._lock:
            if origin not in self._known:
                self._known[origin] = Secret(self._text(name, origin))
            return self._known[origin]

    def revealed(self) -> frozenset[str]:
        """Return every text that was read so far, for redaction."""
        with self._lock:
            return frozenset(secret.reveal() for secret in self._known.values())

    def _text(self, name: str, origin: SecretSource) -> str:
        if origin.env is not None:
            text = self.environment.get(origin.env)
            if text is None:
                raise _missing(
                    name, origin, f"the environment variable {origin.env} is not set", f"export {origin.env}"
                )
        elif origin.file is not None:
            text = _file_text(name, origin, origin.file, self.folder)
        else:
            text = _command_text(name, origin, self.environment)
        if not text:
            raise _missing(name, origin, "what was read is empty", None)
        if len(text.strip()) < SHORTEST_SECRET:
            raise _too_short(name, origin)
        return text


def passwords_in(playbook: Playbook) -> frozenset[str]:
    """Return the passwords that addresses in a playbook hold in clear: they are secrets, too."""
    stated = [*playbook.preconditions]
    values: list[object] = []
    for step in playbook.steps:
        stated += [*step.preconditions, *step.postconditions]
        values += [step.action.arguments.values, step.environment]
    while stated:
        condition = stated.pop()
        stated += condition.operands
        values.append(condition.arguments.values)
    return frozenset(password for value in values for text in _texts(value) for password in passwords(text))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, tuple):
        for item in value:
            yield from _texts(item)


def _too_short(name: str, origin: SecretSource) -> Invalid:
    """Return the refusal of what cannot be kept out of sight: it stands in every text by chance."""
    summary = f"the secret `{name}` is too short to be kept out of sight"
    expected = f"at least {SHORTEST_SECRET} characters: a shorter text stands in other words, and is soon guessed"
    remedy = f"use a longer one, or take `secret: true` from `{name}` if it is none"
    return Invalid([Diagnosis(summary=summary, expected=expected, at=origin.at, remedy=remedy)])


def _missing(name: str, origin: SecretSource, reason: str, remedy: str | None) -> Invalid:
    return Invalid([Diagnosis(summary=f"the secret `{name}` cannot be read: {reason}", at=origin.at, remedy=remedy)])


def _file_text(name: str, origin: SecretSource, named: str, folder: Path) -> str:
    try:
        path = folder / Path(origin.at.path).parent / Path(named).expanduser()
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _missing(name, origin, f"{named}: {reason}", None) from error
    return _decoded(name, origin, data)


def _command_text(name: str, origin: SecretSource, environment: Mapping[str, str]) -> str:
    program = origin.command[0]
    try:
        done = subprocess.run(
            list(origin.command),
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_COMMAND_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _missing(name, origin, f"`{program}` took longer than {_COMMAND_S:g} s", None) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _missing(name, origin, f"`{program}` cannot be started: {reason}", None) from error
    if done.returncode != 0:
        # What it printed is not shown: a secret store that fails halfway may have printed the secret.
        raise _missing(name, origin, f"`{program}` exited {done.returncode}", f"run `{program}` by hand to see why")
    return _decoded(name, origin, done.stdout)


def _decoded(name: str, origin: SecretSource, data: bytes) -> str:
    if len(data) > _LARGEST:
        raise _missing(name, origin, f"it is longer than {_LARGEST} bytes", None)
    try:
        return data.decode("utf-8").rstrip()
    except UnicodeDecodeError as error:
        raise _missing(name, origin, "it is not UTF-8", None) from error
