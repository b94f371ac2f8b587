"""Who holds a node: what the lock says of a run."""

from dataclasses import asdict, fields

from stackplan.model.frozen import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LockOwner:
    """All for people to read, but `run`: processes of one run share the lock, all others are kept out."""

    run: str
    operator: str
    host: str
    playbook: str
    time: str

    def plain(self) -> dict[str, str]:
        return asdict(self)

    @classmethod
    def read(cls, value: object) -> "LockOwner | None":
        """Return the owner that a node tells of, None when it says nothing of use."""
        if not isinstance(value, dict) or not value.get("run"):
            return None
        return cls(**{it.name: str(value.get(it.name) or "unknown") for it in fields(cls)})
