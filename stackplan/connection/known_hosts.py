"""The known_hosts format: what is on record for a host, as pure functions over the text of the files.

name[,name] type base64            gpu-01,[10.0.4.2]:2222 ssh-ed25519 AAAA…
|1|salt|hash type base64           a name that was hashed (HMAC-SHA1)
@revoked name type base64          @cert-authority … is passed over: host certificates are left to `openssh`
"""

import base64
import enum
import fnmatch
import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator

from stackplan.model.frozen import dataclass

_FIELDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One line. `revoked` keys are never accepted, whoever shows them under that name."""

    names: tuple[str, ...]
    key_type: str
    key: bytes
    path: str
    line: int
    revoked: bool = False


class Standing(enum.Enum):
    KNOWN = "known"
    UNKNOWN = "unknown"
    CHANGED = "changed"
    REVOKED = "revoked"


def read(text: str, path: str) -> Iterator[Record]:
    """Yield the records of a file; lines that cannot be read are passed over, as OpenSSH does."""
    for number, line in enumerate(text.splitlines(), start=1):
        fields = line.split()
        marker = fields.pop(0) if fields and fields[0].startswith("@") else ""
        if len(fields) < _FIELDS or fields[0].startswith("#") or marker not in {"", "@revoked"}:
            continue
        try:
            key = base64.b64decode(fields[2], validate=True)
        except ValueError:
            continue
        names = tuple(fields[0].split(","))
        yield Record(names=names, key_type=fields[1], key=key, path=path, line=number, revoked=bool(marker))


def host_name(host: str, port: int) -> str:
    """Return the name under which a host is on record: bare on port 22, else `[host]:port`."""
    return host.lower() if port == 22 else f"[{host.lower()}]:{port}"


def matching(records: Iterable[Record], name: str) -> tuple[Record, ...]:
    """Return the records of `name`, hashed ones and patterns included."""
    return tuple(record for record in records if _matches(record.names, name))


def _matches(names: tuple[str, ...], name: str) -> bool:
    found = False
    for pattern in names:
        if pattern.startswith("|1|"):
            found = found or _is_hash_of(pattern, name)
        elif pattern.startswith("!"):
            if _fits(pattern[1:], name):
                return False
        else:
            found = found or _fits(pattern, name)
    return found


def _fits(pattern: str, name: str) -> bool:
    # In known_hosts only * and ? are special; the brackets are those of [host]:port.
    return re.fullmatch(fnmatch.translate(pattern.lower().replace("[", "[[]")), name) is not None


def _is_hash_of(hashed: str, name: str) -> bool:
    parts = hashed.split("|")
    try:
        salt, digest = base64.b64decode(parts[2], validate=True), base64.b64decode(parts[3], validate=True)
    except (IndexError, ValueError):
        return False
    return hmac.compare_digest(hmac.new(salt, name.encode(), hashlib.sha1).digest(), digest)


def judge(records: tuple[Record, ...], key_type: str, key: bytes) -> tuple[Standing, Record | None]:
    """Return how a key stands to the records of its host, and the record that decided.

    A key of another type than those on record counts as changed: the server is asked for the types on record first, so
    one that still shows another does not have them.
    """
    for record in records:
        if record.revoked and record.key == key:
            return Standing.REVOKED, record
    valid = [record for record in records if not record.revoked]
    for record in valid:
        if record.key == key and record.key_type == key_type:
            return Standing.KNOWN, record
    for record in [*(it for it in valid if it.key_type == key_type), *valid]:
        return Standing.CHANGED, record
    return Standing.UNKNOWN, None


def fingerprint(key: bytes) -> str:
    """Return the fingerprint as `ssh-keygen -l` shows it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode("ascii").rstrip("=")
