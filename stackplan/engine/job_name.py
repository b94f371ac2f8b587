"""The name of a job: that of its folder in the node's spool, and what it is started once by. Pure."""

import re
import zlib


def job_name(run: str, node: str, step: str, attempt: int) -> str:
    return f"{run}.{_folder_name(node)}.{step}.{attempt}"


def _folder_name(node: str) -> str:
    """Return a node's name as it may stand in that of a folder. Two names of one machine have jobs of their own."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", node)
    return plain if plain == node else f"{plain[:40]}-{zlib.crc32(node.encode('utf-8', 'surrogatepass')):08x}"
