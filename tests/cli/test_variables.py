"""What reports and journals show of a run's variables."""

import pytest

from stackplan.cli.variables import variables_of
from stackplan.language.secrets import Secrets
from stackplan.language.variables import settled
from stackplan.model.location import Location
from stackplan.model.node import Node, NodeName
from stackplan.model.playbook import SecretSource, Variable

AT = Location("p.yaml", 1, 1)


def shown(unused=(), **values):
    """Return what is shown of the variables of a node, all of them used but those named."""
    variables = {name: Variable(name, value, AT, "vars of p.yaml") for name, value in values.items()}
    scope = settled(variables, Node(name=NodeName("gpu-01"), at=AT), {}, Secrets(environment={"T": "declared-1"}))
    for name in values:
        if name not in unused:
            scope.value(name)
    return variables_of([scope])


@pytest.mark.parametrize(
    ("name", "value", "held", "told"),
    [
        ("hf_token", "hf_abcdefgh", "{{ hf_token }}", "***"),
        ("hf_token", "hf_abcdefgh", "Bearer {{ hf_token }}", "Bearer ***"),
        ("hf_token", "hf_abcdefgh", ("{{ hf_token }}", "x"), '["***", "x"]'),
        ("hf_token", "hf_abcdefgh", {"user": "u", "auth": "u:{{ hf_token }}"}, '{"user": "u", "auth": "u:***"}'),
        ("hf_token", "hf_abcdefgh", "aGZfYWJjZGVmZ2g=", "***"),
        ("password", "a b&c d", "x=a%20b%26c%20d", "x=***"),
        ("password", "ab", "{{ password }}", "***"),
        ("password", "ab", "a {{ password }}c", "a abc"),
        ("password", 1234567, "pin {{ password }}", "pin ***"),
        ("password", 12, 12, "***"),
        ("password", 12, 120, "120"),
        ("login", {"password": "hunter22"}, "{{ login.password }}", "***"),
        ("name", "plain", "{{ name }} text", "plain text"),
        ("eos_token", "</s>-text", "{{ eos_token }}", "</s>-text"),
        ("hf_token", "/etc/hf_token", "{{ hf_token }}", "/etc/hf_token"),
    ],
)
def test_what_holds_a_secret_is_shown_without_it_under_whatever_name(name, value, held, told):
    assert shown(**{name: value, "t": held})["t"] == told


def test_a_password_of_an_address_is_hidden_wherever_it_stands():
    found = shown(p="hunter22", url="https://u:{{ p }}@x.example.com/simple", again="x-{{ p }}")
    assert found == {"p": "***", "url": "https://***@x.example.com/simple", "again": "x-***"}
    assert shown(p="a", url="https://u:a@x.example.com/") == {"p": "***", "url": "https://***@x.example.com/"}


def test_a_secret_that_nothing_needed_is_known_all_the_same():
    assert shown(unused=("hf_token",), hf_token="hf_abcdefgh", t="hf_abcdefgh") == {"t": "***"}


def test_what_is_made_with_a_declared_secret_is_one():
    found = shown(s=SecretSource(AT, env="T"), t="Bearer {{ s }}", url="https://u:{{ s }}@x.example.com/")
    assert found == {"s": "***", "t": "***", "url": "***"}


def test_a_secret_of_one_node_is_hidden_on_all():
    scopes = []
    for name, token in (("gpu-01", "hf_abcdefgh"), ("gpu-02", "hf_ijklmnop")):
        variables = {
            key: Variable(key, value, AT, "vars") for key, value in {"api_key": token, "t": f"T={token}"}.items()
        }
        scopes.append(settled(variables, Node(name=NodeName(name), at=AT), {}, Secrets(environment={})))
        scopes[-1].value("t")
    assert variables_of(scopes) == {"t": "T=***"}
