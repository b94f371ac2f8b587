"""What an Ansible inventory prints with `--list`, as an inventory: groups, children, `_meta.hostvars`."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stackplan.model.arguments import Value
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.location import Location
from stackplan.model.node import Inventory, Node, NodeName, Transport
from stackplan.model.playbook import Variable
from stackplan.model.secret import masked

PROGRAM_S = 60.0
_LARGEST = 16 * 1024 * 1024
_TRANSPORTS = {"local": Transport.LOCAL, "ssh": Transport.SSH, "smart": Transport.SSH, "paramiko": Transport.SSH}
_TAKEN = "node"


def printed_by(path: Path, named: str, *, timeout_s: float = PROGRAM_S) -> dict[str, Any]:
    """Return what a program prints with `--list`. Raise Invalid, with the end of its stderr, if it is none."""
    try:
        done = subprocess.run(
            [str(path.absolute()), "--list"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Invalid([Diagnosis(summary=f"`{named} --list` took longer than {timeout_s:g} s")]) from error
    except OSError as error:
        raise Invalid([Diagnosis(summary=f"`{named}` cannot be started: {error.strerror}")]) from error
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-5:]
    if done.returncode != 0:
        how = f"exited {done.returncode}" if done.returncode > 0 else f"was ended by signal {-done.returncode}"
        raise Invalid([Diagnosis(summary=f"`{named} --list` {how}", causes=tuple(said))])
    try:
        text = done.stdout[:_LARGEST].decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    found = document(text)
    if found is None:
        expected = "the JSON of an Ansible inventory: one object"
        observed = masked(done.stdout[:_LARGEST].decode("utf-8", "replace"))[:80] or "nothing"
        summary = f"`{named} --list` printed no inventory"
        raise Invalid([Diagnosis(summary=summary, expected=expected, observed=observed, causes=tuple(said))])
    return found


def document(text: str) -> dict[str, Any] | None:
    """Return the JSON object of an Ansible inventory, numbers as written, or None when the text is not one."""
    try:
        found = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or "stackplan" in found:
        return None
    return found


def inventory(found: Mapping[str, Any], named: str) -> Inventory:
    """Return the inventory of `--list` data. Raise Invalid when it is not of that form."""
    try:
        return _Ansible(found, named).inventory()
    except _Malformed as error:
        at = Location(named, 1, 1)
        raise Invalid([Diagnosis(summary=f"this is not an Ansible inventory: {error}", at=at)]) from error


class _Malformed(Exception):
    """Never leaves the module."""


class _Ansible:
    def __init__(self, found: Mapping[str, Any], named: str) -> None:
        self._at = Location(named, 1, 1)
        self._named = named
        meta = _mapping(found.get("_meta", {}), "_meta")
        self._own = _mapping(meta.get("hostvars", {}), "_meta.hostvars")
        self._groups = {
            name: {"hosts": group} if isinstance(group, list) else _mapping(group, name)
            for name, group in found.items()
            if name != "_meta"
        }

    def inventory(self) -> Inventory:
        hosts = {host: None for group in self._groups for host in self._hosts(group)}
        hosts |= dict.fromkeys(self._own)
        nodes = {NodeName(host): self._node(host) for host in hosts}
        groups = {
            name: tuple(node for node in nodes if name in nodes[node].groups)
            for name in self._groups
            if name not in ("all", "ungrouped")
        }
        return Inventory(self._named, nodes, groups)

    def _hosts(self, group: str) -> list[str]:
        return _texts(self._groups[group].get("hosts", []), f"{group}.hosts")

    def _children(self, group: str) -> list[str]:
        return _texts(self._groups[group].get("children", []), f"{group}.children")

    def _node(self, host: str) -> Node:
        distances = self._distances(host)
        order = list(self._groups)
        found: dict[str, Variable] = {}
        for group in sorted(distances, key=lambda it: (it != "all", -distances[it], order.index(it))):
            values = _mapping(self._groups[group].get("vars", {}), f"{group}.vars")
            found |= self._variables(values, f"group {group}")
        found |= self._variables(_mapping(self._own.get(host, {}), f"_meta.hostvars.{host}"), f"node {host}")
        said = {name: variable.value for name, variable in found.items()}
        return Node(
            name=NodeName(host),
            host=_said(said, "ansible_host", "ansible_ssh_host"),
            port=self._port(said, host),
            user=_said(said, "ansible_user", "ansible_ssh_user"),
            identity_file=_said(said, "ansible_ssh_private_key_file", "ansible_private_key_file"),
            transport=self._transport(said, host),
            become=str(said.get("ansible_become", "")).lower() in ("true", "yes"),
            variables={
                name: it for name, it in found.items() if not name.startswith("ansible_") and name.isidentifier()
            },
            groups=tuple(group for group in order if group in distances and group not in ("all", "ungrouped")),
            at=self._at,
        )

    def _distances(self, host: str) -> dict[str, int]:
        """Return how far each group that holds a host is from it; a circle of children ends by itself."""
        found = {group: 0 for group in self._groups if host in self._hosts(group)}
        edge = set(found)
        distance = 0
        while edge:
            distance += 1
            edge = {group for group in self._groups if group not in found and edge.intersection(self._children(group))}
            found |= dict.fromkeys(edge, distance)
        return found

    def _variables(self, values: Mapping[str, Any], origin: str) -> dict[str, Variable]:
        return {
            name: Variable(name, _value(value), self._at, origin) for name, value in values.items() if name != _TAKEN
        }

    def _port(self, said: Mapping[str, object], host: str) -> int | None:
        text = _said(said, "ansible_port", "ansible_ssh_port")
        if text is None:
            return None
        if not text.isdecimal() or not 0 < int(text[:9]) < 65536:
            raise _Malformed(f"ansible_port of {host} is {text[:40]!r}")
        return int(text)

    def _transport(self, said: Mapping[str, object], host: str) -> Transport:
        word = _said(said, "ansible_connection")
        if word is None:
            return Transport.SSH
        if word.rpartition(".")[2] not in _TRANSPORTS:
            raise _Malformed(f"ansible_connection of {host} is {word[:40]!r}, which is not known here")
        return _TRANSPORTS[word.rpartition(".")[2]]


def _mapping(found: object, where: str) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise _Malformed(f"{where} is not an object")
    return found


def _texts(found: object, where: str) -> list[str]:
    if not isinstance(found, list) or not all(isinstance(it, str) for it in found):
        raise _Malformed(f"{where} is not a list of names")
    return found


def _value(found: Any) -> Value:
    if isinstance(found, dict):
        return {str(key): _value(item) for key, item in found.items()}
    if isinstance(found, list):
        return tuple(_value(item) for item in found)
    assert found is None or isinstance(found, (bool, str))
    return found


def _said(said: Mapping[str, object], *names: str) -> str | None:
    return next((str(said[name]) for name in names if said.get(name) not in (None, "")), None)
