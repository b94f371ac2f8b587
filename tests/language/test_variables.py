"""Variables: which wins, references among them, secrets, and names that nobody knows."""

import sys
from pathlib import Path

import pytest

from stackplan.language import variables
from stackplan.language.secrets import Secrets
from stackplan.model.location import Location
from stackplan.model.node import Node, NodeName
from stackplan.model.playbook import Variable
from stackplan.model.secret import Secret

HERE = Location("p.yaml", 1, 1)


def scope_of(found, node, **named):
    return variables.scope(found, node, named.get("files", ()), named.get("sets", ()), secrets=named.get("secrets"))


def with_variables(node, **values):
    found = {
        name: Variable(name, value, Location("inventory.yaml", 1, 1), "node gpu-01") for name, value in values.items()
    }
    return Node(name=node.name, host=node.host, labels=node.labels, groups=node.groups, variables=found)


def test_last_wins_and_its_origin_is_kept(read, write, node):
    write("more.yaml", "b: files\nc: files\nd: files\ne: files\n")
    found = read(head="vars: {a: vars, b: vars, c: vars, d: vars, e: vars}\nvars_files: more.yaml")
    given = write("given.yaml", "d: given\ne: given\n")
    scope = scope_of(found, with_variables(node, c="node", d="node", e="node"), files=[given], sets=["e=set"])
    assert {name: scope.value(name) for name in "abcde"} == {
        "a": "vars",
        "b": "files",
        "c": "node",
        "d": "given",
        "e": "set",
    }
    assert {name: scope.variables[name].origin for name in "abcde"} == {
        "a": "vars of p.yaml",
        "b": "more.yaml",
        "c": "node gpu-01",
        "d": "--vars given.yaml",
        "e": "--var",
    }


def test_node_is_always_there(read, node):
    scope = scope_of(read(), node)
    assert scope.fill("{{ node.name }} {{ node.host }} {{ node.labels.rack }}", HERE) == "gpu-01 10.0.4.1 a1"
    assert scope.holds("'blackwell' in node.groups", HERE)


def test_host_is_the_name_where_none_is_given(read):
    assert scope_of(read(), Node(name=NodeName("gpu-07"))).fill("{{ node.host }}", HERE) == "gpu-07"


def test_variable_given_on_the_command_line_keeps_its_text(read, node):
    found = read(head="vars: {a: x, b: x, c: x}")
    scope = scope_of(found, node, sets=["a=13.0", "b=a=b", "c="])
    assert [scope.value(name) for name in "abc"] == ["13.0", "a=b", ""]


def test_variables_refer_to_each_other(read, node):
    found = read(head='vars: {root: /opt, tools: "{{ root }}/tools", list: ["{{ tools }}/a", {b: "{{ root }}"}]}')
    assert scope_of(found, node).value("list") == ("/opt/tools/a", {"b": "/opt"})


def test_circle_of_variables_names_its_path(read, node, complaints):
    found = read(head='vars:\n  a: "{{ b }}"\n  b: "x{{ c }}"\n  c: "{{ b }}"')
    scope = scope_of(found, node)
    assert complaints(scope.value, "a") == [("p.yaml:5:6", "these variables refer to each other in a circle")]


def test_long_chain_of_variables_ends_in_a_value_or_an_error(read, node, complaints):
    chain = "".join(f'  v{n}: "{{{{ v{n + 1} }}}}"\n' for n in range(3000))
    scope = scope_of(read(head=f"vars:\n{chain}  v3000: end"), node)
    ((_, summary),) = complaints(scope.value, "v0")
    assert summary == "variables refer to each other too deeply"


@pytest.mark.parametrize(
    ("given", "remedy"), [("cdua=12", "did you mean `cuda`?"), ("nothing_like_it=1", "the playbook knows")]
)
def test_unknown_name_on_the_command_line_is_refused(read, node, given, remedy):
    found = read(head="vars: {cuda: 13.0}")
    with pytest.raises(variables.Invalid, match="that nothing uses") as caught:
        scope_of(found, node, sets=[given])
    assert (caught.value.diagnoses[0].remedy or "").startswith(remedy)


def test_name_that_only_a_template_uses_is_known(read, node):
    found = read('  - {id: a, checkpoint: {}, postconditions: [{any: [{file: {path: "{{ where }}"}}]}]}')
    assert scope_of(found, node, sets=["where=/a"]).value("where") == "/a"


@pytest.mark.parametrize("text", ["cuda", "=x", "a b=c", "1a=b", "node=x", ""])
def test_what_sets_no_variable_is_refused(read, node, text, complaints):
    ((_, summary),) = complaints(scope_of, read(), node, sets=[text])
    assert summary.endswith("sets no variable")


@pytest.mark.parametrize(
    ("text", "place"),
    [("- a\n", "v.yaml:1:1"), ("a-b: 1\n", "v.yaml:1:1"), ("a: '{{'\n", "v.yaml:1:4"), ("node: 1\n", "v.yaml:1:1")],
)
def test_bad_file_of_variables_is_refused(write, complaints, text, place):
    said = complaints(variables.read_file, write("v.yaml", text), "--vars v.yaml")
    assert [at for at, _ in said] == [place]


SECRETS = (
    "vars:\n  env: {secret: true, env: TOKEN}\n  file: {secret: true, file: token.txt}\n  url: https://u:{{ env }}@x/\n"
)


def test_secrets_are_read_when_they_are_needed(read, write, node):
    write("token.txt", "from-file\n")
    scope = scope_of(read(head=SECRETS), node, secrets=Secrets({"TOKEN": "from-env"}))
    assert scope.secrets == frozenset()
    assert scope.value("file") == Secret("from-file")
    assert scope.secrets == {"from-file"}
    assert scope.value("env") == Secret("from-env")
    assert scope.secrets == {"from-file", "from-env"}


def test_secret_of_a_command_is_read_once_for_all_nodes(read, write, node):
    program = write("print.py", "open('runs', 'a').write('x'); print('from-command')")
    found = read(head=f"vars: {{token: {{secret: true, command: [{sys.executable}, {program}]}}}}")
    secrets = Secrets()
    for _ in range(3):
        assert scope_of(found, node, secrets=secrets).value("token") == Secret("from-command")
    assert Path("runs").read_text() == "x"


def test_whatever_a_secret_goes_into_is_a_secret(read, node):
    scope = scope_of(read(head=SECRETS), node, secrets=Secrets({"TOKEN": "s3cret"}))
    assert scope.value("url") == Secret("https://u:s3cret@x/")
    assert scope.fill("{{ url }}x", HERE) == Secret("https://u:s3cret@x/x")
    assert scope.fill("{{ [env, 'plain'] }}", HERE) == (Secret("s3cret"), Secret("plain"))
    assert "s3cret" not in f"{scope.value('url')} {scope.value('url')!r}"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("env: ABSENT", "the environment variable ABSENT is not set"),
        ("file: absent.txt", "absent.txt: No such file or directory"),
        ("file: binary", "it is not UTF-8"),
        ("command: /no/such/program", "`/no/such/program` cannot be started"),
        ("command: [sh, -c, exit 3]", "`sh` exited 3"),
        ("command: 'true'", "what was read is empty"),
    ],
)
def test_missing_secret_is_an_error_at_its_place(read, node, complaints, source, reason):
    Path("binary").write_bytes(b"\xff\xfe")
    scope = scope_of(
        read(head=f"vars:\n  token: {{secret: true, {source}}}"), node, secrets=Secrets({"PATH": "/usr/bin:/bin"})
    )
    ((place, summary),) = complaints(scope.value, "token")
    assert place == "p.yaml:4:10"
    assert summary.startswith(f"the secret `token` cannot be read: {reason}")


def test_failing_command_does_not_leak_what_it_printed(read, node, complaints):
    found = read(head="vars:\n  token: {secret: true, command: [sh, -c, 'echo hunter2; echo hunter2 >&2; exit 1']}")
    said = complaints(scope_of(found, node).value, "token")
    assert said
    assert "hunter2" not in str(said)


def test_undefined_name_is_named_at_its_place_with_the_nearest(read, node):
    steps = """
  - id: one
    run:
      script: |
        set -x
        echo {{ vnev }}
    postconditions: [{file: {path: /a}}]
"""
    found = read(steps, head="vars: {venv: ~/ml-env}")
    place = found.steps[0].action.arguments.place("script")
    with pytest.raises(variables.Invalid, match="`vnev` is not defined") as caught:
        scope_of(found, node).fill("set -x\necho {{ vnev }}\n", place)
    diagnosis = caught.value.diagnoses[0]
    assert str(diagnosis.at) == "p.yaml:10:17"
    assert diagnosis.source == "        echo {{ vnev }}"
    assert (diagnosis.span, diagnosis.remedy) == (4, "did you mean `venv`?")
