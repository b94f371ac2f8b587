"""Inventories: of a file, of Ansible, of the command line; groups, variables, and everything that may be wrong."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackplan.language import ansible, inventory, variables
from stackplan.model.diagnosis import Invalid
from stackplan.model.node import Transport

BLACKWELL = """
stackplan: 1
defaults: {user: ops, vars: {where: defaults, only: defaults}}
groups:
  blackwell:
    vars: {venv: ~/ml-env, where: near}
    nodes:
      gpu-01:
      gpu-02: {host: 10.0.4.2, port: 22, user: root, identity_file: ~/.ssh/ops, labels: {rack: a1, unit: 010}}
      gpu-03: {connection: command, command: [kubectl, exec, -i, pod-7, --], vars: {where: own}, groups: spare}
  prod: {groups: [blackwell], vars: {where: far, cuda: 13.0}}
  spare: {vars: {where: later}}
"""


def test_inventory_of_the_design_is_read(read_inventory):
    found = read_inventory(BLACKWELL)
    assert list(found.nodes) == ["gpu-01", "gpu-02", "gpu-03"]
    assert found.groups == {
        "blackwell": ("gpu-01", "gpu-02", "gpu-03"),
        "prod": ("gpu-01", "gpu-02", "gpu-03"),
        "spare": ("gpu-03",),
    }
    first, second, third = found.nodes.values()
    assert (first.host, first.port, first.user, first.transport) == (None, None, "ops", Transport.SSH)
    assert (second.host, second.port, second.user, second.identity_file) == ("10.0.4.2", 22, "root", "~/.ssh/ops")
    assert second.labels == {"rack": "a1", "unit": "010"}
    assert (third.transport, third.command) == (Transport.COMMAND, ("kubectl", "exec", "-i", "pod-7", "--"))
    assert third.groups == ("blackwell", "prod", "spare")
    assert str(first.at) == "inventory.yaml:8:7"


def test_nearest_group_wins_then_file_order_then_the_node(read_inventory):
    first, _, third = read_inventory(BLACKWELL).nodes.values()
    assert {name: (it.value, it.origin) for name, it in first.variables.items()} == {
        "where": ("near", "group blackwell"),
        "only": ("defaults", "inventory defaults"),
        "venv": ("~/ml-env", "group blackwell"),
        "cuda": ("13.0", "group prod"),
    }
    assert third.variables["where"].value == "own"


def test_passwords_that_ansible_logs_in_with_are_no_variables(read_inventory):
    names = ["ansible_password", "ansible_ssh_pass", "ansible_become_password", "ansible_ssh_private_key_passphrase"]
    given = ", ".join(f"{name}: t0psecret" for name in names)
    text = (
        f"stackplan: 1\ndefaults: {{vars: {{{given}}}}}\ngroups:\n  g: {{vars: {{{given}, ansible_user: ops}}, nodes: "
    )
    found = read_inventory(f"{text}{{n: {{vars: {{{given}, ansible_passes: 3}}}}}}}}\n").nodes["n"]
    assert {*found.variables} == {"ansible_user", "ansible_passes"}


def test_later_of_two_groups_at_one_distance_wins(read_inventory):
    text = "stackplan: 1\ngroups:\n  a: {vars: {x: a}, nodes: {n: }}\n  b: {vars: {x: b}, nodes: {n: {port: 23}}}\n"
    found = read_inventory(text).nodes["n"]
    assert (found.variables["x"].value, found.port, found.groups) == ("b", 23, ("a", "b"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("groups: {a: {groups: [b]}, b: {groups: [a]}}", [("3:10", "these groups hold each other in a circle")]),
        ("groups: {a: {groups: [a]}}", [("3:10", "these groups hold each other in a circle")]),
        ("groups: {blackwell: {}, b: {groups: blackwel}}", [("3:37", "there is no group `blackwel`")]),
        ("groups: {a: {nodes: {n: {groups: [c]}}}}", [("3:35", "there is no group `c`")]),
        (
            "groups: {a: {nodes: {n: {port: 1}}}, b: {nodes: {n: {port: 2}}}}",
            [("3:50", "the node `n` is described twice")],
        ),
        ("groups: {a: {nodes: {a: }}}", [("3:10", "`a` is the name of a node and of a group")]),
        ("groups: {all: {}}", [("3:10", "`all` is taken: it stands for all nodes")]),
        ("nodes: {n: {prot: 22}}", [("3:13", "a node has no key `prot`")]),
        (
            "nodes: {n: {port: 0}, m: {port: ssh}}",
            [(at, "`port` is not a whole number from 1 to 65535") for at in ("3:19", "3:33")],
        ),
        ("nodes: {n: {connection: telnet}}", [("3:25", "`connection` may not be `telnet`")]),
        ("nodes: {n: {connection: command}}", [("3:25", "the node `n` has `connection: command` and no `command`")]),
        ("nodes: {n: {command: [a]}}", [("3:13", "the node `n` has a `command` that nothing uses")]),
        (
            "nodes: {n: {vars: {node: x}}}",
            [("3:20", "`node` is taken: it holds the name, host and labels of the node")],
        ),
        ("nodes: {-n: }", [("3:9", "`-n` cannot be a name in `nodes`")]),
        ("nodes: {n: , n: }", [("3:14", "`n` stands twice in this mapping")]),
        ("- a", [("3:1", "this does not fit the mapping that it stands in")]),
    ],
)  # fmt: skip
def test_wrong_inventory_is_explained(read_inventory, complaints, text, expected):
    said = complaints(read_inventory, f"# an inventory\nstackplan: 1\n{text}\n")
    assert said == [(f"inventory.yaml:{place}", summary) for place, summary in expected]


def test_inventory_that_is_no_mapping_is_refused(read_inventory, complaints):
    assert complaints(read_inventory, "- gpu-01\n") == [("inventory.yaml:1:1", "this is not an inventory")]


@pytest.mark.parametrize(
    ("target", "name", "host", "port", "user"),
    [
        ("gpu-01", "gpu-01", None, None, None),
        ("ops@gpu-01", "gpu-01", None, None, "ops"),
        ("ops@10.0.4.2:2222", "10.0.4.2:2222", "10.0.4.2", 2222, "ops"),
        ("[fe80::1]", "fe80::1", "fe80::1", None, None),
        ("root@[::1]:22", "[::1]:22", "::1", 22, "root"),
    ],
)
def test_target_of_the_command_line(target, name, host, port, user):
    (node,) = inventory.from_targets([target]).nodes.values()
    assert (node.name, node.host, node.port, node.user) == (name, host, port, user)


@pytest.mark.parametrize(
    "target", ["", "a b", "h:0", "h:65536", "h:x", "h:", "@h", "-oProxyCommand=x", "u@-h", "fe80::1", "[::1", "a@b@c"]
)
def test_what_is_no_target_is_refused(target):
    with pytest.raises(Invalid, match="names no node"):
        inventory.from_targets([target])


def test_target_given_twice_is_refused():
    with pytest.raises(Invalid, match="twice"):
        inventory.from_targets(["a", "b", "a"])


def test_two_ports_of_one_host_are_two_nodes():
    assert list(inventory.from_targets(["127.0.0.1:2201", "127.0.0.1:2202"]).nodes) == [
        "127.0.0.1:2201",
        "127.0.0.1:2202",
    ]


def test_local_is_this_machine():
    (node,) = inventory.local().nodes.values()
    assert node.transport is Transport.LOCAL


def test_nearest_inventory_is_found_upwards(tmp_path):
    (tmp_path / "inventory.yaml").touch()
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    assert inventory.nearest(deep) == tmp_path / "inventory.yaml"


ANSIBLE = {
    "_meta": {
        "hostvars": {
            "gpu-01": {
                "ansible_host": "10.0.4.1", "ansible_port": 2222, "ansible_user": "ops",
                "cuda": 13.0, "list": [1, {"a": True}],
            },
            "gpu-02": {"ansible_connection": "local", "ansible_ssh_private_key_file": "~/.ssh/key", "node": "taken"},
        }
    },
    "all": {"children": ["prod", "ungrouped"], "vars": {"where": "all", "cuda": 12.8}},
    "prod": {"children": ["blackwell"], "vars": {"where": "prod"}},
    "blackwell": {"hosts": ["gpu-01", "gpu-02"], "vars": {"where": "blackwell", "ansible_user": "root"}},
    "old": ["gpu-02"],
    "ungrouped": {"hosts": ["gpu-03"]},
}  # fmt: skip


def check_ansible(found):
    first, second, third = (found.nodes[name] for name in ("gpu-01", "gpu-02", "gpu-03"))
    assert (first.host, first.port, first.user, first.transport) == ("10.0.4.1", 2222, "ops", Transport.SSH)
    assert (second.transport, second.user, second.identity_file) == (Transport.LOCAL, "root", "~/.ssh/key")
    assert {name: it.value for name, it in first.variables.items()} == {
        "where": "blackwell",
        "cuda": "13.0",
        "list": ("1", {"a": True}),
    }
    assert {name: it.value for name, it in third.variables.items()} == {"where": "all", "cuda": "12.8"}
    assert first.groups == ("prod", "blackwell")
    assert found.groups == {"prod": ("gpu-01", "gpu-02"), "blackwell": ("gpu-01", "gpu-02"), "old": ("gpu-02",)}


def test_json_of_ansible_is_read(write):
    check_ansible(inventory.read(write("hosts.json", json.dumps(ANSIBLE, indent="\t"))))


def test_program_that_prints_it_is_run(write):
    path = write("hosts.py", f"#!/bin/sh\n[ \"$1\" = --list ] || exit 9\ncat <<'END'\n{json.dumps(ANSIBLE)}\nEND\n")
    path.chmod(0o755)
    check_ansible(inventory.read(path))


@pytest.mark.parametrize(
    ("script", "summary", "causes"),
    [
        ("#!/bin/sh\necho no credentials >&2\nexit 3\n", "`hosts --list` exited 3", ("no credentials",)),
        ("#!/bin/sh\nkill -9 $$\n", "`hosts --list` was ended by signal 9", ()),
        ("#!/bin/sh\necho not json\n", "`hosts --list` printed no inventory", ()),
        ("#!/bin/sh\nprintf '\\377'\n", "`hosts --list` printed no inventory", ()),
        ("#!/no/such/interpreter\n", "`hosts` cannot be started: No such file or directory", ()),
    ],
)  # fmt: skip
def test_program_that_fails_is_explained(write, script, summary, causes):
    path = write("hosts", script)
    path.chmod(0o755)
    with pytest.raises(Invalid, match="hosts") as caught:
        inventory.read(path)
    assert (caught.value.diagnoses[0].summary, caught.value.diagnoses[0].causes) == (summary, causes)


def test_program_that_hangs_is_ended(write):
    path = write("hosts", "#!/bin/sh\nexec cat /dev/zero > /dev/null\n")
    path.chmod(0o755)
    with pytest.raises(Invalid, match=r"took longer than 0\.2 s"):
        ansible.printed_by(path, "hosts", timeout_s=0.2)


@pytest.mark.parametrize(
    "found",
    [
        {"_meta": []},
        {"_meta": {"hostvars": {"a": 1}}},
        {"g": 1},
        {"g": {"hosts": {"a": 1}}},
        {"g": {"hosts": [None]}},
        {"g": {"hosts": ["a"], "vars": []}},
    ],
)
def test_malformed_ansible_inventory_is_refused(write, found):
    with pytest.raises(Invalid, match="this is not an Ansible inventory"):
        inventory.read(write("hosts.json", json.dumps(found)))


def test_everything_wrong_in_an_ansible_inventory_is_told_at_once(write):
    own = {
        "a": {"ansible_host": {"x": 1}, "ansible_ssh_private_key_file": ["k"], "ansible_port": "ssh"},
        "b": {"ansible_host": "-oProxyCommand=x", "ansible_connection": "winrm", "note": "\ud800"},
        "c": {"ansible_host": "two words", "ansible_port": 99999, "deep": [{"\0": 1}]},
    }
    hosts = ["a", "b", "c", "", "\0", "a b", "\ud800", "\u202e"]
    found = {"_meta": {"hostvars": own}, "g": {"hosts": hosts, "children": ["h"]}, "h": {"children": ["g"]}}
    with pytest.raises(Invalid, match="circle") as caught:
        inventory.read(write("hosts.json", json.dumps(found)))
    assert {(it.summary, it.observed) for it in caught.value.diagnoses} == {
        ("`ansible_connection` of b is not known here", "winrm"),
        ("`ansible_host` of a is not a text", "a mapping"),
        ("`ansible_host` of b cannot be used", "-oProxyCommand=x"),
        ("`ansible_host` of c cannot be used", "two words"),
        ("`ansible_port` of a is no port", "ssh"),
        ("`ansible_port` of c is no port", "99999"),
        ("`ansible_ssh_private_key_file` of a is not a text", "a list"),
        ("`\\0` cannot be the name of a host", None),
        ("`\\ud800` cannot be the name of a host", None),
        ("`` cannot be the name of a host", None),
        ("`a b` cannot be the name of a host", None),
        ("`\u202e` cannot be the name of a host", None),
        ("the variable `deep` of node c holds what no file or terminal can take", None),
        ("the variable `note` of node b holds what no file or terminal can take", None),
        ("these groups hold each other in a circle", "g → h → g"),
    }


def test_a_group_that_ansible_names_and_leaves_out_is_empty():
    found = ansible.inventory({"all": {"children": ["ungrouped", "later"]}, "g": {"hosts": ["n"]}}, "hosts")
    assert found.groups == {"later": (), "g": ("n",)}


@pytest.mark.parametrize(
    ("target", "summary", "remedy"),
    [
        ("", "`-n` names no node: it is empty", None),
        ("ssh://u@h", "`-n ssh://u@h` names no node", "write `-n u@h`"),
        ("ssh://u@h:22/", "`-n ssh://u@h:22/` names no node", "write `-n u@h:22`"),
        ("u:hunt2@h", "`-n u:***@h` holds a password", "a password cannot be given here"),
        ("ssh://u:hu@nt2@h", "`-n u:***@h` holds a password", "a password cannot be given here"),
    ],
)
def test_target_that_is_none_is_explained(target, summary, remedy):
    with pytest.raises(Invalid, match=r"names no node|password") as caught:
        inventory.from_targets([target])
    (diagnosis,) = caught.value.diagnoses
    assert diagnosis.summary == summary
    assert (diagnosis.remedy or "").startswith(remedy or "")
    assert "nt2" not in repr(diagnosis)


@pytest.mark.parametrize("reading", [inventory.read, lambda path: variables.read_file(path, "--vars")])
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path, reading):
    os.mkfifo(tmp_path / "fifo.yaml")
    for path in (tmp_path / "fifo.yaml", Path("/dev/zero"), tmp_path):
        with pytest.raises(Invalid, match=r"is not a file|is a folder"):
            reading(path)


def test_program_of_any_size_may_print_the_inventory(write):
    path = write("hosts", '#!/bin/sh\necho \'{"g": ["n"]}\'\nexit\n' + "#" * 2_000_000)
    path.chmod(0o755)
    assert list(inventory.read(path).nodes) == ["n"]


def test_inventory_may_come_through_a_pipe(tmp_path):
    reading, writing = os.pipe()
    os.write(writing, b"stackplan: 1\nnodes: {n: }\n")
    os.close(writing)
    assert list(inventory.read(Path(f"/dev/fd/{reading}")).nodes) == ["n"]
    os.close(reading)


PIECES = [
    "stackplan: 1\n",
    "nodes:\n",
    "  n:\n",
    "  m: {port: 1}\n",
    "groups:\n",
    "  g: {nodes: {n: }}\n",
    "  h: {groups: g}\n",
]
PIECES += [
    "  i: {groups: [i]}\n",
    "  g:\n",
    "    nodes: [a]\n",
    "    vars: {a: '{{'}\n",
    "defaults: {user: x}\n",
    "{}",
    "- a\n",
    "  n: 1\n",
]


@settings(max_examples=150, deadline=None)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=10))
def test_any_inventory_is_read_or_refused(pieces):
    faults = ()
    try:
        inventory.read_text("".join(pieces), "inventory.yaml")
    except Invalid as error:
        faults = error.diagnoses
    assert all(it.at is not None and it.summary for it in faults)
