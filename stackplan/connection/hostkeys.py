"""Whether a host's key may be trusted: the files of known hosts, read and (with `--accept-new`) extended."""

import base64
import contextlib
import fcntl
import os
import threading
from collections.abc import Iterable
from pathlib import Path

from stackplan.connection import known_hosts
from stackplan.connection.failure import HostKeyChanged, HostKeyUnknown
from stackplan.connection.known_hosts import Record, Standing
from stackplan.model.frozen import dataclass

GLOBAL_FILE = "/etc/ssh/ssh_known_hosts"
USER_FILE = "~/.ssh/known_hosts"
_recording = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class HostKeys:
    """The files to consult, in order; a new key is recorded in the first."""

    files: tuple[str, ...]
    accept_new: bool = False

    def records(self, name: str) -> tuple[Record, ...]:
        return known_hosts.matching((record for file in self.files for record in _read(file)), name)

    def check(self, name: str, key_type: str, key: bytes) -> None:
        """Return when the key is on record for `name`, or has just been recorded.

        Raise HostKeyUnknown, HostKeyChanged; a changed or revoked key is never accepted.
        """
        standing, record = known_hosts.judge(self.records(name), key_type, key)
        shown = f"{key_type} {known_hosts.fingerprint(key)}"
        if record is not None and standing is Standing.REVOKED:
            raise HostKeyChanged(
                f"{name} shows the key {shown}, which {record.path}:{record.line} marks as revoked",
                "find out who answers there; a revoked key may be in the wrong hands",
            )
        if record is not None and standing is Standing.CHANGED:
            raise HostKeyChanged(
                f"{name} shows the key {shown}, but {record.path}:{record.line} has on record "
                f"{record.key_type} {known_hosts.fingerprint(record.key)}",
                "if the host was installed anew, remove that line and compare the fingerprint on the host's console; "
                "else somebody may be in between",
            )
        if standing is Standing.UNKNOWN:
            if not self.accept_new:
                raise HostKeyUnknown(
                    f"no file of known hosts has a key of {name}; it shows {shown} ({', '.join(self.files)})",
                    f"compare the fingerprint, then run again with `--accept-new`, or add the key to {self.files[0]}",
                )
            self._record(name, key_type, key)

    def _record(self, name: str, key_type: str, key: bytes) -> None:
        file = Path(self.files[0])
        line = f"{name} {key_type} {base64.b64encode(key).decode('ascii')}\n"
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _recording, os.fdopen(os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "r+b", 0) as opened:
                with contextlib.suppress(OSError):  # a filesystem without locks
                    fcntl.flock(opened, fcntl.LOCK_EX)
                size = os.fstat(opened.fileno()).st_size
                unended = size > 0 and os.pread(opened.fileno(), 1, size - 1) != b"\n"
                opened.write((("\n" if unended else "") + line).encode())
        except OSError as error:
            raise HostKeyUnknown(
                f"the key of {name} cannot be recorded in {file}: {error.strerror}", "mend that, or name another file"
            ) from error


def files_for(own: str | None, config: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the files to consult: the one that was named, else ~/.ssh/config's, else the usual; then the global."""
    mine = [own] if own is not None else (list(config) or [USER_FILE])
    return tuple(dict.fromkeys([*(os.path.expanduser(file) for file in mine), GLOBAL_FILE]))  # noqa: PTH111 - text stays text


def _read(file: str) -> Iterable[Record]:
    try:
        text = Path(file).read_bytes().decode("utf-8", "replace")
    except OSError:
        # A file that is not there knows nobody; that then reads as "unknown", never as "trusted".
        return ()
    return known_hosts.read(text, file)
