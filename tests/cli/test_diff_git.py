"""`stackplan diff` and what git repositories are like: worktrees, submodules, renames, shallow clones, other owners."""

import json
import os

import pytest

P = "playbooks/p.yaml"
PLAYBOOK = """\
stackplan: 1
name: p
nodes: all
steps:
  - id: toolkit
    checkpoint: {}
    postconditions:
      - nvcc: {prefix: /usr/local/cuda-13.0, release: 13.0}
      - file: {path: /etc/hosts}
"""
WEAKER = PLAYBOOK.replace(", release: 13.0", "")
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"


@pytest.fixture
def first(commit):
    return commit({P: PLAYBOOK})


@pytest.fixture
def weakened(stackplan):
    """Return what is told as weaker by a diff; it has to end well."""

    def found(*words, **environment):
        ended = stackplan("diff", "--format", "json", *words, **environment)
        assert (ended.returncode, ended.stderr) == (0, "")
        return [it["what"] for it in json.loads(ended.stdout)["weakened"]]

    return found


@pytest.fixture
def refused(stackplan):
    """Return what a diff says that cannot be made."""

    def said(*words, **environment):
        ended = stackplan("diff", *words, **environment)
        assert (ended.returncode, ended.stdout) == (2, "")
        return " ".join(ended.stderr.split())

    return said


DROPPED = ["`release: 13.0` is no longer asked for"]


def test_a_playbook_outside_of_the_repository(first, project, refused, tmp_path):
    (tmp_path / "p.yaml").write_text(PLAYBOOK)
    for name in (str(tmp_path / "p.yaml"), "../p.yaml"):
        assert "lies outside of the git repository" in refused("HEAD", "--", name)


def test_a_playbook_that_only_the_new_side_has(first, project, stackplan):
    (project / "playbooks/new.yaml").write_text("stackplan: 1\nnodes: [x]\nsteps:\n  - include: other.yaml\n")
    (project / "playbooks/other.yaml").write_text(
        "- id: a\n  checkpoint: {}\n  postconditions: [{disk: {path: /, free: 1GiB}}]\n"
    )
    for form in ("text", "markdown"):
        ended = stackplan("diff", "--format", form, "HEAD", "--", "playbooks/new.yaml")
        assert ended.returncode == 0
        assert f"New in working tree: HEAD ({first[:10]}) has no such playbook." in ended.stdout


def test_a_playbook_that_the_new_side_no_longer_has(first, project, stackplan):
    (project / P).unlink()
    ended = stackplan("diff", "HEAD", "--", P)
    assert ended.returncode == 0
    assert "Gone in working tree: there is no such playbook any more." in ended.stdout


def test_a_playbook_that_was_renamed(first, commit, project, weakened, stackplan):
    (project / P).rename(project / "playbooks/q.yaml")
    (project / "playbooks/q.yaml").write_text(WEAKER)
    assert weakened("HEAD", "--", "playbooks/q.yaml") == DROPPED
    commit({})
    assert weakened("HEAD~1", "HEAD", "--", "playbooks/q.yaml") == DROPPED
    assert f"HEAD~1 ({first[:10]}): {P} → " in stackplan("diff", "HEAD~1", "HEAD", "--", "playbooks/q.yaml").stdout


def test_a_copy_and_something_else_are_new(first, commit, project, stackplan):
    commit({"playbooks/copy.yaml": PLAYBOOK})
    assert "New in HEAD" in stackplan("diff", "HEAD~1", "HEAD", "--", "playbooks/copy.yaml").stdout


@pytest.mark.usefixtures("first")
def test_a_linked_worktree_and_a_detached_head(commit, git, project, weakened, tmp_path):
    commit({P: WEAKER})
    git("worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"), "HEAD~1")
    git("checkout", "--quiet", "--detach", "HEAD")
    assert weakened("HEAD~1", "HEAD", "--", P) == DROPPED
    (tmp_path / "linked" / P).write_text(WEAKER)
    assert weakened("HEAD~1", "--", str(project / P)) == DROPPED


def test_in_a_hook_the_repository_is_the_one_around(first, project, weakened, git, tmp_path):
    (project / P).write_text(WEAKER)
    other = tmp_path / "other"
    git("init", "--quiet", str(other))
    # As git sets it in a hook, and as a hook of another repository may leave it.
    for found in (".git", str(other / ".git")):
        assert weakened("HEAD", "--", P, GIT_DIR=found, GIT_INDEX_FILE=f"{found}/index") == DROPPED


def test_a_work_tree_that_is_named_counts(first, project, weakened, git, tmp_path):
    (project / P).write_text(WEAKER)
    (project / ".git").rename(tmp_path / "dotfiles")
    named = {"GIT_DIR": str(tmp_path / "dotfiles"), "GIT_WORK_TREE": str(project)}
    assert weakened("HEAD", "--", P, **named) == DROPPED


@pytest.mark.usefixtures("first")
def test_a_shallow_clone_says_what_to_fetch(commit, git, project, tmp_path, refused):
    first = git("rev-parse", "HEAD")
    commit({P: WEAKER})
    bare = tmp_path / "bare"
    git("clone", "--quiet", "--depth", "1", f"file://{project}", str(bare))
    (project / ".git").rename(tmp_path / "full")
    (bare / ".git").rename(project / ".git")
    for revision in (first, "HEAD~1...HEAD"):
        assert "this clone is shallow" in refused(revision, "--", P)


def test_a_submodule_is_a_repository_of_its_own(first, commit, git, project, refused):
    inner = project / "sub"
    git("init", "--quiet", str(inner))
    (inner / "p.yaml").write_text(PLAYBOOK)
    git("add", "--all", folder=inner)
    git("commit", "--quiet", "--message", "inner", folder=inner)
    commit({})
    assert "lies in another git repository" in refused("HEAD", "--", "sub/p.yaml")
    (inner / "p.yaml").unlink()
    (inner / ".git").rename(project / ".git" / "inner")
    assert "lies in the submodule sub" in refused("HEAD", "--", "sub/p.yaml")


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_a_repository_of_another_user(first, project, refused, weakened):
    for path in (project, project / ".git"):
        os.chown(path, 12345, 12345)
    said = refused("HEAD", "--", P, SUDO_UID="")
    assert "git reads no repository of another user" in said
    assert "safe.directory" in said
    trusted = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    assert weakened("HEAD", "--", P, **trusted) == []


SPOILT = {
    "binary": ("\x00\x01\x02", "a control character stands here"),
    "conflict": (
        PLAYBOOK.replace("nodes: all\n", "<<<<<<< HEAD\nnodes: all\n=======\nnodes: x\n>>>>>>> topic\n"),
        "a merge conflict is not resolved here",
    ),
    "pointer": (LFS, "is a pointer of Git LFS"),
    "empty": ("", "the file is empty"),
}  # fmt: skip


@pytest.mark.parametrize("case", SPOILT)
def test_a_playbook_that_is_none_in_a_revision(first, commit, refused, case):
    text, said = SPOILT[case]
    spoilt = commit({P: text})
    assert said in refused("HEAD~1", "HEAD", "--", P)
    assert spoilt[:10] in refused("HEAD", "HEAD~1", "--", P)


def test_line_ends_are_no_difference(first, commit, weakened, stackplan, project):
    (project / P).write_bytes(PLAYBOOK.replace("\n", "\r\n").encode())
    assert "No difference" in stackplan("diff", "HEAD", "--", P).stdout
    (project / P).write_bytes(WEAKER.replace("\n", "\r\n").encode())
    commit({})
    assert weakened("HEAD~1", "HEAD", "--", P) == DROPPED


@pytest.mark.usefixtures("first")
def test_a_partial_clone_fetches_nothing(commit, git, project, tmp_path, refused):
    commit({P: WEAKER})
    git("config", "uploadpack.allowFilter", "true")
    part = tmp_path / "part"
    git("clone", "--quiet", "--filter=blob:none", f"file://{project}", str(part))
    (project / ".git").rename(tmp_path / "full")
    (part / ".git").rename(project / ".git")
    said = refused("HEAD~1", "--", P)
    assert "this clone is partial" in said
    assert "git cannot read a file of" in said
    assert "Traceback" not in said


def test_folders_with_names_that_git_would_quote(first, commit, project, weakened):
    name = 'play"books/ü p\n.yaml'
    commit({name: PLAYBOOK})
    commit({name: WEAKER})
    assert weakened("HEAD~1", "HEAD", "--", name) == DROPPED


def test_a_thousand_steps_and_all_of_them_changed(first, commit, stackplan, project):
    def steps(order, size):
        post = "postconditions: [{disk: {path: /d%s, free: %s}}]"
        rows = (f"  - id: s{it}\n    run: {{script: 'echo {it}'}}\n    {post % (it, size)}\n" for it in order)
        return "stackplan: 1\nname: p\nnodes: all\nsteps:\n" + "".join(rows)

    commit({P: steps(range(1000), "9GiB")})
    (project / P).write_text(steps(reversed(range(1000)), "1GiB"))
    ended = stackplan("diff", "--format", "markdown", "HEAD", "--", P)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(ended.stdout) <= 24_000
    assert "steps: 1,000 changed" in ended.stdout or "steps: 1000 changed" in ended.stdout
