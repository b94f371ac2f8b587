"""Addresses that lead nowhere but to the node itself, where nobody is on the way."""

from stackplan.model.regular import regular

_OWN = regular(
    r"(?:\w+://)?(?:[^/@]*@)?"
    # The node by loopback, and by any of its addresses.
    r"(?:(?:localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\]"
    # What a cloud tells its machines about themselves: link-local, and the fixed names and addresses for it.
    r"|169\.254\.\d+\.\d+|\[fe80:[^\]]*\]|\[fd00:ec2::254\]|metadata\.google\.internal|100\.100\.100\.200"
    # The node by its own name, as a script writes it.
    r"|\$HOSTNAME|\$\{HOSTNAME[^}]*\})(?=[:/]|$)"
    r"|\$\(hostname\b|`hostname\b)"
)


def is_own(address: str) -> bool:
    """Return whether an address, with a scheme or without, is the node's own or its cloud's about the node."""
    return _OWN.match(address) is not None
