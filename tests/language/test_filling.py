"""Arguments filled in part by part come out as they do when the whole is read anew, and with the same complaints."""

import pytest

from stackplan.language import template, variables
from stackplan.language.filling import Filled
from stackplan.language.secrets import Secrets

HEAD = """vars:
  none: null
  names: [torch, torchvision]
  name: torch
  yes: true
  port: 8000
  many: {A: a, B: b}
  token: {secret: true, env: TOKEN}
  circle: "{{ circle }}"
"""
PACKAGES = "python_packages: {venv: '{{ name }}', packages: %s, upgrade: %s}"
FILE = "file: {path: /x, mode: '%s', content: '%s'}"
REFUSED = "python_packages: {venv: ~/a, packages: [a], prerelease: '{{ name }}'}"
ARGUMENTS = {
    "texts": (PACKAGES % ("['{{ name }}==1', '{{ name }}']", "true"), True),
    "a flag from a template": (PACKAGES % ("[a]", "'{{ yes }}'"), True),
    "a text where a flag or a list is wanted": (PACKAGES % ("[a]", "'{{ name }}'"), True),
    "a list from a template": (PACKAGES % ("'{{ names }}'", "['{{ name }}']"), False),
    "null in a list": (PACKAGES % ("[a, '{{ none }}']", "true"), False),
    "a mapping where a text is wanted": (PACKAGES % ("['{{ many }}']", "true"), False),
    "a secret in a text": (FILE % ("0644", "{{ token }}"), True),
    "a value that its field refuses": (REFUSED, False),
    "two names that are not there": (FILE % ("{{ nmae }}", "{{ nnoe }}"), True),
    "a circle": (FILE % ("0644", "{{ circle }}"), True),
    "an expression": (FILE % ("0644", "{{ port + 1 }} {{ name | upper }}"), True),
    "an environment": ("run: {argv: [a, '{{ port }}'], env: {A: '{{ name }}', B: '{{ none }}'}}", False),
    "an integer": ("checkpoint: {}\n    preconditions: [{port: {port: '{{ port }}'}}]", True),
    "an integer that is none": ("checkpoint: {}\n    preconditions: [{port: {port: '{{ name }}'}}]", False),
}


@pytest.fixture
def render(read, node):
    def rendered(action):
        found = read(f"  - id: one\n    {action}\n    postconditions:\n      - file: {{path: /x}}\n", head=HEAD)
        scope = variables.scope(found, node, secrets=Secrets({"TOKEN": "s3cret"}))
        return template.render_partly(found, scope)

    return rendered


@pytest.mark.parametrize("case", ARGUMENTS)
def test_it_comes_to_the_same_as_reading_the_whole(render, monkeypatch, case):
    action, simple = ARGUMENTS[case]
    seen = []
    quick = Filled.mapping

    def watched(self, values, shape, path):
        found = quick(self, values, shape, path)
        if not path and self.templates:
            seen.append(self.simple)
        return found

    def hopeless(self, values, shape, path):
        self.simple, self.templates = False, True
        return values

    monkeypatch.setattr(Filled, "mapping", watched)
    parts = render(action)
    monkeypatch.setattr(Filled, "mapping", hopeless)
    whole = render(action)
    assert parts == whole
    assert all(seen) is simple
    assert seen
    before, after = ([it.action.arguments.places for it in each.playbook.steps] for each in (whole, parts))
    assert before == after


def test_what_a_field_refuses_is_said_once(render):
    (wrong,) = render(REFUSED).wrong
    assert wrong.summary == "`prerelease` may not be `torch`"
