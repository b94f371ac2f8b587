"""The smallest shared object that tells which libraries it needs: 64-bit ELF with a dynamic section and no code.

Lab wheels carry such files where real wheels carry extension modules, so that a reader of ELF headers (`readelf -d`,
the node program) finds `libcudart.so.12` or `libcudart.so.13` there, and no compiler is needed to make them.
"""

import struct
from collections.abc import Iterator, Sequence

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_PROGRAM = struct.Struct("<IIQQQQQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_DYNAMIC = struct.Struct("<qQ")

_MACHINE_X86_64 = 62
_SHARED_OBJECT = 3
_LOAD, _DYNAMIC_SEGMENT = 1, 2
_STRING_TABLE, _DYNAMIC_SECTION = 3, 6
_NEEDED, _STRTAB, _STRSZ, _SONAME = 1, 5, 10, 14


def shared_object(needed: Sequence[str], soname: str | None = None) -> bytes:
    """Return an ELF shared object that states the libraries in `needed`, in order, and its own name."""
    strings, offsets = _string_table([*needed, *([soname] if soname else []), ".dynstr", ".dynamic", ".shstrtab"])
    at_strings = _HEADER.size + 2 * _PROGRAM.size
    at_dynamic = (at_strings + len(strings) + 7) // 8 * 8
    entries = [(_NEEDED, offsets[name]) for name in needed]
    if soname:
        entries.append((_SONAME, offsets[soname]))
    entries += [(_STRTAB, at_strings), (_STRSZ, len(strings)), (0, 0)]
    dynamic = b"".join(_DYNAMIC.pack(tag, value) for tag, value in entries)
    at_sections = at_dynamic + len(dynamic)
    padding = b"\0" * (at_dynamic - at_strings - len(strings))
    sections = b"".join(_sections(offsets, at_strings, len(strings), at_dynamic, len(dynamic)))
    programs = _segment(_LOAD, 0, at_sections, 0x1000) + _segment(_DYNAMIC_SEGMENT, at_dynamic, len(dynamic), 8)
    return _header(at_sections) + programs + strings + padding + dynamic + sections


def _string_table(names: Sequence[str]) -> tuple[bytes, dict[str, int]]:
    table, offsets = b"\0", {}
    for name in names:
        if name not in offsets:
            offsets[name] = len(table)
            table += name.encode() + b"\0"
    return table, offsets


def _header(at_sections: int) -> bytes:
    identity = b"\x7fELF" + bytes([2, 1, 1]) + b"\0" * 9
    sizes = (_HEADER.size, _PROGRAM.size, 2, _SECTION.size, 4, 3)
    return _HEADER.pack(identity, _SHARED_OBJECT, _MACHINE_X86_64, 1, 0, _HEADER.size, at_sections, 0, *sizes)


def _segment(kind: int, offset: int, size: int, alignment: int) -> bytes:
    return _PROGRAM.pack(kind, 4, offset, offset, offset, size, size, alignment)


def _sections(
    names: dict[str, int], at_strings: int, strings_size: int, at_dynamic: int, dynamic_size: int
) -> Iterator[bytes]:
    """Yield the headers of no section, .dynstr, .dynamic (its strings are section 1), .shstrtab (the same strings)."""
    yield _SECTION.pack(*([0] * 10))
    yield _SECTION.pack(names[".dynstr"], _STRING_TABLE, 2, at_strings, at_strings, strings_size, 0, 0, 1, 0)
    yield _SECTION.pack(
        names[".dynamic"], _DYNAMIC_SECTION, 2, at_dynamic, at_dynamic, dynamic_size, 1, 0, 8, _DYNAMIC.size
    )
    yield _SECTION.pack(names[".shstrtab"], _STRING_TABLE, 0, 0, at_strings, strings_size, 0, 0, 1, 0)
