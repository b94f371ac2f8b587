"""Where the bundle begins to run: the first frame says in which part.

`hello` is the controller's: the node program itself. `work` and `stage` come from a node program that is not root and
needs something done as another user: it starts this same bundle through sudo.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from stackplan.node.frames import Decoder, encode


def main() -> None:
    """Read the first frame of the standard input and become what it asks for; never returns."""
    decoder = Decoder()
    found: list[Any] = []
    while not found:
        # read1 gives what stands in the buffer and only then asks the descriptor: after it the buffer is empty, so
        # that everything behind the first frames can be read from the descriptor itself.
        data: bytes = sys.stdin.buffer.read1(1 << 16)  # type: ignore[union-attr] # the standard input is buffered
        if not data:
            sys.exit(1)
        found = decoder.feed(data)
    first, waiting = found[0], found[1:]
    if "hello" in first:
        from stackplan.node.program import serve  # noqa: PLC0415 - every module is compiled anew on the node: only those that are needed

        serve(first, waiting, decoder.pending)
    elif "work" in first:
        from stackplan.node.asker import work  # noqa: PLC0415 - see above
        from stackplan.node.descriptors import silence  # noqa: PLC0415 - see above

        reader, writer = os.dup(0), os.dup(1)
        silence()
        os.write(writer, encode({"ready": True}))
        work(reader, writer, waiting, decoder.pending)
    elif "stage" in first:
        from stackplan.node.stage import perform  # noqa: PLC0415 - see above

        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        perform(first["stage"])
    sys.exit(0)
