"""What can go wrong between here and a node, each by its own name.

ConnectionFailure
    NodeUnreachable         no way to the node: name, address, port, time limit; trying again may help
    HostKeyUnknown          nobody has vouched for the key that it shows
    HostKeyChanged          it shows another key than the one on record
    AuthenticationRefused
    NodeProgramMissing      the login works, the node program does not answer
        PythonTooOld
    ConnectionLost          it was there and is gone
    NodeProgramFailed       the node program could not do what it was asked
    Locked                  another run holds the node
"""

from stackplan.connection.lock_owner import LockOwner


class ConnectionFailure(Exception):
    """`summary` says what was expected and what was seen, `remedy` what to do about it (None rather than a guess)."""

    def __init__(self, summary: str, remedy: str | None = None) -> None:
        super().__init__(summary)
        self.summary = summary
        self.remedy = remedy


class NodeUnreachable(ConnectionFailure):
    pass


class HostKeyUnknown(ConnectionFailure):
    pass


class HostKeyChanged(ConnectionFailure):
    pass


class AuthenticationRefused(ConnectionFailure):
    pass


class NodeProgramMissing(ConnectionFailure):
    """`printed` is what came instead of the node program's answer: profiles, shells and sudo speak there."""

    def __init__(self, summary: str, remedy: str | None = None, *, printed: str = "") -> None:
        super().__init__(f"{summary}; the node printed:\n{printed}" if printed else summary, remedy)
        self.printed = printed


class PythonTooOld(NodeProgramMissing):
    pass


class ConnectionLost(ConnectionFailure):
    pass


class NodeProgramFailed(ConnectionFailure):
    pass


class Locked(ConnectionFailure):
    """`owner` None: the node does not say who holds it."""

    def __init__(self, owner: LockOwner | None) -> None:
        self.owner = owner
        held = (
            f"by run {owner.run} of {owner.operator} on {owner.host} (playbook {owner.playbook}, since {owner.time})"
            if owner
            else "by another run"
        )
        super().__init__(f"the node is locked {held}", "wait until that run has ended")
