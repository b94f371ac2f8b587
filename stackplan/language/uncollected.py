"""Work whose every object stays until it is done, without garbage collection in between."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Put off garbage collection: a tree of a hundred thousand parts that all stay would be gone through many times."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
