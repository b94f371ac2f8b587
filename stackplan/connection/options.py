"""How to connect, apart from what the inventory says of each node."""

from stackplan.model.frozen import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectOptions:
    """`accept_new` records the key of a host that has none on record; it never accepts a changed one.

    `connect_timeout_s` bounds each of: connecting, the server's greeting, authentication, the node program's answer.
    `known_hosts` is the file for all nodes that name none themselves; None leaves it to ~/.ssh/config.
    """

    accept_new: bool = False
    connect_timeout_s: float = 15.0
    known_hosts: str | None = None
