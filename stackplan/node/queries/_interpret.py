"""Running a few lines in an environment's own interpreter, and getting one JSON value back.

Nothing is written, no compiled module either: whoever asks changes nothing. The lines see neither the current folder
nor PYTHON* variables, as a service would not. What modules print while they are imported goes to the standard error,
so that it cannot get mixed up with the value.
"""

from __future__ import annotations

import json
import signal
from typing import Any, Iterable, Mapping

from stackplan.node.context import Context, ProbeFailed

TIMEOUT_S = 300.0
# What the dynamic loader says when a library or a name in it is missing.
_LOADER = ("cannot open shared object file", "undefined symbol", "no version information", "' not found (required by")
_PRELUDE = """
import json, os, sys
sys.path[:] = [entry for entry in sys.path if entry]
_channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)
def tell(value):
    _channel.write(json.dumps(value) + "\\n")
    _channel.flush()
"""


class Died(Exception):
    """The interpreter ended without a value; `why` is the last line of its traceback, or the signal that ended it."""

    def __init__(self, why: str, stderr: str) -> None:
        super().__init__(why)
        self.why = why
        self.stderr = stderr


def told(  # noqa: PLR0913 - all but the first four with defaults
    interpreter: str,
    code: str,
    argument: Any,
    context: Context,
    timeout_s: float = TIMEOUT_S,
    *,
    environment: Mapping[str, str] | None = None,
    descriptors: Iterable[int] = (),
) -> Any:
    """Run `code`, which finds `argument` under that name and calls `tell(value)`; return that value.

    The code is handed over on the standard input. `environment` is laid over that of the login; `descriptors` are
    inherited under their numbers. Raise Died when it ended otherwise, ProbeFailed when it took too long.
    """
    program = f"{_PRELUDE}\nargument = json.loads({json.dumps(argument)!r})\n{code}"
    # `-` would put the program's folder on the search path and read the program line by line; this reads it whole.
    argv = [interpreter, "-E", "-B", "-c", "import sys; exec(compile(sys.stdin.buffer.read(), '<stackplan>', 'exec'))"]
    ran = context.run(
        argv, timeout_s=timeout_s, stdin=program.encode(), cwd="/", environment=environment, descriptors=descriptors
    )
    if ran.exit_code != 0:
        raise Died(ending(ran.exit_code, ran.error_text()), ran.error_text()[-4000:])
    try:
        return json.loads(ran.text())
    except ValueError as error:
        raise ProbeFailed(f"{interpreter} ended without an answer", ran.error_text()[-4000:]) from error


def ending(exit_code: int, stderr: str) -> str:
    """Return in one line how an interpreter ended: the signal's name, or the exception that its traceback ends with."""
    if exit_code < 0:
        try:
            name = signal.Signals(-exit_code).name
        except ValueError:
            name = f"signal {-exit_code}"
        return f"the interpreter was ended by {name}"
    lines = [line for line in stderr.splitlines() if line.strip()]
    frames = [index for index, line in enumerate(lines) if line.startswith('  File "')]
    # The exception stands unindented below the last frame; its message may go on, and others may print after it.
    after = [line for line in lines[frames[-1] if frames else 0 :] if not line[0].isspace()]
    fatal = [line for line in lines if line.startswith("Fatal Python error:")]
    told = fatal or (after if frames else lines[-1:])
    if not told:
        return f"the interpreter ended with exit status {exit_code}"
    return " ".join(_telling(told[0].strip(), lines[lines.index(told[0]) + 1 :]))[:500]


def _telling(first: str, rest: list[str]) -> list[str]:
    """Return of an exception's message what tells most: the line that it begins on, and where that says nothing, the
    next one, and one further down that names a library which cannot be loaded.

    ImportError:
    [sgl_kernel] CRITICAL: Could not load any common_ops library!
    …
    - ImportError: libcudart.so.12: cannot open shared object file: No such file or directory
    """
    if not first.endswith(":"):
        return [first]
    rest = [line.strip() for line in rest]
    telling = [line for line in rest[1:] if any(words in line for words in _LOADER)]
    return [first, *rest[:1], *telling[:1]]
