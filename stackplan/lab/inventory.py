"""The inventory, known_hosts and ssh_config of a lab, as texts; pure."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from stackplan.lab import runfile
from stackplan.model.frozen import dataclass


@dataclass(frozen=True)
class LabNode:
    """`host_key` is the key as known_hosts writes it: type and base64. `serves_on` is the port of its servers."""

    name: str
    port: int
    host_key: str
    user: str = "ops"
    serves_on: int | None = None


def variables(index_url: str) -> dict[str, str]:
    """Return the vars that point the shipped playbooks at the lab, and at folders that need no root."""
    return {
        "venv": "~/ml-env",
        "python": "python3",
        "cuda_prefix": "~/cuda-13.0",
        "toolkit_url": f"{index_url}/files/{runfile.NAME}",
        "toolkit_sha256": runfile.SHA256,
        "toolkit_free": "10MB",
        "venv_free": "10MB",
        "torch_index": f"{index_url}/whl/cu130/",
        "torch_cu128_index": f"{index_url}/whl/cu128/",
        "app_index": f"{index_url}/default/",
        "sgl_index": f"{index_url}/sgl/whl/cu130/",
        "flashinfer_index": f"{index_url}/flashinfer/whl/cu130/",
        "flashinfer_cu128_index": f"{index_url}/flashinfer/whl/cu128/",
        "cubin_index": f"{index_url}/flashinfer/whl/",
    }


_OF_FAMILY = {"hopper": {"nvswitch": "false"}}
"""A fabric needs a kernel module, which the lab does not make up."""


def inventory_text(
    nodes: Sequence[LabNode], index_url: str, identity_file: Path, known_hosts: Path, family: str = "blackwell"
) -> str:
    """Return the inventory of the lab: one group, called as its GPUs, that points the shipped playbooks at the lab."""
    lines = [
        "# Written by stackplan's lab: simulated nodes on loopback. It is only good while that lab runs.",
        "stackplan: 1",
        "groups:",
        f"  {family}:",
        "    vars:",
        *_entries({**variables(index_url), **_OF_FAMILY.get(family, {})}, 6),
        "    nodes:",
    ]
    for node in nodes:
        lines.append(f"      {node.name}:")
        fields: dict[str, str | int] = {
            "host": "127.0.0.1",
            "port": node.port,
            "user": node.user,
            "identity_file": str(identity_file),
            "known_hosts": str(known_hosts),
        }
        lines += _entries(fields, 8)
        if node.serves_on is not None:
            lines += ["        vars:", *_entries({"server_url": f"http://127.0.0.1:{node.serves_on}"}, 10)]
    return "\n".join(lines) + "\n"


def _entries(fields: Mapping[str, str | int], indent: int) -> list[str]:
    return [f"{' ' * indent}{key}: {_scalar(value)}" for key, value in fields.items()]


def _scalar(value: str | int) -> str:
    """Return a number as it is and a text between quotes: a path may hold what YAML takes for something else."""
    if isinstance(value, int):
        return str(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def ssh_config_text(nodes: Sequence[LabNode], identity_file: Path, known_hosts: Path) -> str:
    """Return what `ssh -F FILE NODE` needs to log in to each node."""
    lines = ["# Written by stackplan's lab, for `ssh -F` with this file; it is only good while that lab runs."]
    for node in nodes:
        lines += [
            f"Host {node.name}",
            "  HostName 127.0.0.1",
            f"  Port {node.port}",
            f"  User {node.user}",
            f"  IdentityFile {_in_ssh_config(identity_file)}",
            f"  UserKnownHostsFile {_in_ssh_config(known_hosts)}",
            "  IdentitiesOnly yes",
            "  StrictHostKeyChecking yes",
            "  RequestTTY no",
        ]
    return "\n".join(lines) + "\n"


def _in_ssh_config(path: Path) -> str:
    """Return a path as ssh_config takes it: `%` begins a token there, and a blank ends a word."""
    return '"' + str(path).replace("%", "%%") + '"'


def known_hosts_text(nodes: Sequence[LabNode]) -> str:
    return "".join(f"[127.0.0.1]:{node.port} {node.host_key}\n" for node in nodes)
