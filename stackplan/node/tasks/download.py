"""Put the file that a URL offers at a path, once its digest is right."""

from __future__ import annotations

import os
from typing import Any

from stackplan.node.tasks._fetch import NotFetched, fetch, sha256_of
from stackplan.node.tasks._place import Refused, check_folder, default_mode, put


def perform(arguments: dict[str, Any]) -> int:
    """Make `path` the file at `url` whose digest is `sha256`, of `mode` when given; one that is right already stays.

    The part that has come is kept beside the target under a name made of the digest, so that a later attempt goes on.
    """
    path = os.path.realpath(os.path.expanduser(arguments["path"]))
    digest = arguments["sha256"].lower()
    mode = arguments.get("mode")
    try:
        folder = check_folder(path)
        if os.path.isfile(path) and sha256_of(path) == digest:
            print(f"{path} is the file already", flush=True)
            if mode is not None:
                os.chmod(path, int(mode, 8))
            return 0
        part = os.path.join(folder, f".{os.path.basename(path)}.{digest[:16]}.part")
        fetch(arguments["url"], part, digest)
        os.chmod(part, default_mode(path) if mode is None else int(mode, 8))
        put(part, path)
    except (NotFetched, Refused) as error:
        print(error, flush=True)
        return 1
    except OSError as error:
        print(f"{error.filename or path}: {error.strerror}", flush=True)
        return 1
    print(f"{path} written", flush=True)
    return 0
