"""Wheels made in memory, byte for byte the same each time."""

import base64
import hashlib
import io
import zipfile
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property

from stackplan.model.frozen import dataclass

_EPOCH = (1980, 1, 1, 0, 0, 0)
_WHEEL = b"Wheel-Version: 1.0\nGenerator: stackplan-lab\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@dataclass(frozen=True)
class Wheel:
    """A stand-in for a distribution; `files` are its contents by path."""

    name: str
    version: str
    requires: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    extras: tuple[str, ...] = ()

    @property
    def filename(self) -> str:
        return f"{self.name.replace('-', '_')}-{self.version}-py3-none-any.whl"

    @cached_property
    def content(self) -> bytes:
        """The wheel's archive."""
        folder = f"{self.name.replace('-', '_')}-{self.version}.dist-info"
        files = {
            **self.files,
            f"{folder}/METADATA": self.metadata.encode(),
            f"{folder}/WHEEL": _WHEEL,
        }
        record = f"{folder}/RECORD"
        files[record] = "".join([*(_record_line(*item) for item in files.items()), f"{record},,\n"]).encode()
        return _archive(files)

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def metadata(self) -> str:
        lines = [
            "Metadata-Version: 2.1",
            f"Name: {self.name}",
            f"Version: {self.version}",
            f"Summary: a stand-in for {self.name} in stackplan's lab; it holds no code of the real one",
            "Requires-Python: >=3.8",
            *(f"Provides-Extra: {extra}" for extra in self.extras),
            *(f"Requires-Dist: {requirement}" for requirement in self.requires),
        ]
        return "\n".join(lines) + "\n"


def _record_line(path: str, content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(content)}\n"


def _archive(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, _EPOCH)
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, content)
    return buffer.getvalue()
