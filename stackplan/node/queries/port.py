"""Whether something takes connections at a TCP port, as seen from the node.

Asked with `{"host": "localhost", "port": 30000, "timeout_s": 5}`. `open` tells that a connection came about; nothing is
sent over it. `failure` says in words why not. All addresses of the name are tried.
"""

from __future__ import annotations

import socket
from typing import Any

from stackplan.node.context import Context
from stackplan.node.queries.http import why


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:  # noqa: ARG001 - every query has this form
    limit_s = float(arguments.get("timeout_s") or 5.0)
    try:
        with socket.create_connection((str(arguments["host"]), int(arguments["port"])), limit_s) as connection:
            address = connection.getpeername()[0]
    except socket.timeout:
        return {"open": False, "address": None, "failure": f"no answer within {limit_s:g} s"}
    except OSError as error:
        return {"open": False, "address": None, "failure": why(error, limit_s)}
    return {"open": True, "address": address, "failure": None}
