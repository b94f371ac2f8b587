"""`stackplan diff` through the real executable, with git as it is; no node, no network."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "schemas" / "comparison.v1.json").read_text("utf-8"))
P = "playbooks/cuda13.yaml"
TOOLKIT_FILE = "playbooks/steps/toolkit.yaml"
PLAYBOOK = """\
stackplan: 1
name: cuda13
nodes: blackwell
vars: {cuda: 13.0, venv: ~/ml-env}
steps:
  - include: steps/toolkit.yaml
  - id: torch
    python_packages: {venv: "{{ venv }}", packages: [torch], upgrade: true}
    postconditions:
      - torch: {venv: "{{ venv }}", cuda: "{{ cuda }}", version: ">=2.11", arch: sm_120}
      - package: {venv: "{{ venv }}", name: torchvision, local: cu130}
"""
TOOLKIT = """\
- id: toolkit
  checkpoint: {}
  postconditions:
    - nvcc: {prefix: /usr/local/cuda-13.0, release: "{{ cuda }}"}
"""
WEAKER = PLAYBOOK.replace('version: ">=2.11", arch: sm_120', 'version: ">=2.10"')
SCRIPTED = re.sub("python_packages: .*", "run: {script: echo}", PLAYBOOK)
INVENTORY = "stackplan: 1\ngroups: {blackwell: {nodes: {gpu-01: , gpu-02: }}}\n"


@pytest.fixture
def first(commit):
    """The commit before; the playbook, an included file of steps, and an inventory."""
    return commit({P: PLAYBOOK, TOOLKIT_FILE: TOOLKIT, "inventory.yaml": INVENTORY})


@pytest.fixture
def changed(first, commit):
    """The issue's case: a commit that drops `arch: sm_120` and widens a version."""
    return first, commit({P: WEAKER})


def anonymous(text):
    return re.sub(r"\b[0-9a-f]{10}\b", "[COMMIT]", text)


def document(ended):
    found = json.loads(ended.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    return found


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_a_dropped_field_and_a_wider_version_stand_under_weakened(changed, stackplan, golden, form):
    ended = stackplan("diff", "HEAD~1", "HEAD", "--format", form, "--", P)
    assert (ended.returncode, ended.stderr) == (0, "")
    golden(f"diff_weakened_{form}", anonymous(ended.stdout))


def test_the_document_tells_the_same_and_is_valid(changed, stackplan):
    before, after = changed
    found = document(stackplan("diff", "--format", "json", f"{before}..{after}", "--", P))
    assert [(it["step"], it["effect"], it["before"], it["after"]) for it in found["weakened"]] == [
        ("torch", "weaker", ">=2.11", ">=2.10"),
        ("torch", "weaker", "sm_120", None),
    ]
    assert found["weakened"][1]["location"] == f"{before[:10]}:{P}:10:82"
    assert (found["old"]["revision"], found["new"]["revision"]) == (before, after)
    assert found["nodes"] is None


def test_two_runs_give_the_same_bytes(changed, stackplan):
    runs = {stackplan("diff", "HEAD~1", "--format", "json", "--", P, anew=True).stdout for _ in range(2)}
    assert len(runs) == 1


def test_an_included_file_is_read_from_the_revision(first, commit, stackplan):
    commit({TOOLKIT_FILE: TOOLKIT.replace(', release: "{{ cuda }}"', "")})
    found = document(stackplan("diff", "--format", "json", "HEAD~1", "HEAD", "--", P))
    assert [it["what"] for it in found["weakened"]] == ["`release: 13.0` is no longer asked for"]
    assert found["weakened"][0]["location"].startswith(f"{first[:10]}:{TOOLKIT_FILE}:")


def test_the_work_tree_is_the_new_side_by_default_and_stays_as_it_is(first, project, stackplan, git):
    (project / P).write_text(WEAKER)
    ended = stackplan("diff", "HEAD", "--", "cuda13")
    assert "HEAD (" in ended.stdout.splitlines()[0]
    assert ended.stdout.splitlines()[0].endswith("working tree")
    assert "WEAKENED   2 things" in ended.stdout
    assert git("status", "--short") == f"M {P}"


def test_three_dots_compare_with_where_they_went_apart(first, commit, git, stackplan):
    git("checkout", "--quiet", "-b", "topic")
    commit({P: PLAYBOOK.replace("upgrade: true", "upgrade: [torch]")})
    git("checkout", "--quiet", "main")
    commit({P: WEAKER})
    apart = document(stackplan("diff", "--format", "json", "main...topic", "--", P))
    assert (apart["weakened"], apart["old"]["revision"]) == ([], first)
    ends = document(stackplan("diff", "--format", "json", "main..topic", "--", P))
    assert [it["effect"] for it in ends["steps"][0]["conditions"]] == ["stronger"]


def test_nothing_that_changes_is_said_so(first, stackplan):
    ended = stackplan("diff", "--detailed-exitcode", "HEAD", "--", P)
    assert ended.returncode == 0
    assert "No difference" in ended.stdout


def test_a_difference_has_an_exit_status_when_asked_for(changed, stackplan):
    assert stackplan("diff", "--detailed-exitcode", "HEAD~1", "--", P).returncode == 5
    assert stackplan("diff", "HEAD~1", "--", P).returncode == 0


def test_a_new_playbook_and_a_deleted_one_are_no_errors(first, commit, stackplan):
    commit({"playbooks/new.yaml": PLAYBOOK})
    new = document(stackplan("diff", "--format", "json", "HEAD~1", "--", "playbooks/new.yaml"))
    assert ({it["turn"] for it in new["steps"]}, new["old"]["sha256"]) == ({"added"}, None)
    commit({P: None})
    gone = document(stackplan("diff", "--format", "json", "HEAD~1", "--", P))
    assert ({it["turn"] for it in gone["steps"]}, gone["new"]["sha256"]) == ({"removed"}, None)
    assert len(gone["weakened"]) == 3


def test_two_files_need_no_git(project, stackplan):
    (project / "old.yaml").write_text(PLAYBOOK.replace("  - include: steps/toolkit.yaml\n", ""))
    (project / "new.yaml").write_text(WEAKER.replace("  - include: steps/toolkit.yaml\n", ""))
    found = document(stackplan("diff", "--format", "json", "old.yaml", "new.yaml"))
    assert len(found["weakened"]) == 2
    assert found["old"]["label"] == "old.yaml"


def test_a_link_out_of_the_repository_is_not_followed(first, project, commit, stackplan):
    (project.parent / "outside.yaml").write_text(TOOLKIT)
    (project / TOOLKIT_FILE).unlink()
    (project / TOOLKIT_FILE).symlink_to(project.parent / "outside.yaml")
    commit({})
    ended = stackplan("diff", "HEAD", "HEAD", "--", P)
    assert ended.returncode == 2
    assert "leads out of the project's folder" in ended.stderr
    assert "checkpoint" not in ended.stderr


def test_a_link_inside_of_it_is(first, project, commit, stackplan):
    (project / TOOLKIT_FILE).rename(project / "real.yaml")
    (project / TOOLKIT_FILE).symlink_to("../../real.yaml")
    commit({})
    assert stackplan("diff", "HEAD", "HEAD", "--", P).returncode == 0


REFUSED = {
    "revision": (("diff", "nowhere", "--", P), "git knows no revision `nowhere`"),
    "option": (("diff", "HEAD", "--", P, "--format", "json"), "options go in front of `--`"),
    "one word": (("diff", "HEAD"), "this does not say what to compare"),
    "no playbook": (("diff", "HEAD", "--", "playbooks/no.yaml"), "there is no playbook playbooks/no.yaml, neither in"),
    "many": (("diff", "a", "b", "c", "--", P), "these are 3 revisions"),
    "revision for a file": (("diff", "HEAD", P), "for a revision of git: `stackplan diff HEAD -- PLAYBOOK`"),
    "no facts": (("diff", "--facts", "facts", "HEAD", "--", P), "cannot read the recorded facts"),
    "like an option": (("diff", "--output=x", "--", P), "No such option"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_said_with_what_would_be_right(first, stackplan, case):
    words, said = REFUSED[case]
    ended = stackplan(*words)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert said in " ".join(ended.stderr.split())
    assert "Traceback" not in ended.stderr


def test_a_fault_in_a_revision_has_its_place_there(first, commit, stackplan):
    bad = commit({P: PLAYBOOK.replace("packages:", "package:")})
    ended = stackplan("diff", "HEAD~1", "HEAD", "--", P)
    assert ended.returncode == 2
    assert f"{bad[:10]}:{P}:8:" in ended.stderr
    assert "^" in ended.stderr


def test_outside_of_git_the_way_out_is_named(project, stackplan):
    # The folder `.git` of this fixture is empty, which is no repository.
    ended = stackplan("diff", "main", "--", P)
    assert ended.returncode == 2
    assert "compare two files" in ended.stderr


# With recorded facts


def recorded(project, release, *names):
    """Write facts of nodes whose nvcc is of a release; what else is asked was not recorded."""
    told = {"path": "/usr/local/cuda-13.0/bin/nvcc", "exists": True, "leads_to": None, "release": release}
    query = {"kind": "nvcc", "arguments": {"prefix": "/usr/local/cuda-13.0"}, "user": None}
    rows = [{"query": query, "answer": {"known": {**told, "version": f"{release}.48"}}}]
    (project / "facts").mkdir(exist_ok=True)
    for name in names:
        data = {"format": "stackplan.facts/1", "node": name, "taken": "2026-12-01T00:00:00Z", "answers": rows}
        (project / "facts" / f"{name}.json").write_text(json.dumps(data))


@pytest.fixture
def scripted(first, commit):
    return commit({P: SCRIPTED})


def test_what_it_means_for_recorded_nodes(scripted, project, stackplan):
    recorded(project, "13.0", "gpu-01")
    recorded(project, "12.8", "gpu-02")
    (project / P).write_text(SCRIPTED.replace("cuda: 13.0", "cuda: 12.8"))
    ended = stackplan("diff", "--facts", "facts", "--format", "json", "HEAD", "--", P)
    nodes = {it["node"]: it for it in document(ended)["nodes"]}
    steps = {name: {step["id"]: step for step in node["steps"]} for name, node in nodes.items()}
    toolkit = steps["gpu-01"]["toolkit"]
    assert (toolkit["before"]["outcome"], toolkit["after"]["outcome"]) == ("satisfied", "would-fail")
    assert steps["gpu-02"]["toolkit"]["after"]["outcome"] == "satisfied"
    assert ended.returncode == 3


def test_what_fails_in_the_old_one_alone_is_no_failure(scripted, project, stackplan):
    recorded(project, "12.8", "gpu-02")
    (project / P).write_text(SCRIPTED.replace("cuda: 13.0", "cuda: 12.8"))
    ended = stackplan("diff", "--facts", "facts", "HEAD", "--", P)
    assert ended.returncode == 0
    assert "toolkit: would fail → satisfied" in ended.stdout
    assert "would stop" in ended.stdout


def test_the_same_plan_is_said_to_be_the_same(first, project, stackplan):
    recorded(project, "13.0", "gpu-01", "gpu-02")
    ended = stackplan("diff", "--facts", "facts", "HEAD", "--", P)
    assert "the plan is the same on every one" in ended.stdout
    assert ended.stdout.endswith("No difference: both prove and do the same.\n")


def test_facts_of_no_node_of_the_playbook_are_refused(first, project, stackplan):
    recorded(project, "13.0", "elsewhere")
    ended = stackplan("diff", "--facts", "facts", "HEAD", "--", P)
    assert ended.returncode == 2
    assert "facts are recorded of none of the playbook's nodes" in ended.stderr
    assert "elsewhere" in ended.stderr


def test_no_secret_is_needed_and_no_command_of_one_runs(scripted, project, stackplan, tmp_path):
    recorded(project, "13.0", "gpu-01", "gpu-02")
    secret = f"vars: {{token: {{secret: true, command: [touch, {tmp_path}/ran]}}, key: {{secret: true, env: NO_SUCH}}, "
    script = '  - id: use\n    run: {script: "curl {{ token }} {{ key }}"}\n    postconditions: [file: {path: /a}]\n'
    (project / P).write_text(SCRIPTED.replace("vars: {", secret) + script)
    compared = stackplan("diff", "--facts", "facts", "HEAD", "--", P)
    assert (compared.returncode, compared.stderr) == (0, "")
    assert "curl {{ token }} {{ key }}" in compared.stdout
    planned = stackplan("plan", "--facts", "facts", P)
    assert planned.returncode == 0
    assert [line for line in planned.stderr.splitlines() if not line.startswith("lint: ")] == []
    assert "***" in planned.stdout
    assert not (tmp_path / "ran").exists()


def test_git_of_another_repository_in_the_environment_is_what_git_makes_of_it(first, project, stackplan):
    # As in a hook: git sets GIT_DIR and GIT_INDEX_FILE there.
    ended = stackplan("diff", "HEAD", "--", P, GIT_DIR=str(project / ".git"))
    assert ended.returncode == 0


def test_no_program_that_the_repository_configures_is_run(first, project, git, stackplan, tmp_path):
    (project / ".gitattributes").write_text("* filter=bad diff=bad\n")
    for key in ("filter.bad.smudge", "filter.bad.clean", "diff.bad.textconv", "core.fsmonitor", "core.pager"):
        git("config", key, f"touch {tmp_path}/ran; cat")
    ended = stackplan("diff", "HEAD", "HEAD", "--", P)
    assert ended.returncode == 0
    assert not (tmp_path / "ran").exists()


def test_without_git_the_way_out_is_named(first, stackplan, tmp_path):
    ended = stackplan("diff", "HEAD", "--", P, PATH=str(tmp_path))
    assert ended.returncode == 2
    assert "git is not installed here" in ended.stderr


@pytest.fixture
def golden(request):
    """Compare a text with the golden file of a name; `--update-golden` writes it anew."""

    def check(name, text):
        path = Path(__file__).parent / "golden" / f"{name}.txt"
        if request.config.getoption("--update-golden", default=False):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return check
