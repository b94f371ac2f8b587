"""A node over the `ssh` binary, for what only that can do (GSSAPI, PKCS#11, Match exec, exotic ProxyCommands)."""

import re
import subprocess

from stackplan.connection.failure import HostKeyUnknown
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


def shown_key(node: Node, options: ConnectOptions) -> str | None:
    """Return the key that a host shows, as `ssh-ed25519 SHA256:…`, or None where that cannot be found out.

    `ssh` tells it only when it is asked to be verbose. Nobody is logged in: the host is not trusted.
    """
    argv = arguments(node, options)
    argv.insert(1, "-v")
    try:
        ran = subprocess.run(
            [*argv, "true"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=2 * options.connect_timeout_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    # debug1: Server host key: ssh-ed25519 SHA256:3u0Hf…
    found = re.findall(r"Server host key: (\S+ SHA256:\S+)", ran.stderr.decode("utf-8", "replace"))
    # Of a chain of jump hosts the last one that was asked is the one that is not known.
    return found[-1] if found else None


def key_unknown(where: str, shown: str | None) -> HostKeyUnknown:
    if shown is None:
        return HostKeyUnknown(
            f"no file of known hosts has a key of {where}",
            "`ssh` there by hand shows its fingerprint; compare it, then run again with `--accept-new`",
        )
    return HostKeyUnknown(
        f"no file of known hosts has a key of {where}; it shows {shown}",
        "compare the fingerprint, then run again with `--accept-new`",
    )
