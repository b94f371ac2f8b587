"""Secrets that stand in a playbook are found, and shown by no finding."""

import pytest

TOKENS = {
    "a Hugging Face token": "hf_" + "aB3" * 12,
    "a GitHub token": "ghp_" + "aB3" * 12,
    "an NVIDIA API key": "nvapi-" + "aB3_-" * 12,
    "an AWS access key": "AKIA" + "A1B2" * 4,
    "a GitLab token": "glpat-" + "aB3-" * 6,
}
STEP = """
  - id: one
    env: {{{name}: "{value}"}}
    run: {{script: /opt/x}}
    postconditions:
      - file: {{path: /x}}
"""


@pytest.mark.parametrize("kind", TOKENS)
def test_a_token_is_known_by_its_form_and_not_shown(review, kind):
    (finding,) = review(STEP.format(name="A", value=TOKENS[kind])).findings
    assert finding.code == "SP190"
    assert finding.summary.startswith(kind)
    assert finding.step == "one"
    assert TOKENS[kind] not in repr(finding)
    assert finding.source[finding.at.column - 1 :].startswith("****")


def test_another_finding_on_the_same_line_does_not_show_it(review):
    steps = STEP.format(name="LD_LIBRARY_PATH", value=f"/cuda/{TOKENS['a GitHub token']}")
    first, second = review(steps).findings
    assert {first.code, second.code} == {"SP181", "SP190"}
    assert TOKENS["a GitHub token"] not in repr((first, second))


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("HF_TOKEN", "correct horse", ["SP190"]),
        ("DB_PASSWORD", "hunter22", ["SP190"]),
        ("HF_TOKEN", "{{ hf_token }}", []),
        ("HF_TOKEN_PATH", "/srv/token", []),
        ("API_KEY", "/run/secrets/key", []),
        ("TOKENIZERS_PARALLELISM", "false", []),
        ("MODEL", "hf_short", []),
        ("INDEX", "https://ops:hunter22@pypi.example.com/simple", ["SP190"]),
        ("INDEX", "https://ops:{{ hf_token }}@pypi.example.com/simple", []),
        ("MODEL", "sk-learn-models-v2", []),
    ],
)
def test_what_a_name_or_an_address_gives_away(codes, name, value, found):
    head = "vars: {hf_token: {secret: true, env: HF_TOKEN}}" if "hf_token" in value else ""
    assert codes(STEP.format(name=name, value=value), head=head) == found


def test_a_secret_for_the_shell_itself_is_on_no_command_line(codes_of_script, codes):
    script = """
  - id: one
    run:
      script: |
        printf '%s' "{{ token }}" > ~/.token
        TOKEN="{{ token }}" /opt/x
    postconditions:
      - file: {path: /x}
"""
    assert codes(script, head="vars: {token: {secret: true, env: T}}") == []
