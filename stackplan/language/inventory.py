"""The nodes: from an inventory file, from what an Ansible inventory prints, or from the command line.

Variables of groups reach a node from the farthest group to the nearest, then in file order; its own come last.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path

from stackplan.language import ansible, groups, schema, source, tree, variables
from stackplan.language.nearest import did_you_mean
from stackplan.language.project import shown
from stackplan.language.reading import Read, Reading, value_of
from stackplan.language.tree import YamlMapping, YamlScalar, YamlSequence
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.frozen import dataclass
from stackplan.model.location import Location
from stackplan.model.node import Inventory, Node, NodeName, Transport
from stackplan.model.playbook import Variable
from stackplan.model.regular import regular

FILE = "inventory.yaml"
LOCAL = NodeName("localhost")
_TARGET = regular(r"(?:(?P<user>[^@\s]+)@)?(?P<host>\[[^\[\]\s]+\]|[^:@\[\]\s/]+)(?::(?P<port>[0-9]+))?")

_ANSIBLE_PASSWORD = regular("ansible_(?:[a-z0-9_]+_)?(?:pass|password|passwd|passphrase)")
"""As in `ansible_password`, `ansible_ssh_pass`, `ansible_become_password`."""


def read(path: Path) -> Inventory:
    """Return the inventory of a file: YAML, the JSON of `ansible-inventory --list`, or a program that prints it.

    Raise Invalid with everything that is wrong in it.
    """
    named = shown(path)
    if _is_program(path, named):
        return ansible.inventory(ansible.printed_by(path, named), named)
    data = tree.read_bytes(path, named)
    text = tree.decode(data, named)
    if text.lstrip().startswith("{") and (found := ansible.document(text)) is not None:
        return ansible.inventory(found, named)
    return read_text(text, named)


def _is_program(path: Path, named: str) -> bool:
    # Only of what has the right: a pipe can be read once.
    return os.access(path, os.X_OK) and tree.read_start(path, named, 4).startswith((b"#!", b"\x7fELF"))


def read_text(text: str, named: str) -> Inventory:
    """Return the inventory of YAML text. Raise Invalid with everything that is wrong in it."""
    sources = {named: source.lines(text)}
    whole = tree.read_text(text, named)
    if not isinstance(whole, YamlMapping):
        diagnosis = Diagnosis(summary="this is not an inventory", expected="a YAML mapping", at=whole.at)
        raise source.invalid([diagnosis], sources)
    compiler = schema.compiler("inventory")
    reading = Reading(compiler)
    found = reading.read(compiler.shape("#"), whole, "the inventory")
    assert isinstance(found, YamlMapping)
    builder = _Builder(found, reading.diagnoses)
    builder.collect()
    if builder.diagnoses:
        raise source.invalid(builder.diagnoses, sources)
    return builder.built(named)


def nearest(start: Path) -> Path | None:
    """Return the `inventory.yaml` in a folder or the nearest one above it, or None."""
    folder = start.absolute()
    return next((it / FILE for it in (folder, *folder.parents) if (it / FILE).is_file()), None)


def local() -> Inventory:
    """Return the inventory of `--local`: this machine alone, without SSH."""
    return Inventory(None, {LOCAL: Node(name=LOCAL, transport=Transport.LOCAL)}, {})


def from_targets(targets: Iterable[str]) -> Inventory:
    """Return the inventory of `-n user@host:port`, repeated. Raise Invalid for what is none, or given twice."""
    nodes: dict[NodeName, Node] = {}
    diagnoses = []
    for target in targets:
        node = _target(target)
        if node is None:
            diagnoses.append(_no_target(target))
        elif node.name in nodes:
            diagnoses.append(Diagnosis(summary=f"`-n {target}` names a node twice", expected="each node once"))
        else:
            nodes[node.name] = node
    if diagnoses:
        raise Invalid(diagnoses)
    return Inventory(None, nodes, {})


def _target(text: str) -> Node | None:
    match = _TARGET.fullmatch(text)
    if match is None or match["host"].startswith("-") or (match["user"] or "").startswith("-"):
        return None
    if ":" in (match["user"] or ""):
        return None
    port = int(match["port"]) if match["port"] and len(match["port"]) <= 5 else None
    if match["port"] and (port is None or not 0 < port < 65536):
        return None
    host = match["host"].strip("[]")
    # Two servers on one host (the lab's, a forwarded port) are told apart by their ports.
    name = host if port is None else f"{match['host']}:{port}"
    # Without a port or user the name may be one of ~/.ssh/config, which a host of None leaves to it.
    alone = port is None and host == match["host"]
    return Node(name=NodeName(name), host=None if alone else host, port=port, user=match["user"])


def _no_target(text: str) -> Diagnosis:
    """Return what is wrong with the text of a `-n`, without the password that may stand in it."""
    expected = "[user@]host[:port], with brackets around an IPv6 address"
    if not text.strip():
        return Diagnosis(summary="`-n` names no node: it is empty", expected=expected)
    before, at, host = text.rpartition("@")
    user, colon, _ = before.rpartition("://")[2].partition(":")
    if at and colon:
        how = "a password cannot be given here: log in with a key, or an agent that holds one"
        return Diagnosis(summary=f"`-n {user[:40]}:***@{host[:40]}` holds a password", expected=expected, remedy=how)
    bare = text.partition("://")[2].rstrip("/")
    remedy = f"write `-n {bare}`" if bare and _target(bare) is not None else None
    return Diagnosis(summary=f"`-n {text[:80]}` names no node", expected=expected, remedy=remedy)


@dataclass
class _Group:
    name: str
    at: Location
    variables: Mapping[str, Variable] = field(default_factory=dict)
    nodes: list[str] = field(default_factory=list)
    groups: list[tuple[str, Location]] = field(default_factory=list)


@dataclass
class _Builder:
    """Puts nodes and groups together from an inventory that the schema accepted, or as far as it did."""

    whole: YamlMapping
    diagnoses: list[Diagnosis]
    groups: dict[str, _Group] = field(default_factory=dict)
    nodes: dict[str, tuple[Location, YamlMapping | None]] = field(default_factory=dict)

    def collect(self) -> None:
        """Gather groups and nodes, and everything that is wrong in what they say of each other."""
        self._collect_nodes(self.whole.get("nodes"), None)
        described = self.whole.get("groups")
        for key, tree_of_group in described.entries if isinstance(described, YamlMapping) else ():
            group = self.groups[key.text] = _Group(key.text, key.at)
            if isinstance(tree_of_group, YamlMapping):
                group.variables = self._variables(tree_of_group, f"group {key.text}")
                group.groups = list(_names(tree_of_group.get("groups")))
                self._collect_nodes(tree_of_group.get("nodes"), group)
        for name, (_, fields) in self.nodes.items():
            for group_name, at in _names(fields.get("groups")) if fields is not None else ():
                if group_name in self.groups:
                    if name not in self.groups[group_name].nodes:
                        self.groups[group_name].nodes.append(name)
                else:
                    self._note_no_group(group_name, at)
        self._check_groups()

    def _collect_nodes(self, nodes: Read | None, group: _Group | None) -> None:
        for key, fields in nodes.entries if isinstance(nodes, YamlMapping) else ():
            described = fields if isinstance(fields, YamlMapping) else None
            known = self.nodes.get(key.text)
            if known is None or known[1] is None:
                self.nodes[key.text] = (key.at if described or known is None else known[0], described)
            elif described is not None:
                observed = f"the first time at {known[0].line}:{known[0].column}"
                remedy = "describe it once, and name it without fields elsewhere"
                summary = f"the node `{key.text}` is described twice"
                self.diagnoses.append(Diagnosis(summary=summary, at=key.at, observed=observed, remedy=remedy))
            if described is not None:
                self._variables(described, f"node {key.text}")
                self._check_connection(key, described)
            if group is not None:
                group.nodes.append(key.text)

    def _check_connection(self, key: YamlScalar, fields: YamlMapping) -> None:
        connection = fields.get("connection")
        word = value_of(connection) if connection is not None else None
        command = fields.get("command")
        if word == "command" and command is None:
            summary = f"the node `{key.text}` has `connection: command` and no `command`"
            remedy = "add `command: [program, argument]`"
            at = connection.at if connection is not None else key.at
            self.diagnoses.append(Diagnosis(summary=summary, at=at, remedy=remedy))
        if command is not None and word != "command":
            summary = f"the node `{key.text}` has a `command` that nothing uses"
            remedy = "add `connection: command`"
            self.diagnoses.append(Diagnosis(summary=summary, at=fields.key_at("command"), remedy=remedy))

    def _variables(self, fields: YamlMapping, origin: str) -> Mapping[str, Variable]:
        found = fields.get("vars")
        if not isinstance(found, YamlMapping):
            return {}
        self.diagnoses += variables.faults(found)
        return _variables_of(found, origin)

    def _check_groups(self) -> None:
        for group in self.groups.values():
            if group.name in self.nodes:
                summary = f"`{group.name}` is the name of a node and of a group"
                self.diagnoses.append(Diagnosis(summary=summary, at=group.at, remedy="give one of them another name"))
            if group.name == "all":
                summary = "`all` is taken: it stands for all nodes"
                self.diagnoses.append(Diagnosis(summary=summary, at=group.at, remedy="give the group another name"))
            for name, at in group.groups:
                if name not in self.groups:
                    self._note_no_group(name, at)
        if circle := groups.circle(self._children()):
            observed = " → ".join(circle)
            at = self.groups[circle[0]].at
            self.diagnoses.append(
                Diagnosis(summary="these groups hold each other in a circle", observed=observed, at=at)
            )

    def _children(self) -> dict[str, list[str]]:
        return {name: [it for it, _ in group.groups] for name, group in self.groups.items()}

    def _note_no_group(self, name: str, at: Location) -> None:
        remedy = did_you_mean(name, self.groups)
        self.diagnoses.append(Diagnosis(summary=f"there is no group `{name}`", at=at, remedy=remedy))

    def built(self, named: str) -> Inventory:
        """Return the inventory, now that nothing is wrong in it."""
        defaults = self.whole.get("defaults")
        shared = defaults if isinstance(defaults, YamlMapping) else YamlMapping((), self.whole.at)
        nodes = {NodeName(name): self._node(name, at, fields, shared) for name, (at, fields) in self.nodes.items()}
        members = {name: tuple(node for node in nodes if name in nodes[node].groups) for name in self.groups}
        return Inventory(named, nodes, members)

    def _node(self, name: str, at: Location, own: YamlMapping | None, shared: YamlMapping) -> Node:
        fields = {key.text: value for key, value in (*shared.entries, *(own.entries if own is not None else ()))}
        holding = [group.name for group in self.groups.values() if name in group.nodes]
        distances = groups.distances(holding, self._children())
        found = dict(_variables_of(_mapping(shared.get("vars"), at), "inventory defaults"))
        order = list(self.groups)
        for group in sorted(distances, key=lambda it: (-distances[it], order.index(it))):
            found |= self.groups[group].variables
        found |= _variables_of(_mapping(own.get("vars") if own is not None else None, at), f"node {name}")
        labels = {**_texts(shared.get("labels")), **_texts(own.get("labels") if own is not None else None)}
        command = fields.get("command")
        port = value_of(fields["port"]) if "port" in fields else None
        return Node(
            name=NodeName(name),
            host=_text(fields.get("host")),
            port=port if isinstance(port, int) else None,
            user=_text(fields.get("user")),
            identity_file=_text(fields.get("identity_file")),
            known_hosts=_text(fields.get("known_hosts")),
            jump=_text(fields.get("jump")),
            transport=Transport(_text(fields.get("connection")) or "ssh"),
            command=tuple(word for word, _ in _names(command)),
            become="become" in fields and value_of(fields["become"]) is True,
            python=_text(fields.get("python")),
            variables=found,
            labels=labels,
            groups=tuple(group for group in order if group in distances),
            at=at,
        )


def _variables_of(found: YamlMapping, origin: str) -> dict[str, Variable]:
    """Return the variables of a mapping, without the passwords that Ansible logs in with: no playbook is told them."""
    return {name: it for name, it in variables.of(found, origin).items() if not _ANSIBLE_PASSWORD.fullmatch(name)}


def _names(found: Read | None) -> Iterator[tuple[str, Location]]:
    if isinstance(found, YamlSequence):
        for item in found.items:
            yield str(value_of(item)), item.at
    elif found is not None and not isinstance(found, YamlMapping):
        yield str(value_of(found)), found.at


def _mapping(found: Read | None, at: Location) -> YamlMapping:
    return found if isinstance(found, YamlMapping) else YamlMapping((), at)


def _text(found: Read | None) -> str | None:
    return None if found is None else str(value_of(found))


def _texts(found: Read | None) -> dict[str, str]:
    return {key.text: str(value_of(value)) for key, value in found.entries} if isinstance(found, YamlMapping) else {}
