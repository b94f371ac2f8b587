"""When an environment's RECORDs were written: an installer that puts the very same files there again writes one anew.

Asked with `{"venv": …}` or `{"python": …}`; `written` holds, by canonical name, when each RECORD that is there was last
written, in nanoseconds, sorted where one name stands there more than once:
    {"path": …, "exists": true, "environment": true, …, "written": {"torch": [1796172008500000000]}}
"""

from __future__ import annotations

import os
from typing import Any

from stackplan.node.context import Context, ProbeFailed
from stackplan.node.queries import _environment
from stackplan.node.queries.distributions import canonical, metadata_folders, named_by_folder


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    environment = _environment.find(arguments, context)
    written: dict[str, list[int]] = {}
    for folder in environment.own:
        for entry in metadata_folders(folder):
            at = _written_ns(os.path.join(folder, entry, "RECORD"))
            if at is not None:
                written.setdefault(canonical(named_by_folder(entry)[0]), []).append(at)
    return dict(environment.answer(), written={name: sorted(times) for name, times in sorted(written.items())})


def _written_ns(record: str) -> int | None:
    try:
        return os.stat(record).st_mtime_ns
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ProbeFailed(f"cannot look at {record}: {error.strerror}") from error
