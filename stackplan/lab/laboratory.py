"""A running lab: the index, the nodes' SSH servers, and the files by which stackplan reaches them."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import paramiko

from stackplan.lab.catalogue import channels
from stackplan.lab.failure import LabFailed
from stackplan.lab.gpu import FAMILIES
from stackplan.lab.index import Index, pages
from stackplan.lab.inventory import LabNode, inventory_text, known_hosts_text, ssh_config_text
from stackplan.lab.sandbox import Sandbox, build
from stackplan.lab.server import NodeServer
from stackplan.lab.services import add_services, end_services
from stackplan.lab.uv import find_uv
from stackplan.model.frozen import dataclass

IDENTITY, KNOWN_HOSTS, SSH_CONFIG = "id_lab", "known_hosts", "ssh_config"


@dataclass(frozen=True)
class Lab:
    """`inventory` is the file to give to `-i`; `servers` and `sandboxes` are by node name, in order."""

    folder: Path
    inventory: Path
    identity_file: Path
    known_hosts: Path
    index: Index
    servers: dict[str, NodeServer]
    sandboxes: dict[str, Sandbox]

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(self.servers)


@contextlib.contextmanager
def running_lab(nodes: int = 1, folder: Path | None = None, family: str = "blackwell") -> Iterator[Lab]:
    """Run a lab of `nodes` nodes (gpu-01, gpu-02, …) until the block ends, below `folder` or a temporary one.

    Their GPUs are those of `family`, one of `gpu.FAMILIES`.

    A given `folder` must not hold a lab yet and is left behind; a temporary one is deleted. Raise LabFailed
    without uv, or when a node's environment cannot be made.
    """
    uv = find_uv()
    names = node_names(nodes)
    with contextlib.ExitStack() as stack:
        try:
            lab = _set_up(stack, names, uv, folder, family)
        except OSError as error:
            raise LabFailed(
                "the lab cannot be set up", observed=str(error), remedy="make room, or set TMPDIR to another folder"
            ) from error
        yield lab


def _set_up(stack: contextlib.ExitStack, names: Sequence[str], uv: Path, folder: Path | None, family: str) -> Lab:
    """Start everything and let `stack` end it."""
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="stackplan-lab-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    index = stack.enter_context(Index(pages(channels())))
    sandboxes = {name: Sandbox(folder / "nodes" / name) for name in names}
    _build_all(tuple(sandboxes.values()), uv, index.url, folder / "uv-cache")
    for sandbox in sandboxes.values():
        (sandbox.folder / "gpu").write_text(FAMILIES[family])
    client_key = paramiko.ECDSAKey.generate()
    servers, nodes = {}, []
    for name, sandbox in sandboxes.items():
        host_key = paramiko.ECDSAKey.generate()
        server = NodeServer(
            host_key=host_key, client_key=client_key, home=sandbox.home, environment=sandbox.environment
        )
        stack.callback(server.close)
        servers[name] = server
        nodes.append(LabNode(name, server.port, server.host_key_line, serves_on=add_services(sandbox)))
        stack.callback(end_services, sandbox)
    inventory = folder / "inventory.yaml"
    _write_files(folder, client_key, nodes)
    _write_private(inventory, inventory_text(nodes, index.url, folder / IDENTITY, folder / KNOWN_HOSTS, family))
    return Lab(folder, inventory, folder / IDENTITY, folder / KNOWN_HOSTS, index, servers, sandboxes)


def node_names(count: int) -> tuple[str, ...]:
    width = max(2, len(str(count)))
    return tuple(f"gpu-{number:0{width}}" for number in range(1, count + 1))


def _build_all(sandboxes: Sequence[Sandbox], uv: Path, index: str, cache: Path) -> None:
    """Make all nodes; the first alone, so that the others find its wheels in the cache and only link them."""

    def make(sandbox: Sandbox) -> None:
        build(sandbox, uv, index=index, cache=cache)

    make(sandboxes[0])
    with ThreadPoolExecutor(max_workers=4) as pool:
        list(pool.map(make, sandboxes[1:]))


def _write_files(folder: Path, client_key: paramiko.PKey, nodes: Sequence[LabNode]) -> None:
    """Write what a client of SSH needs."""
    identity_file, known_hosts = folder / IDENTITY, folder / KNOWN_HOSTS
    client_key.write_private_key_file(str(identity_file))
    identity_file.chmod(0o600)
    _write_private(known_hosts, known_hosts_text(nodes))
    _write_private(folder / SSH_CONFIG, ssh_config_text(nodes, identity_file, known_hosts))


def _write_private(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
