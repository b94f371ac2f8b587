"""Where a path leads in the end, whatever number of links it takes: /usr/local/cuda by way of /etc/alternatives.

Asked with `{"path": "/usr/local/cuda"}`. `kind` is link, folder, file, dangling (a link to nothing) or missing;
`leads_to` is the end's own path, null where nothing stands.
"""

from __future__ import annotations

import os
import stat
from typing import Any

from stackplan.node.context import Context, ProbeFailed


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    path = context.expand(arguments["path"])
    told = {"path": path, "kind": "missing", "leads_to": None}
    try:
        linked = stat.S_ISLNK(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return told
    except OSError as error:
        raise ProbeFailed(f"cannot look at {path}: {error.strerror}") from error
    end = os.path.realpath(path)
    try:
        folder = stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return dict(told, kind="dangling", leads_to=end)
    except OSError as error:
        raise ProbeFailed(f"cannot look at {path}: {error.strerror}") from error
    return dict(told, kind="link" if linked else "folder" if folder else "file", leads_to=end)
