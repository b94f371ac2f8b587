"""A node over the `ssh` binary, for what only that can do (GSSAPI, PKCS#11, Match exec, exotic ProxyCommands)."""

from stackplan.connection.options import ConnectOptions
from stackplan.connection.process import ProcessStream
from stackplan.model.node import Node

ALIVE_INTERVAL_S = 15
ALIVE_COUNT = 3


def arguments(node: Node, options: ConnectOptions) -> list[str]:
    """Return the argv of `ssh` up to the host, that included; never asks, never shares a connection with others."""
    checking = "accept-new" if options.accept_new else "yes"
    settings = {
        "BatchMode": "yes",
        "ControlMaster": "no",
        "ControlPath": "none",
        "ForwardAgent": "no",
        "ForwardX11": "no",
        "ClearAllForwardings": "yes",
        "PermitLocalCommand": "no",
        "RemoteCommand": "none",
        "RequestTTY": "no",
        "StrictHostKeyChecking": checking,
        "UpdateHostKeys": "no",
        "ConnectTimeout": str(max(1, round(options.connect_timeout_s))),
        "ServerAliveInterval": str(ALIVE_INTERVAL_S),
        "ServerAliveCountMax": str(ALIVE_COUNT),
    }
    known_hosts = node.known_hosts or options.known_hosts
    if known_hosts is not None:
        settings["UserKnownHostsFile"] = f'"{known_hosts}"'
    argv = ["ssh", "-T"]
    for name, value in settings.items():
        argv += ["-o", f"{name}={value}"]
    if node.port is not None:
        argv += ["-p", str(node.port)]
    if node.user is not None:
        argv += ["-l", node.user]
    if node.identity_file is not None:
        argv += ["-i", node.identity_file, "-o", "IdentitiesOnly=yes"]
    if node.jump is not None:
        argv += ["-J", node.jump]
    # A host that begins with a dash would be read as an option.
    return [*argv, "--", node.host or node.name]


def openssh(node: Node, shell_command: str, options: ConnectOptions) -> ProcessStream:
    """Start `ssh`. Raise NodeUnreachable when there is none here; the rest shows when nobody answers."""
    return ProcessStream([*arguments(node, options), shell_command])
