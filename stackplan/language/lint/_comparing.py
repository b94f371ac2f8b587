"""Which files a script compares with a sum or a signature that somebody else made of them."""

import re
from collections.abc import Iterable, Iterator

from stackplan.language.lint._fetching import urlsplit_path
from stackplan.language.lint._handed import printed, python_text
from stackplan.language.lint._kept import file_name, kept_as
from stackplan.language.lint._tree import Block, Command, Pipeline, flat, inside, own_pipelines, surface
from stackplan.model.regular import regular

ANY = "*"
"""The name of a comparison that may be of any file: `sha256sum -c SHA256SUMS` of a list that was there before."""

_SUMS = frozenset(
    {"sha256sum", "sha512sum", "sha384sum", "sha224sum", "sha1sum", "b2sum", "b3sum", "md5sum", "shasum", "cksum"}
)
_OPENSSL = frozenset({"dgst", "sha256", "sha512", "sha384", "sha1", "md5"})
_VERIFYING = {
    "gpgv": (), "gpgv2": (), "cmp": (), "rpmkeys": (), "minisign": (), "signify": (), "signify-openbsd": (),
    "slsa-verifier": (), "sha256": (), "cosign": (),
    "gpg": ("--verify", "--decrypt", "-d", "--show-keys", "--show-key", "--fingerprint", "--list-packets"),
    "gpg2": ("--verify", "--decrypt", "-d", "--show-keys", "--show-key", "--fingerprint", "--list-packets"),
    "gh": ("attestation",), "openssl": ("-verify", "verify"), "rpm": ("-K", "-Kv", "--checksig"),
    "debsig-verify": (), "dpkg-sig": ("--verify",), "dscverify": (), "diff": (),
}  # fmt: skip
"""Programs that compare by themselves, with the words of which one has to be given."""
_ONLY_PRINTING = frozenset({"tee", "cat", "cut", "awk", "head", "tail", "tr", "sed", "sort", "logger", "column"})
_SUM_SUFFIX = regular(
    r"(?i)[.-_]?(?:(?:sha(?:1|224|256|384|512)|md5|b2|check)(?:sums?)?|sums?|digests?|asc|sig|minisig|sigstore)"
    r"(?:\.(?:txt|asc))?$"
)

_TAGGED = regular(r"^\S+ \(([^)]+)\) = ", re.MULTILINE)

_MOST_PARTS = 30


def compared(script: Block, fetching: Iterable[Command], downloads: Iterable[str]) -> frozenset[str]:
    """Return which of the downloads a script compares, by their names; `ANY` where that may be all of them.

    `fetching` is all that fetches something, the lists of sums among it.
    """
    names = frozenset(downloads)
    sources, told = _sources(fetching), _told(script)
    from_there: dict[str, set[str]] = {}
    for name in names:
        for machine in sources.get(name, ()) if _SUM_SUFFIX.sub("", name) == name else ():
            from_there.setdefault(machine, set()).add(name)
    made = {file_name(it) for command in flat(script) if _sums(command) for it in _written(command)}
    found: set[str] = set()
    beginnings = _by_beginning(names)
    for files, listing in _comparisons(script, made):
        own = {name for file in files for name in _those_of(file, names, beginnings)}
        found |= own or ({ANY} if not listing else set())
        for file in listing:
            if own and _SUM_SUFFIX.sub("", file):
                # It holds the sum of a file that it is named after.
                continue
            if (lines := told.get(file)) is not None:
                entries = [_those_of(it, names, beginnings) for it in _entries(lines)]
                found.update(*entries if entries and all(entries) else [{ANY}])
            elif beside := [it for it in sources.get(file, ()) if it in from_there]:
                # Those of one machine are taken once, however many lists it has.
                found.update(*(from_there[it] for it in beside))
                from_there.update((it, set()) for it in beside)
            else:
                found.add(ANY)
    return frozenset(found)


def _sources(fetching: Iterable[Command]) -> dict[str, set[str]]:
    """Return from which machines the files of each name are fetched."""
    found: dict[str, set[str]] = {}
    for it in fetching:
        addresses = [word for word in it.words[1:] if "://" in word]
        names = {file_name(urlsplit_path(word)) for word in addresses} | {kept_as(it, ())}
        for name in names - {""}:
            found.setdefault(name, set()).update(word.partition("://")[2].partition("/")[0] for word in addresses)
    return found


def _told(script: Block) -> dict[str, str | None]:
    """Return the files that a script fills with what is written out in it; None of what else fills them as well."""
    found: dict[str, str | None] = {}
    for it in flat(script):
        for target in _written(it):
            name, text = file_name(target), printed(it)
            before = found.get(name, "")
            found[name] = f"{before}{text[0]}\n" if text is not None and before is not None else None
    return found


def _entries(lines: str) -> list[str]:
    """Return the names of the files in a list of sums: `0123  a.tgz`, `SHA256 (a.tgz) = 0123`."""
    tagged = _TAGGED.findall(lines)
    return [file_name(it) for it in tagged or [line.split()[-1].lstrip("*") for line in lines.splitlines() if line]]


def compares_itself(pipeline: Pipeline) -> bool:
    """Return whether what runs through a pipeline is compared in it: `curl … | tee FILE | sha256sum -c SUM`."""
    found = [it for part in pipeline.parts for it in surface(part)]
    return any((_sums(it) and _checks(it)) or _verifies(it) or it.has("--checksum") for it in found)


def _by_beginning(names: Iterable[str]) -> dict[str, set[str]]:
    """Return names by what stands before any dot of them, and by all of them."""
    found: dict[str, set[str]] = {}
    for name in names:
        parts = name.split(".", _MOST_PARTS)
        for end in range(1, len(parts) + 1):
            found.setdefault(".".join(parts[:end]), set()).add(name)
    return found


def _those_of(file: str, names: frozenset[str], beginnings: dict[str, set[str]]) -> Iterable[str]:
    """Return the downloads of which a file that is named in a comparison is one, or holds the sum or signature."""
    stem = _SUM_SUFFIX.sub("", file)
    return ({file} & names) | (beginnings.get(stem, set()) if stem else set())


def _comparisons(script: Block, made: set[str]) -> Iterator[tuple[set[str], set[str]]]:
    """Yield the names of the files of each comparison, none where they are not told, and which may be lists of sums."""
    later = [it for it in flat(script) if it.program in ("diff", "grep", "test", "[", "[[", "join", "comm")]
    imports = [it for it in flat(script) if it.program in ("gpg", "gpg2") and it.has("--import", "--dearmor")]
    for pipeline, taken in _pipelines(script, taken=False):
        commands = [it for part in pipeline.parts for it in surface(part)]
        for at, it in enumerate(commands):
            if it.has("--require-hashes") or "hashlib" in python_text(it):
                yield set(), set()
            elif _sums(it) and _checks(it):
                files = _named(it, commands[:at])
                if not files or not files <= made:
                    yield files, files - made
            elif _sums(it):
                read = any(other.program not in _ONLY_PRINTING for other in commands[at + 1 :])
                kept = any(target in other.text for target in _written(it) for other in later)
                if taken or read or kept:
                    yield _named(it, commands[:at]), set()
            elif _verifies(it):
                yield _operands(it), set()
                # The keys with which it does.
                yield from ((keys, set[str]()) for keys in map(_operands, imports) if keys)


def _pipelines(block: Block, *, taken: bool) -> Iterator[tuple[Pipeline, bool]]:
    """Yield every pipeline of a block, with whether its output becomes words."""
    for pipeline in own_pipelines(block):
        yield pipeline, taken or block.substituted
        for part in pipeline.parts:
            for it in inside(part):
                yield from _pipelines(it, taken=taken or block.substituted)


def _sums(it: Command) -> bool:
    return it.program in _SUMS or (it.program == "openssl" and bool(_OPENSSL & set(it.plain[:1])))


def _checks(it: Command) -> bool:
    return it.has_flag("c", "--check") and it.program != "openssl"


def _verifies(it: Command) -> bool:
    words = _VERIFYING.get(it.program)
    return words is not None and (not words or bool(set(words) & set(it.words)))


def _named(it: Command, before: list[Command]) -> set[str]:
    """Return the files that a program for sums is given: its operands, or those of the text that it reads."""
    if files := _operands(it):
        return files
    if it.stdin is not None:
        lines = [line.split() for line in it.stdin[0].splitlines()]
        return {file_name(words[-1].lstrip("*")) for words in lines if len(words) > 1}
    return {file_name(word) for other in before[-1:] for word in other.plain}


def _operands(it: Command) -> set[str]:
    read = [target for sign, target in it.redirections if sign == "<"]
    return {file_name(word) for word in (*it.plain, *read) if word not in ("/dev/stdin", *_OPENSSL)}


def _written(it: Command) -> list[str]:
    return [target for sign, target in it.redirections if sign in (">", ">>", "1>") and target != "/dev/null"]
