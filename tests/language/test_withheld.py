"""A playbook that is right with its secrets is right without them: what stands in for one has no form to be checked."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from stackplan.engine.bind import bind, faults
from stackplan.language import playbook as playbooks
from stackplan.language.alone import render_alone
from stackplan.language.secrets import Secrets
from stackplan.language.template import as_written, render
from stackplan.language.variables import scope, settled
from stackplan.language.withheld import Withheld
from stackplan.model.diagnosis import Invalid
from stackplan.model.node import Node, NodeName
from stackplan.model.secret import Unread

SCHEMAS = Path(__file__).parents[2] / "schemas"
NODE = Node(name=NodeName("gpu-01"))
MORE = {
    "python_packages": {
        "venv": "~/v",
        "packages": ["torch==2.11.0", "kernels @ https://h.internal/kernels-1.0-py3-none-any.whl"],
        "index_url": "https://h.internal:8443/whl/cu130",
        "extra_index_urls": ["https://one.internal/simple", "https://two.internal/simple"],
        "find_links": ["https://h.internal/links"],
        "constraints": ["numpy==2.0"],
        "overrides": ["scipy>=1.2"],
    },
    "run": {"script": "make all", "env": {"MODE": "fast"}, "stdin": "input", "cwd": "/srv"},
    "download": {"url": "https://h.internal/x.tgz", "sha256": "0" * 64, "path": "/srv/x.tgz"},
    "http": {"url": "https://[::1]:8443/health", "status": 200},
    "command": {"argv": ["/bin/true"], "env": {"MODE": "fast"}},
}
SHORTEST = 4


def forms(text):
    """Yield templates that come to `text`, with the secret of each: whole, taken apart, and as a part of the text."""
    yield "{{ s }}", text
    yield "{{ s.split('|')[1] }}", f"left|{text}"
    yield "{{ s[4:] }}", f"left{text}"
    for at in {SHORTEST, len(text) // 2} if len(text) >= 2 * SHORTEST else ():
        yield f"{{{{ s }}}}{text[at:]}", text[:at]
        yield f"{text[:at]}{{{{ s }}}}", text[at:]
    begin, _, rest = text.partition("://")
    if rest.partition("/")[0].partition(":")[0].count("."):
        host, slash, path = rest.partition("/")
        yield f"{begin}://{{{{ s }}}}{slash}{path}", host
        yield f"{begin}://u:{{{{ s }}}}@{rest}", "pa55word"


def leaves(value, path=()):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    elif isinstance(value, str) and len(value) >= SHORTEST:
        yield path, value


def put(value, path, text):
    if not path:
        return text
    if isinstance(value, dict):
        return {**value, path[0]: put(value[path[0]], path[1:], text)}
    return [put(item, path[1:], text) if index == path[0] else item for index, item in enumerate(value)]


def examples(word):
    """Yield the kinds of a folder with the arguments of their examples."""
    for file in sorted((SCHEMAS / word).glob("*.json")):
        for found in (*json.loads(file.read_text("utf-8"))["examples"], MORE.get(file.stem)):
            if isinstance(found, dict):
                yield file.stem, found


def step(word, kind, arguments):
    if word == "actions":
        return {"id": "s", kind: arguments, "postconditions": [{"file": {"path": "/"}}]}
    return {"id": "s", "checkpoint": {}, "postconditions": [{kind: arguments}]}


@pytest.fixture
def written(tmp_path):
    """Read a playbook of one step; its secret is `s`."""

    def write(found):
        path = tmp_path / "p.yaml"
        variables = {"s": {"secret": True, "env": "S"}}
        path.write_text(json.dumps({"stackplan": 1, "nodes": "all", "vars": variables, "steps": [found]}))
        return playbooks.read(path)

    return write


def bound(playbook, secrets):
    return bind(render(playbook, scope(playbook, NODE, secrets=secrets)))


def accepted(written, word):
    """Return the fields in which a secret was accepted, once it is held that there a withheld one is accepted too."""
    fields = set()
    for kind, arguments in examples(word):
        for path, text in leaves(arguments):
            for template, secret in forms(text):
                try:
                    playbook = written(step(word, kind, put(arguments, path, template)))
                    bound(playbook, Secrets(environment={"S": secret}))
                except Invalid:
                    if template == "{{ s }}":
                        # The field takes no secret at all.
                        break
                    continue
                bound(playbook, Withheld())
                alone = render_alone(playbook)
                assert [*alone.wrong, *faults(alone.playbook, as_written)] == []
                fields.add(f"{kind}.{path[0]}")
    return fields


def test_actions_that_are_right_with_a_secret_are_right_without_it(written):
    packages = {f"python_packages.{it}" for it in ("packages", "index_url", "extra_index_urls", "find_links")}
    assert accepted(written, "actions") >= packages | {
        "python_packages.constraints",
        "python_packages.overrides",
        "download.url",
        "file.content",
        "run.script",
        "run.stdin",
        "run.env",
    }


def test_conditions_that_are_right_with_a_secret_are_right_without_it(written):
    assert accepted(written, "conditions") >= {"http.url", "command.env"}


def test_what_may_hold_no_secret_is_refused_without_it_too(written):
    playbook = written(step("actions", "run", {"script": "x", "cwd": "{{ s }}"}))
    with pytest.raises(Invalid, match="`cwd` may not hold a secret"):
        bound(playbook, Withheld())


def test_what_is_no_secret_is_checked_beside_one(written):
    arguments = {"venv": "~/v", "packages": ["torch"], "index_url": "{{ s }}", "extra_index_urls": ["nowhere"]}
    with pytest.raises(Invalid, match="`extra_index_urls` is not an address"):
        bound(written(step("actions", "python_packages", arguments)), Withheld())


def test_a_name_that_is_not_defined_is_told_beside_a_secret(written):
    playbook = written(step("actions", "run", {"script": "{{ elsewhere }} {{ s.split('|')[1] }}"}))
    with pytest.raises(Invalid, match="elsewhere"):
        bound(playbook, Withheld())


def test_a_list_that_may_be_empty_only_for_want_of_the_secret_has_an_item(written):
    arguments = {"venv": "~/v", "packages": "{{ s.split(',')[1:] }}"}
    action = bound(written(step("actions", "python_packages", arguments)), Withheld()).steps[0].step.action
    assert action.arguments.values["packages"] == (Unread("***"),)


def test_a_step_whose_condition_takes_a_secret_apart_counts_as_meant(written):
    found = {**step("actions", "run", {"script": "x"}), "when": "s.split('|')[1] == 'on'"}
    playbook = written(found)
    assert not render(playbook, scope(playbook, NODE, secrets=Withheld())).steps[0].skipped
    told = Secrets(environment={"S": "left|off"})
    assert render(playbook, scope(playbook, NODE, secrets=told)).steps[0].skipped


def test_variables_of_a_file_of_the_project_count_as_used(written, tmp_path):
    (tmp_path / "f.j2").write_text("{{ inner }}")
    playbook = written(step("actions", "file", {"path": "/a", "template": "f.j2"}))
    variables = {
        name: replace(playbook.variables["s"], name=name, value=value)
        for name, value in (("inner", "{{ innermost }}"), ("innermost", "v"), ("unused", "w"))
    }
    own = settled(variables, NODE, playbook.sources, Secrets(environment={}))
    render(playbook, own)
    assert {*own.resolved} == {"inner", "innermost"}
