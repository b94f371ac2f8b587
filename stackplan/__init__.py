"""stackplan: declarative upgrade plans for GPU nodes, proven before, after and ever since.

This file imports nothing, so that `stackplan --version` stays fast.
"""

__version__ = "0.1.0"
