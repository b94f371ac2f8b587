"""From a file to a Playbook: values as written, defaults, includes, the digest; nothing but Invalid for bad input."""

import contextlib
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackplan.language import playbook, template, variables
from stackplan.model.condition import Combination, Recheck
from stackplan.model.diagnosis import Invalid
from stackplan.model.location import Location
from stackplan.model.playbook import Retries, SecretSource, Share

PLAYBOOKS = Path(__file__).parents[1] / "playbooks"
FACES = (
    ("nvcc", "release", "13.0"),
    ("package", "version", "1e3"),
    ("file", "mode", "0644"),
    ("file", "owner", "no"),
    ("file", "content", "2026-02-27"),
    ("command", "stdout", "3.10"),
)


def condition(step, kind):
    return next(it for it in step.postconditions if it.kind == kind)


@pytest.mark.parametrize(("kind", "key", "text"), FACES)
def test_value_reaches_its_condition_as_written(kind, key, text, node):
    found = playbook.read(PLAYBOOKS / "good" / "as_written.yaml")
    rendered = template.render(found, variables.scope(found, node))
    written, through_variables = rendered.steps
    assert condition(written, kind).arguments.values[key] == text
    assert condition(through_variables, kind).arguments.values[key] == text


@pytest.fixture
def everything():
    return playbook.read(PLAYBOOKS / "good" / "everything.yaml", root=PLAYBOOKS / "good")


def test_whole_playbook_is_read(everything):
    assert everything.nodes == ("blackwell", "!gpu-09")
    assert everything.rollout.canary == Share(count=1)
    assert everything.rollout.batch == Share(percent=25.0)
    assert everything.rollout.max_failures == 2
    assert [it.kind for it in everything.preconditions] == ["disk"]
    assert [it.id for it in everything.steps] == ["first", "second"]
    assert everything.variables["venv"].value == "~/other-env", "a file of variables wins over `vars`"
    assert everything.variables["index"].value is None
    assert isinstance(everything.variables["token"].value, SecretSource)
    assert everything.variables["venv"].origin.endswith("common.yaml")


def test_step_fields_are_read(everything):
    step = everything.steps[0]
    assert (step.name, step.why, step.when) == (
        "The first step",
        "so that every field is read",
        "node.name != 'gpu-02'",
    )
    assert step.timeout_s == 3600.0
    assert step.retries == Retries(2, 10.0)
    assert step.environment == {"LANG": "C", "TOKEN": "{{ token }}", "COUNT": "8"}
    assert (step.user, step.become, step.always, step.interruptible) == ("ops", True, True, False)
    assert step.action.arguments.values["upgrade"] is True
    assert step.preconditions[0].message == "somebody removed it"


def test_conditions_are_read(everything):
    imports, combined = everything.steps[0].postconditions
    assert (imports.within_s, imports.recheck) == (90.0, Recheck.FINAL)
    assert combined.combination is Combination.ANY
    assert [it.combination for it in combined.operands] == [None, Combination.NOT]
    assert combined.operands[1].operands[0].kind == "file"


def test_defaults_reach_steps_that_do_not_say_otherwise(everything):
    second = everything.steps[1]
    assert second.timeout_s == 2700.0
    assert (second.user, second.become) == (None, False)
    assert second.environment == {"LANG": "C"}
    assert second.at.path.endswith("parts/more.yaml")


def test_become_without_a_user_is_root(read):
    assert (
        read("  - {id: a, become: true, checkpoint: {}, postconditions: [{file: {path: /a}}]}").steps[0].user == "root"
    )


def test_name_is_that_of_the_file_when_it_has_none(read):
    assert read(name="roll/out.yaml").name == "out"


def test_place_of_a_condition_is_its_kind(read):
    found = read().steps[0].postconditions[0]
    assert found.at == Location("p.yaml", 9, 9)
    assert found.arguments.place("path") == Location("p.yaml", 9, 22)


def test_digest_covers_every_file(write):
    write("vars.yaml", "a: 1\n")
    write("more.yaml", "- {id: b, checkpoint: {}, postconditions: [{file: {path: /b}}]}\n")
    path = write("p.yaml", "stackplan: 1\nnodes: all\nvars_files: vars.yaml\nsteps: [include: more.yaml]\n")
    digests = {playbook.read(path).sha256}
    write("vars.yaml", "a: 2\n")
    digests.add(playbook.read(path).sha256)
    write("more.yaml", "- {id: c, checkpoint: {}, postconditions: [{file: {path: /b}}]}\n")
    digests.add(playbook.read(path).sha256)
    assert len(digests) == 3
    assert playbook.read(path).sha256 in digests


def test_digest_is_the_same_wherever_the_files_lie(tmp_path):
    digests = []
    for folder, name in (("a", "p.yaml"), ("b/deep/.git/..", "q.yaml"), ("c", "p.yaml")):
        (tmp_path / folder / "more").mkdir(parents=True)
        (tmp_path / folder / "more" / "vars.yaml").write_text("a: 1\n")
        (tmp_path / folder / "more.yaml").write_text(
            "- {id: b, checkpoint: {}, postconditions: [{file: {path: /b}}]}\n"
        )
        text = "stackplan: 1\nnodes: all\nvars_files: more/vars.yaml\nsteps: [include: more.yaml]\n"
        (tmp_path / folder / name).write_text(text)
        digests.append(playbook.read(tmp_path / folder / name).sha256)
    assert len({*digests}) == 1
    (tmp_path / "c" / "other").mkdir()
    (tmp_path / "c" / "more" / "vars.yaml").rename(tmp_path / "c" / "other" / "vars.yaml")
    (tmp_path / "c" / "p.yaml").write_text(text.replace("more/", "other/"))
    assert playbook.read(tmp_path / "c" / "p.yaml").sha256 not in digests


def test_lines_of_every_file_are_kept(everything):
    assert {Path(it).name for it in everything.sources} == {"everything.yaml", "common.yaml", "more.yaml"}


def test_symlink_may_not_lead_out_of_the_project(write, tmp_path_factory, complaints):
    outside = tmp_path_factory.mktemp("outside") / "steps.yaml"
    outside.write_text("[]\n")
    path = write("p.yaml", "stackplan: 1\nnodes: all\nsteps: [include: link.yaml]\n")
    Path("link.yaml").symlink_to(outside)
    assert complaints(playbook.read, path) == [("p.yaml:3:18", "`link.yaml` leads out of the project's folder")]


def test_include_may_go_up_within_the_git_root(write):
    write("common/steps.yaml", "- {id: b, checkpoint: {}, postconditions: [{file: {path: /b}}]}\n")
    Path(".git").mkdir()
    path = write("playbooks/p.yaml", "stackplan: 1\nnodes: all\nsteps: [include: ../common/steps.yaml]\n")
    assert [it.id for it in playbook.read(path).steps] == ["b"]


def test_includes_that_multiply_end_in_an_error(write, complaints):
    for name in range(8):
        write(f"{name}.yaml", f"- include: {name + 1}.yaml\n" * 2)
    write("8.yaml", "- {id: b, checkpoint: {}, postconditions: [{file: {path: /b}}]}\n")
    path = write("p.yaml", "stackplan: 1\nnodes: all\nsteps: [include: 0.yaml]\n")
    said = complaints(playbook.read, path)
    assert any(summary == "the playbook includes too much" for _, summary in said)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_revision_is_that_of_git(read, write):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    assert read().revision is None
    for command in (["init", "-q"], ["add", "p.yaml"], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *command], check=True, capture_output=True)
    clean = read().revision
    assert clean is not None
    assert len(clean) == 40
    write("p.yaml", Path("p.yaml").read_text() + "\n")
    assert playbook.read(Path("p.yaml")).revision == f"{clean}-dirty"


PIECES = [
    *("stackplan: 1\n", "nodes: all\n", "name: x\n", "steps:\n", "  - id: a\n", "    checkpoint: {}\n"),
    *("    postconditions:\n", "      - file: {path: /a}\n", "      - any: [{not: {file: {path: x}}}]\n"),
    *("      - any: x\n", "    when: a\n", "    run: {script: '{{'}\n", "  - include: p.yaml\n", "  - include: [a]\n"),
    *("    timeout: [1]\n", "    env: {A: ~}\n", "    retries: {times: 1}\n", "    id: b\n", "- a\n", "&a\n", "*a\n"),
    *("vars: {a: 1, b: '{{ a }}'}\n", "vars: []\n", "vars_files: [p.yaml]\n", "vars_files: {a: b}\n"),
    *("rollout: {batch: 5%}\n", "defaults: {become: true}\n", "defaults: 1\n", "preconditions: [{}]\n"),
    *("    postconditions: '{{ a }}'\n", "steps: '{{ a }}'\n", "      - '{{ a }}'\n", "  - '{{ a }}'\n"),
]


@settings(max_examples=150, deadline=None)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=16))
def test_any_playbook_is_read_or_refused(pieces, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "p.yaml"
    path.write_text("".join(pieces))
    with contextlib.suppress(Invalid):
        found = playbook.read(path)
        assert found.steps
        assert all(it.postconditions for it in found.steps), "a step without proof was let through"


@settings(max_examples=50, deadline=None)
@given(data=st.binary(max_size=200))
def test_any_bytes_are_a_playbook_or_refused(data, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "bytes.yaml"
    path.write_bytes(data)
    with contextlib.suppress(Invalid):
        assert playbook.read(path).steps
