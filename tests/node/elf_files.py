"""ELF files for the tests: shared objects of either class and byte order, with the search paths that linkers write."""

import struct

NEEDED, STRTAB, STRSZ, SONAME, RPATH, RUNPATH = 1, 5, 10, 14, 15, 29


def elf_file(needed=(), *, soname=None, rpath=None, runpath=None, wide=True, big=False, machine=62, address=0x1000):
    """Return a shared object that is loaded at `address`, so that addresses are no offsets."""
    order = ">" if big else "<"
    names, offsets = b"\0", {}
    for name in dict.fromkeys([*needed, *(it for it in (soname, rpath, runpath) if it is not None)]):
        offsets[name] = len(names)
        names += name.encode() + b"\0"
    header, program = (64, 56) if wide else (52, 32)
    at_names = header + 2 * program
    at_dynamic = (at_names + len(names) + 7) // 8 * 8
    entries = [(NEEDED, offsets[name]) for name in needed]
    entries += [(tag, offsets[it]) for tag, it in ((SONAME, soname), (RPATH, rpath), (RUNPATH, runpath)) if it]
    entries += [(STRTAB, address + at_names), (STRSZ, len(names)), (0, 0)]
    dynamic = b"".join(struct.pack(order + ("qQ" if wide else "iI"), *entry) for entry in entries)
    size = at_dynamic + len(dynamic)
    identity = b"\x7fELF" + bytes([2 if wide else 1, 2 if big else 1, 1]) + bytes(9)
    sizes = (header, program, 2, 0, 0, 0)
    form = "HHIQQQIHHHHHH" if wide else "HHIIIIIHHHHHH"
    head = identity + struct.pack(order + form, 3, machine, 1, 0, header, 0, 0, *sizes)
    segments = b""
    for kind, at, length in ((1, 0, size), (2, at_dynamic, len(dynamic))):
        if wide:
            segments += struct.pack(order + "IIQQQQQQ", kind, 4, at, address + at, address + at, length, length, 8)
        else:
            segments += struct.pack(order + "IIIIIIII", kind, at, address + at, address + at, length, length, 4, 4)
    return head + segments + names + bytes(at_dynamic - at_names - len(names)) + dynamic


def cache_file(rows, *, old=()):
    """Return an ld.so.cache of (name, path) rows as glibc writes it since 2.32; `old` rows also in the table of 2.2."""
    begin = (16 + 12 * len(old) + 7) // 8 * 8 if old else 0
    table, strings, at_strings = b"", b"", 48 + 24 * len(rows)
    for name, path in rows:
        at_name = at_strings + len(strings)
        strings += name.encode() + b"\0"
        at_path = at_strings + len(strings)
        strings += path.encode() + b"\0"
        table += struct.pack("<iIIIQ", 0x303, at_name, at_path, 0, 0)
    head = struct.pack("<20sII20x", b"glibc-ld.so.cache1.1", len(rows), len(strings))
    before = struct.pack("<12sI", b"ld.so-1.7.0\0", len(old)) + bytes(12 * len(old)) if old else b""
    return before.ljust(begin, b"\0") + head + table + strings
