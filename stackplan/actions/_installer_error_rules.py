"""Rules for an installer that failed: what its output says, in the forms of the versions that are about."""

import re

from stackplan.actions._failure import Failure
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.regular import regular

_RULER = "\u00d7\u2570\u2500\u25b6\u2502"
"""What uv up to 0.12.12 draws before its reasons."""
_STATUS = regular(r"HTTP status (?:client|server) error \((?P<told>\d{3} [^)]*)\) for url \((?P<url>[^)\s]+)\)")


def no_space(failure: Failure) -> Diagnosis | None:
    """SP205: a disk that fills up leaves metadata without its files, and the next attempt does nothing."""
    line = _line(failure, r"No space left on device|os error 28\b|Errno 28\b|Disk quota exceeded")
    if line is None:
        return None
    names = ", ".join(failure.wishes.names)
    again = f", then add `reinstall: [{names}]` at {failure.at}" if names and not failure.wishes.reinstall else ""
    summary = "A disk of the node filled up while packages were being installed."
    remedy = f"Make room where the environment, the installer's cache and TMPDIR lie{again}."
    return failure.diagnosis("SP205", summary, remedy, causes=(line,))


def not_permitted(failure: Failure) -> Diagnosis | None:
    """SP206: files of the environment belong to somebody else."""
    line = _line(failure, r"Permission denied|os error 13\b|Errno 13\b|Operation not permitted")
    if line is None:
        return None
    user = failure.node.user if failure.node is not None else "the step's user"
    path = re.search(r"[`'\"](/[^`'\"]+)[`'\"]", line)
    summary = f"{user} may not write {path[1]}." if path else f"{user} was refused a file of the environment."
    owner = failure.node.owner if failure.node is not None else None
    remedy = f"Add `user: {owner}` to the step." if owner and owner != user else None
    return failure.diagnosis("SP206", summary, remedy, causes=(line,))


def not_reachable(failure: Failure) -> Diagnosis | None:
    """SP207: an index or a file could not be fetched from the node."""
    line = _line(
        failure,
        r"error sending request|dns error|Connection refused|Failed to fetch|Failed to download|NewConnectionError"
        r"|Name or service not known|Temporary failure in name resolution|timed out|Network connectivity is disabled"
        r"|HTTP (error|status).*[45]\d\d|\b(401|403|404|50\d) (Client|Server) Error|CERTIFICATE_VERIFY_FAILED",
    )
    if line is None:
        return None
    reasons = _lines(failure, r"Connection refused|not known|name resolution|timed out|certificate|\b[45]\d\d\b")
    causes = tuple(dict.fromkeys(_bare(it) for it in (line, *reasons)))[:3]
    if (status := _STATUS.search(failure.output)) is not None:
        summary = f"{status['url']} answered {status['told']}."
        return failure.diagnosis("SP207", summary, _check(failure), key="index_url", causes=causes)
    summary = "The node could not fetch what the installer asked for."
    remedy = _check(failure, ", and that the node reaches it (proxy, firewall)")
    return failure.diagnosis("SP207", summary, remedy, key="index_url", causes=causes)


def login_refused(failure: Failure) -> Diagnosis | None:
    """SP207: an index wants a login, or does not accept the one that it was given; to uv the package is then absent."""
    line = _line(failure, r"hint: An index( URL)? \(.*\b40[13] ")
    match = re.search(r"\((?P<url>\S+)\) (?:could not|returned).*?(?P<told>40[13] [A-Z][a-z]+)", line or "")
    if match is None:
        return None
    given = "@" in match["url"]
    word = "refused the login" if given else "wants a login" if match["told"].startswith("401") else "refused access"
    remedy = f"Check `index_url` at {failure.place('index_url')}" if "index_url" in failure.arguments else "Check it"
    remedy += ": its user and password." if given else ": it may need a user and a password, from a secret variable."
    summary = f"The index {match['url']} {word} ({match['told']})."
    return failure.diagnosis("SP207", summary, remedy, key="index_url")


def no_solution(failure: Failure) -> Diagnosis | None:
    """SP208: the resolver found no set of versions; its own reason is passed on."""
    if _line(failure, r"No solution found|ResolutionImpossible|No matching distribution found") is None:
        return None
    reasons = _because(failure.output)
    absent = re.search(r"\b([A-Za-z0-9][\w.-]*) was not found in the package registry", " ".join(reasons))
    absent = absent or re.search(r"No matching distribution found for ([A-Za-z0-9][\w.-]*)", failure.output)
    if absent is None:
        return failure.diagnosis("SP208", "No set of versions satisfies all that is required.", causes=reasons)
    if login_refused(failure) is not None:
        return None
    summary = f"The indexes that the step names do not offer {absent[1]}."
    index = "index_url" if "index_url" in failure.arguments else None
    remedy = _check(failure, f": is it right, and does it hold {absent[1]}?").removesuffix(".")
    if "No matching distribution found" in failure.output:
        # pip swallows what an index answers.
        reasons = (
            *reasons,
            "pip says the same where an index refuses a login or fails; `stackplan plan` asks it itself",
        )
    return failure.diagnosis("SP208", summary, remedy or None, key=index, causes=reasons)


def not_as_announced(failure: Failure) -> Diagnosis | None:
    """SP209: a file is not what its index or its name says."""
    line = _line(
        failure,
        r"Hash mismatch|DO NOT MATCH THE HASHES|has inconsistent (version|name)|does not match the (given|expected)"
        r"|metadata.*(mismatch|does not match)|invalid wheel|Bad(Zip| CRC)|is not a (zip|wheel)",
    )
    if line is None:
        return None
    summary = "A file from the index is not what the index, or the file's own name, announces."
    return failure.diagnosis("SP209", summary, "Have the index mended, or pin another build.", causes=(line,))


def no_record(failure: Failure) -> Diagnosis | None:
    """SP204, told by the installer itself where the environment's files were not looked at."""
    line = _line(
        failure, r"uninstall-no-record-file|RECORD file not found|missing `RECORD` file|Failed to read metadata"
    )
    if line is None or failure.findings:
        return None
    summary = "An installed package lacks its RECORD or METADATA, so the installer cannot take it away."
    return failure.diagnosis("SP204", summary, "Remove its dist-info folder from site-packages first.", causes=(line,))


def _check(failure: Failure, more: str = "") -> str:
    """Return that the index's address is to be looked at; an empty text where the step names none."""
    return f"Check `index_url` at {failure.place('index_url')}{more}." if "index_url" in failure.arguments else ""


def _bare(line: str) -> str:
    """Return a line without the words that uv puts ahead of a reason; these are put there again when it is shown."""
    return re.sub(r"^(cause|Caused by|error): ", "", line)


def _line(failure: Failure, pattern: str) -> str | None:
    """Return the first line of a failed installer's output that has `pattern`; nothing of one that ended with 0."""
    return next(iter(_lines(failure, pattern)), None)


def _lines(failure: Failure, pattern: str) -> tuple[str, ...]:
    if failure.exit_code in (0, None):
        return ()
    found = (line.strip() for line in failure.output.splitlines() if re.search(pattern, line, re.IGNORECASE))
    return tuple(line if len(line) <= 300 else f"{line[:300]}…" for line in found)


def _because(output: str) -> tuple[str, ...]:
    """Return the resolver's reasons, in uv's forms before and after 0.12.24 or pip's, unwrapped; at most four."""
    lines = [line.strip().lstrip(_RULER).strip() for line in output.splitlines()]
    starts = [
        index for index, line in enumerate(lines) if line.startswith(("cause: Because", "Because", "ERROR:", "hint:"))
    ]
    reasons = []
    for start, following in zip(starts, [*starts[1:], len(lines)], strict=True):
        text = " ".join(line for line in lines[start:following] if line)
        reasons.append(re.sub(r"^(cause|ERROR): ", "", text)[:600])
    return tuple(reasons[:4])
