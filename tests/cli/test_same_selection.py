"""Options that select the same once more, fit to be pasted."""

import shlex
from pathlib import Path

import pytest

from stackplan.cli.same_selection import same_selection
from stackplan.cli.selection import Selection
from stackplan.language import playbook as playbooks

TEXT = """
stackplan: 1
name: p
nodes: all
vars:
  token_file: {secret: true, env: HF}
  release: "13.0"
steps:
  - id: a
    run: {script: "true"}
    postconditions: [{file: {path: /x, exists: true}}]
"""


@pytest.fixture
def written(tmp_path):
    (tmp_path / "p.yaml").write_text(TEXT, "utf-8")
    playbook = playbooks.read(tmp_path / "p.yaml")
    return lambda **given: same_selection(Selection(**given), playbook)


def test_without_options_there_is_nothing_to_write_again(written):
    assert written() == ""
    assert written(parallel=3, accept_new=True) == "", "they select nothing"


def test_all_that_selects_is_written_as_a_shell_takes_it(written):
    said = written(
        inventory=Path("my nodes.yaml"),
        limit=("gpu-*", "!gpu-02"),
        variable_files=(Path("v.yaml"),),
        assignments=("release=13.0", "name=a b"),
    )
    assert said.startswith(" -i 'my nodes.yaml'")
    expected = ["-i", "my nodes.yaml", "-l", "gpu-*", "-l", "!gpu-02", "--vars", "v.yaml"]
    assert shlex.split(said) == [*expected, "--var", "release=13.0", "--var", "name=a b"]
    assert written(nodes=("ops@gpu-01:22", "gpu-02")) == " -n ops@gpu-01:22 -n gpu-02"
    assert written(local=True) == " --local"


def test_of_several_values_the_last_one_is_written(written):
    assert written(assignments=("release=12.8", "a=1", "release=13.0")) == " --var release=13.0 --var a=1"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("hf_token=hf_aaaaaaaaaa", "hf_token=…"),
        ("token_file=plain", "token_file=…"),
        ("index=https://ops:pass-word@example.org/simple", "index=…"),
        ("motd=one\ntwo", "motd=…"),
        ("long=" + "x" * 300, "long=…"),
        ("index=https://example.org/simple", "index=https://example.org/simple"),
    ],
)
def test_what_may_be_a_secret_or_fits_no_line_is_left_open(written, given, said):
    assert written(assignments=(given,)) == f" --var {said}"


def test_a_secret_is_left_out_in_another_variable_too(written):
    said = written(assignments=("hf_token=hf_aaaaaaaaaa", "header=Bearer hf_aaaaaaaaaa", "release=13.0"))
    assert said == " --var hf_token=… --var header=… --var release=13.0"
