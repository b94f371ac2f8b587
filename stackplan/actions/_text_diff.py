"""A change of a file's content, as people read it: a unified diff, or why there is none to be shown."""

import difflib
from collections.abc import Mapping

from stackplan.actions._target import told
from stackplan.model.count import counted
from stackplan.model.facts import Answer, Failed, Plain, Unknown

MOST_LINES = 400


def diff(path: str, before: Answer | None, after: bytes) -> tuple[str, ...]:
    """Return what changes at `path`; `before` is what the query `file` tells of the content, None where nothing is."""
    if isinstance(before, (Unknown, Failed)):
        return (f"its content now is not known: {before.why}",)
    about: Mapping[str, Plain] = {} if before is None else told(before)
    if about.get("content_fault") is not None:
        return (f"its content now is not shown: {about['content_fault']}",)
    old = str(about.get("content") or "")
    try:
        new = after.decode("utf-8")
    except UnicodeDecodeError:
        new = "\0"
    if "\0" in old or "\0" in new or about.get("utf8") is False:
        return (f"binary, {len(after)} bytes",)
    lines = list(
        difflib.unified_diff(
            old.splitlines(), new.splitlines(), "/dev/null" if before is None else path, path, lineterm=""
        )
    )
    if not lines and old != new:
        return ("only the line breaks change",)
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f"… {counted(len(lines) - MOST_LINES, 'more line')}"]
    return tuple(lines)
