"""A playbook filled in for one node: values as their fields want them, nulls left out, skipped steps left alone."""

import pytest

from stackplan.language import template, variables
from stackplan.language.secrets import Secrets
from stackplan.model.diagnosis import Invalid
from stackplan.model.secret import Secret

INSTALL = """
  - id: torch
    name: torch for {{ cuda }}
    user: "{{ who }}"
    env: {TOKEN: "{{ token }}", LEVEL: "{{ level }}"}
    python_packages:
      venv: "{{ venv }}"
      packages: "{{ packages }}"
      index_url: "{{ index }}"
      extra_index_urls: ["{{ index }}", https://example.org]
      upgrade: "{{ upgrade }}"
    preconditions:
      - file: {path: "{{ venv }}"}
        message: no {{ venv }}
    postconditions:
      - any:
          - nvcc: {prefix: "/usr/local/cuda-{{ cuda }}", release: "{{ cuda }}"}
"""
HEAD = """vars:
  cuda: 13.0
  who: ops
  level: 3
  venv: ~/ml-env
  packages: [torch, torchvision]
  index: null
  upgrade: true
  token: {secret: true, env: TOKEN}
"""


@pytest.fixture
def render(read, node):
    def rendered(steps, head=HEAD, sets=()):
        found = read(steps, head=head)
        scope = variables.scope(found, node, (), sets, secrets=Secrets({"TOKEN": "s3cret"}))
        return template.render(found, scope)

    return rendered


def test_every_text_is_filled_in(render):
    (step,) = render(INSTALL).steps
    assert (step.name, step.user) == ("torch for 13.0", "ops")
    assert step.environment == {"TOKEN": Secret("s3cret"), "LEVEL": "3"}
    assert step.preconditions[0].message == "no ~/ml-env"
    inner = step.postconditions[0].operands[0].arguments
    assert inner.values == {"prefix": "/usr/local/cuda-13.0", "release": "13.0"}


def test_arguments_are_what_their_fields_want(render):
    found = render(INSTALL).steps[0].action.arguments
    assert found.values["packages"] == ("torch", "torchvision")
    assert found.values["upgrade"] is True


def test_null_counts_as_not_written(render):
    found = render(INSTALL).steps[0].action.arguments
    assert "index_url" not in found.values
    assert found.values["extra_index_urls"] == ("https://example.org",)


def test_place_of_an_argument_survives(render, read):
    before = read(INSTALL, head=HEAD).steps[0].action.arguments
    after = render(INSTALL).steps[0].action.arguments
    assert after.place("packages") == before.place("packages")
    assert after.at == before.at


def test_text_that_a_secret_went_into_is_one(render):
    steps = '  - {id: a, run: {script: "curl -H {{ token }}"}, postconditions: [{file: {path: /a}}]}'
    found = render(steps).steps[0].action.arguments.values["script"]
    assert found == Secret("curl -H s3cret")
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize(
    ("given", "value"), [("on", "on"), ("torch", "torch"), ("[torch", "[torch"), ("true", True), ("{{ none }}", None)]
)
def test_given_variable_is_read_by_the_field(render, given, value):
    assert render(INSTALL, sets=[f"upgrade={given}"]).steps[0].action.arguments.values.get("upgrade") == value


@pytest.mark.parametrize("flag", ["yes", "1", "maybe"])
def test_true_value_is_validated_after_filling_in(render, flag):
    install = '{venv: x, packages: y, no_deps: "{{ flag }}"}'
    steps = f"  - {{id: a, python_packages: {install}, postconditions: [{{file: {{path: /a}}}}]}}"
    with pytest.raises(Invalid, match="`no_deps` is not true or false") as caught:
        render(steps, head=f'vars: {{flag: "{flag}"}}')
    diagnosis = caught.value.diagnoses[0]
    assert (diagnosis.observed, diagnosis.step) == (flag, "a")
    assert diagnosis.source == steps


def test_missing_argument_is_noticed_after_filling_in(render):
    steps = '  - {id: a, checkpoint: {}, postconditions: [{nvcc: {prefix: "{{ index }}", release: 13.0}}]}'
    with pytest.raises(Invalid, match="lacks `prefix` or `path`"):
        render(steps)


def test_skipped_step_is_left_as_written(render):
    steps = """
  - id: a
    when: node.name == 'gpu-02'
    checkpoint: {}
    postconditions: [{file: {path: "{{ nowhere }}"}}]
  - id: b
    when: "{{ node.labels.rack == 'a1' }}"
    checkpoint: {}
    postconditions: [{file: {path: "{{ venv }}"}}]
"""
    skipped, kept = render(steps).steps
    assert (skipped.skipped, skipped.postconditions[0].arguments.values) == (True, {"path": "{{ nowhere }}"})
    assert (kept.skipped, kept.postconditions[0].arguments.values) == (False, {"path": "~/ml-env"})


def test_everything_wrong_is_told_with_its_step(render):
    steps = """
  - id: a
    when: rack == 1
    checkpoint: {}
    postconditions: [{file: {path: x}}]
  - id: b
    checkpoint: {}
    postconditions: [{file: {path: "{{ one }}", owner: "{{ two }}"}}]
"""
    with pytest.raises(Invalid, match="not defined") as caught:
        render(steps)
    assert [(it.step, it.summary) for it in caught.value.diagnoses] == [
        ("a", "`rack` is not defined"),
        ("b", "`one` is not defined"),
        ("b", "`two` is not defined"),
    ]


FILE = "  - {{id: a, file: {{path: /etc/x, {how}: files/x.conf}}, postconditions: [{{file: {{path: /a}}}}]}}"


@pytest.mark.parametrize(("how", "content"), [("template", "venv=~/ml-env\n"), ("source", "venv={{ venv }}\n")])
def test_file_of_the_project_becomes_the_content(render, write, how, content):
    write("files/x.conf", "venv={{ venv }}\n")
    assert render(FILE.format(how=how)).steps[0].action.arguments.values["content"] == content


def test_mistake_in_a_template_file_is_told_at_its_place(render, write):
    write("files/x.conf", "one\ntwo {{ vnev }}\n")
    with pytest.raises(Invalid, match="`vnev` is not defined") as caught:
        render(FILE.format(how="template"))
    assert str(caught.value.diagnoses[0].at) == "files/x.conf:2:8"


@pytest.mark.parametrize("named", ["../../x", "absent.conf"])
def test_file_out_of_reach_is_refused(render, named):
    steps = FILE.format(how="source").replace("files/x.conf", named)
    with pytest.raises(Invalid, match=r"leads out of the project|there is no file"):
        render(steps)


GIVEN = """
  - id: one
    when: serve
    checkpoint: {}
    postconditions:
      - gpu: {count: "{{ gpus }}"}
"""


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        (["serve=yes"], ("it yields the text 'yes', which is neither true nor false", ("`serve` is set by --var",))),
        (["serve=true", "gpus=eight"], ("`count` is not a whole number", ("`gpus` is set by --var",))),
        (["serve=true", "many={{ gpus }}"], ("`count` is not a whole number", ())),
    ],
)
def test_a_value_that_does_not_fit_names_the_variables_that_the_command_line_sets(read, node, sets, said):
    found = read(GIVEN, head="vars: {serve: false, gpus: some, many: 8}")
    with pytest.raises(Invalid) as caught:
        template.render(found, variables.scope(found, node, sets=sets))
    assert [(it.summary, it.causes) for it in caught.value.diagnoses] == [said]
