"""What an Ansible inventory prints with `--list`, as an inventory: groups, children, `_meta.hostvars`."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from stackplan.language import groups
from stackplan.model.arguments import Value
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.location import Location
from stackplan.model.node import Inventory, Node, NodeName, Transport
from stackplan.model.playbook import Variable
from stackplan.model.regular import regular
from stackplan.model.secret import masked

PROGRAM_S = 60.0
_LARGEST = 16 * 1024 * 1024
_TRANSPORTS = {"local": Transport.LOCAL, "ssh": Transport.SSH, "smart": Transport.SSH, "paramiko": Transport.SSH}
_TAKEN = "node"
_IMPLIED = ("all", "ungrouped")
_NAME = regular("[A-Za-z0-9_][A-Za-z0-9_.:@-]*")
_WORD = regular(r"[^-\s\x00-\x1f\x7f\ud800-\udfff][^\s\x00-\x1f\x7f\ud800-\udfff]*")
_UNREADABLE = regular("[\x00\ud800-\udfff]")


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
    """Return the inventory of `--list` data. Raise Invalid with everything that is wrong in it."""
    builder = _Ansible(found, named)
    built = builder.inventory()
    if builder.diagnoses:
        raise Invalid(builder.diagnoses)
    return built


class _Ansible:
    """Puts nodes and groups together; what is wrong is collected, and read as if it were not there."""

    def __init__(self, found: Mapping[str, Any], named: str) -> None:
        self.diagnoses: list[Diagnosis] = []
        self._at = Location(named, 1, 1)
        self._named = named
        meta = self._mapping(found.get("_meta", {}), "_meta")
        self._own = self._mapping(meta.get("hostvars", {}), "_meta.hostvars")
        self._variables_of: dict[str, dict[str, Variable]] = {}
        self._hosts: dict[str, list[str]] = {}
        self._children: dict[str, list[str]] = {}
        for name, group in found.items():
            if name != "_meta":
                self._take(name, {"hosts": group} if isinstance(group, list) else self._mapping(group, name))
        # What `ansible-inventory` prints names empty groups as children and leaves them out otherwise.
        for child in [it for inner in self._children.values() for it in inner if it not in self._children]:
            self._hosts[child], self._children[child], self._variables_of[child] = [], [], {}
        if circle := groups.circle(self._children):
            self._note("these groups hold each other in a circle", observed=" → ".join(circle))

    def _take(self, name: str, group: Mapping[str, Any]) -> None:
        if not name or _UNREADABLE.search(name):
            self._note(f"`{_plain(name)}` cannot be the name of a group")
        self._hosts[name] = self._texts(group.get("hosts", []), f"{name}.hosts")
        self._children[name] = self._texts(group.get("children", []), f"{name}.children")
        values = self._mapping(group.get("vars", {}), f"{name}.vars")
        self._variables_of[name] = self._variables(values, f"group {name}")

    def inventory(self) -> Inventory:
        hosts = dict.fromkeys([host for inner in self._hosts.values() for host in inner] + list(self._own))
        for host in hosts:
            if not _NAME.fullmatch(host):
                expected = "letters, digits, `_`, `-`, `.`, `:` and `@`, the first a letter, a digit or `_`"
                self._note(f"`{_plain(host)}` cannot be the name of a host", expected=expected)
        members = {name: frozenset(inner) for name, inner in self._hosts.items()}
        nodes = {NodeName(host): self._node(host, members) for host in hosts}
        found = {
            name: tuple(node for node in nodes if name in nodes[node].groups)
            for name in self._children
            if name not in _IMPLIED
        }
        return Inventory(self._named, nodes, found)

    def _node(self, host: str, members: Mapping[str, frozenset[str]]) -> Node:
        distances = groups.distances([name for name, inner in members.items() if host in inner], self._children)
        order = {name: index for index, name in enumerate(self._children)}
        found: dict[str, Variable] = {}
        for group in sorted(distances, key=lambda it: (it != "all", -distances[it], order[it])):
            found |= self._variables_of[group]
        found |= self._variables(self._mapping(self._own.get(host, {}), f"_meta.hostvars.{host}"), f"node {host}")
        return Node(
            name=NodeName(host),
            host=self._word(found, host, "ansible_host", "ansible_ssh_host"),
            port=self._port(found, host),
            user=self._word(found, host, "ansible_user", "ansible_ssh_user"),
            identity_file=self._said(found, host, "ansible_ssh_private_key_file", "ansible_private_key_file"),
            transport=self._transport(found, host),
            become=(self._said(found, host, "ansible_become") or "").lower() in ("true", "yes"),
            variables={
                name: it for name, it in found.items() if not name.startswith("ansible_") and name.isidentifier()
            },
            groups=tuple(group for group in order if group in distances and group not in _IMPLIED),
            at=self._at,
        )

    def _variables(self, values: Mapping[str, Any], origin: str) -> dict[str, Variable]:
        for name, value in values.items():
            if any(_UNREADABLE.search(text) for text in (name, *_texts_in(value))):
                summary = f"the variable `{_plain(name)}` of {_plain(origin)} holds what no file or terminal can take"
                self._note(summary, expected="texts without NUL and lone surrogates")
        return {
            name: Variable(name, _value(value), self._at, origin) for name, value in values.items() if name != _TAKEN
        }

    def _said(self, found: Mapping[str, Variable], host: str, *names: str) -> str | None:
        """Return the text of the first of these variables that says something."""
        for name in names:
            value = found[name].value if name in found else None
            if value is None or value == "":
                continue
            if isinstance(value, (str, bool)):
                return str(value)
            kind = "a mapping" if isinstance(value, Mapping) else "a list"
            self._note(f"`{name}` of {_plain(host)} is not a text", expected="a text", observed=kind)
        return None

    def _word(self, found: Mapping[str, Variable], host: str, *names: str) -> str | None:
        text = self._said(found, host, *names)
        if text is not None and not _WORD.fullmatch(text):
            expected = "one word that does not begin with `-`"
            self._note(f"`{names[0]}` of {_plain(host)} cannot be used", expected=expected, observed=_plain(text))
            return None
        return text

    def _port(self, found: Mapping[str, Variable], host: str) -> int | None:
        text = self._said(found, host, "ansible_port", "ansible_ssh_port")
        if text is None:
            return None
        if not re.fullmatch("[0-9]{1,5}", text) or not 0 < int(text) < 65536:
            expected = "a whole number from 1 to 65535"
            self._note(f"`ansible_port` of {_plain(host)} is no port", expected=expected, observed=_plain(text))
            return None
        return int(text)

    def _transport(self, found: Mapping[str, Variable], host: str) -> Transport:
        word = self._said(found, host, "ansible_connection")
        if word is None:
            return Transport.SSH
        if word.rpartition(".")[2] not in _TRANSPORTS:
            summary = f"`ansible_connection` of {_plain(host)} is not known here"
            self._note(summary, expected=f"one of {', '.join(_TRANSPORTS)}", observed=_plain(word))
        return _TRANSPORTS.get(word.rpartition(".")[2], Transport.SSH)

    def _mapping(self, found: object, where: str) -> Mapping[str, Any]:
        if isinstance(found, dict):
            return found
        self._note(f"this is not an Ansible inventory: {_plain(where)} is not an object")
        return {}

    def _texts(self, found: object, where: str) -> list[str]:
        if isinstance(found, list) and all(isinstance(it, str) for it in found):
            return found
        self._note(f"this is not an Ansible inventory: {_plain(where)} is not a list of names")
        return []

    def _note(self, summary: str, *, expected: str | None = None, observed: str | None = None) -> None:
        self.diagnoses.append(Diagnosis(summary=summary, expected=expected, observed=observed, at=self._at))


def _plain(text: str) -> str:
    """Return a text of the inventory as a message shows it, what no terminal can take escaped."""
    return masked(text)[:80].encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\0")


def _texts_in(found: object) -> Iterator[str]:
    if isinstance(found, str):
        yield found
    elif isinstance(found, dict):
        for key, value in found.items():
            yield key
            yield from _texts_in(value)
    elif isinstance(found, list):
        for item in found:
            yield from _texts_in(item)


def _value(found: Any) -> Value:
    if isinstance(found, dict):
        return {str(key): _value(item) for key, item in found.items()}
    if isinstance(found, list):
        return tuple(_value(item) for item in found)
    assert found is None or isinstance(found, (bool, str))
    return found
