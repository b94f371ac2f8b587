"""A fault of stackplan's own that is met on one node: told as that node's end, so that the others keep their report.

Writes the traceback into the state folder; people are told where.
"""

import itertools
import os
import time
import traceback
from pathlib import Path

from stackplan.connection.failure import ConnectionFailure
from stackplan.engine.state_folder import private_folder, state_folder
from stackplan.model.outcome import NodeOutcome, Reason
from stackplan.model.report import NodeReport

_VERIFY = "`stackplan verify` tells where the node stands; steps that had ended stay as they are"
_numbers = itertools.count(1)


class Bug(ConnectionFailure):
    """What kept a node from being consulted to the end was neither the node nor the way to it."""


def bug(error: Exception) -> Bug:
    """Keep the traceback of what was raised; return it as the reason why there is nothing to tell of the node."""
    name = type(error).__name__
    return Bug(f"a bug in stackplan itself ended this node ({name}: {error}). {keep_traceback(error)}", _VERIFY)


def ended_by_bug(node: str, found: Bug) -> NodeReport:
    return NodeReport(
        node=node, outcome=NodeOutcome.FAILED, reason=Reason.BUG, message=found.summary, remedy=found.remedy
    )


def keep_traceback(error: Exception) -> str:
    """Write the traceback to a file of the state folder, and return where; the terminal is spared it."""
    text = "".join(traceback.format_exception(error))
    name = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()) + f"-{os.getpid()}-{next(_numbers)}.txt"
    try:
        path: Path = private_folder(state_folder(os.environ) / "bugs") / name
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", errors="replace") as file:
            file.write(text)
    except Exception:  # noqa: BLE001 - whatever is wrong with the state folder must not hide the bug
        return f"The traceback could not be written to the state folder, so here it is:\n{text}"
    return f"Its traceback is in {path}; a report of it is welcome."
