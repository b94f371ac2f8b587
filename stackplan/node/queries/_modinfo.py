"""The version of a kernel module's file, from its `.modinfo` section, without loading it.

The section holds texts that end in NUL: `version=580.95.05`, `license=Dual MIT/GPL`, `srcversion=…`.
"""

from __future__ import annotations

import gzip
import os
import struct
from typing import BinaryIO

from stackplan.node.context import CannotTell, Context, ProbeFailed
from stackplan.node.queries import _tool

_MOST_SECTIONS = 65535
_LARGEST_SECTION = 4 * 1024 * 1024
_LARGEST_FILE = 1024 * 1024 * 1024


class NotAModule(ValueError):
    """The file is no ELF file of 64 bits with a `.modinfo` section; worded for people."""


def module_version(path: str, context: Context) -> tuple[str | None, str | None]:
    """Return the version that a module's file states, and what was in the way when there is none to be told."""
    try:
        return _version(path, context), None
    except NotAModule as error:
        return None, f"{path} {error}"
    except (CannotTell, ProbeFailed) as error:
        return None, error.why
    except (OSError, EOFError, ValueError) as error:
        return None, f"{path} cannot be read: {getattr(error, 'strerror', None) or error}"


def _version(path: str, context: Context) -> str:
    if path.endswith(".ko"):
        with open(context.rooted(path), "rb") as stream:
            return stated_version(stream)
    # modinfo knows all compressions that the node's kernel has; this Python may know none of them.
    program = _tool.find("modinfo", context)
    if program is not None:
        ran = context.run([program, "-F", "version", context.rooted(path)])
        text = ran.text().strip()
        if ran.exit_code == 0 and text:
            return text
    if path.endswith(".gz"):
        with gzip.open(context.rooted(path)) as packed:
            return stated_version(packed)  # type: ignore[arg-type]  # a GzipFile reads and seeks like any other
    if path.endswith(".xz"):
        return _of_xz(context.rooted(path))
    raise NotAModule(f"is compressed ({os.path.splitext(path)[1]}), and no modinfo here reads it")


def _of_xz(path: str) -> str:
    try:
        import lzma  # noqa: PLC0415 - some builds of Python lack it
    except ImportError as error:
        raise NotAModule("is compressed (.xz), and neither modinfo nor this Python reads it") from error
    try:
        with lzma.open(path) as packed:
            return stated_version(packed)  # type: ignore[arg-type]  # an LZMAFile reads and seeks like any other
    except lzma.LZMAError as error:
        raise NotAModule(f"is no xz file: {error}") from error


def stated_version(stream: BinaryIO) -> str:
    """Return what `version=` says in the `.modinfo` section of an ELF file. Raise NotAModule."""
    head = stream.read(64)
    if len(head) < 64 or head[:5] != b"\x7fELF\x02":
        raise NotAModule("is no ELF file of 64 bits")
    order = "<" if head[5] == 1 else ">"
    (offset,) = struct.unpack_from(order + "Q", head, 0x28)
    size, count, names_at = struct.unpack_from(order + "HHH", head, 0x3A)
    if size != 64 or not 0 < count <= _MOST_SECTIONS or names_at >= count:
        raise NotAModule("has no section headers that can be read")
    table = _bytes(stream, offset, size * count)
    sections = [struct.unpack_from(order + "IIQQQQ", table, size * index) for index in range(count)]
    names = _bytes(stream, sections[names_at][4], sections[names_at][5])
    for name, _, _, _, start, length in sections:
        if names[name : name + 9] == b".modinfo\0":
            for text in _bytes(stream, start, length).split(b"\0"):
                if text.startswith(b"version="):
                    return text[8:].decode("utf-8", "replace").strip()
            raise NotAModule("states no version")
    raise NotAModule("has no .modinfo section")


def _bytes(stream: BinaryIO, offset: int, size: int) -> bytes:
    if size > _LARGEST_SECTION or offset > _LARGEST_FILE:
        raise NotAModule("has a section that is too large, or too far away, to be read")
    stream.seek(offset)
    found = stream.read(size)
    if len(found) != size:
        raise NotAModule("ends before its sections do")
    return found
