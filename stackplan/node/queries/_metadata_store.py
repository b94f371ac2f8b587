"""What wheels said of themselves, kept on the node by their digest: a plan that is made again asks no index for it."""

from __future__ import annotations

from typing import Any

from stackplan.node.queries._store import Store

STORE = Store("metadata", most=4000, largest=32 * 1024 * 1024)
_KEYS = ("name", "version", "requires", "requires_python", "provides_extra")


def kept(sha256: str) -> dict[str, Any] | None:
    """Return what the wheel of this digest says, None when it is not kept."""
    about = STORE.kept(sha256)
    return about if isinstance(about, dict) and all(key in about for key in _KEYS) else None


def keep(sha256: str, about: dict[str, Any]) -> None:
    """Keep what the wheel of this digest says."""
    STORE.keep(sha256, {key: about[key] for key in _KEYS})
