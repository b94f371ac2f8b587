"""Nodes and how they are reached."""

import enum
from collections.abc import Mapping
from dataclasses import field
from typing import NewType

from stackplan.model.frozen import dataclass
from stackplan.model.location import Location
from stackplan.model.playbook import Variable

NodeName = NewType("NodeName", str)


class Transport(enum.Enum):
    SSH = "ssh"
    OPENSSH = "openssh"
    LOCAL = "local"
    COMMAND = "command"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One machine. `host` None is looked up under the node's name in `~/.ssh/config`; `variables` are its own and its
    groups', nearest last. `command` is the argv of transport COMMAND (`kubectl exec -i pod --`); the controller appends
    a shell command line to it.
    """

    name: NodeName
    host: str | None = None
    port: int | None = None
    user: str | None = None
    identity_file: str | None = None
    known_hosts: str | None = None
    jump: str | None = None
    transport: Transport = Transport.SSH
    command: tuple[str, ...] = ()
    become: bool = False
    python: str | None = None
    variables: Mapping[str, Variable] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    at: Location | None = None


@dataclass(frozen=True, slots=True)
class Inventory:
    """All nodes in file order, and for each group the names of its nodes (those of its sub-groups included)."""

    path: str | None
    nodes: Mapping[NodeName, Node]
    groups: Mapping[str, tuple[NodeName, ...]]
