"""The audit over sshd: what a profile sets is found in the first round trip, and decides nothing."""

import subprocess

import pytest

from stackplan.connection.session import Session

PLAYBOOK = """
stackplan: 1
name: audited
nodes: all
vars: {venv: ~/ml-env}
steps:
  - id: torch
    python_packages: {venv: "{{ venv }}", packages: [torch], index_url: "{{ torch_index }}", upgrade: true}
    postconditions:
      - torch: {venv: "{{ venv }}", cuda: 13.0}
"""


def codes(outcome):
    return [it["code"] for it in outcome.node["diagnoses"] if it["code"].startswith("SP3")]


def plan(site, *words, check=0):
    return site.run("plan", site.playbook(PLAYBOOK), "-i", site.inventory, "--format", "json", *words, check=check)


def spoil(site):
    """Leave on the node what surprises people: settings in a profile, another nvcc's folder, another uv."""
    (node,) = site.nodes.values()
    other = node.sandbox.home / "other"
    other.mkdir()
    (other / "uv").write_text("#!/bin/sh\n")
    (other / "uv").chmod(0o755)
    (node.sandbox.home / ".profile").write_text(
        f"PATH={other}:$PATH\n"
        "export PATH FLASHINFER_DISABLE_VERSION_CHECK=1\n"
        f"export UV_EXTRA_INDEX_URL=https://bob:hunter2@{site.index.url.partition('://')[2]}/whl/cu128/\n"
    )


def test_a_healthy_node_is_quiet_and_a_spoilt_profile_is_found_and_changes_no_plan(site):
    healthy = plan(site)
    assert codes(healthy) == []
    spoil(site)
    spoilt = plan(site)
    assert codes(spoilt) == ["SP302", "SP304", "SP317"]
    assert "hunter2" not in spoilt.stdout
    assert "https://***@" in spoilt.stdout
    assert spoilt.node["steps"] == healthy.node["steps"]
    assert codes(plan(site, "--no-audit")) == []
    for form in ("text", "markdown"):
        told = site.run("plan", site.playbook(PLAYBOOK), "-i", site.inventory, "--format", form, check=0).stdout
        assert "SP317" in told
        assert "hunter2" not in told


def test_recorded_facts_tell_the_same_and_a_saved_plan_does_not_rest_on_them(site):
    path = site.folder / "p.json"
    plan(site, "-o", path)
    spoil(site)
    site.run("facts", site.playbook(PLAYBOOK), "-i", site.inventory, "-o", site.folder / "facts", check=0)
    recorded = (site.folder / "facts" / "gpu-01.json").read_text()
    assert "hunter2" not in recorded
    first, second = (plan(site, "--facts", site.folder / "facts") for _ in range(2))
    assert codes(first) == ["SP302", "SP304", "SP317"]
    assert first.stdout == second.stdout
    applied = site.run("apply", path, "--yes", "--format", "json", check=0)
    assert applied.outcomes() == {"torch": "changed"}


def test_by_hand_in_that_login_shell_uv_takes_the_other_index(site):
    """What SP302 says is true: the very command of the step changes nothing there, and exits 0."""
    (node,) = site.nodes.values()
    home = node.sandbox.home
    (home / ".profile").write_text(f"export UV_EXTRA_INDEX_URL={site.index.url}/whl/cu128/\n")
    command = (
        f"uv pip install --dry-run -U torch --index-url {site.index.url}/whl/cu130/ --python {home}/ml-env/bin/python"
    )
    environment = {**node.sandbox.environment, "UV_CACHE_DIR": str(site.folder / "cache")}
    said = {
        shell: subprocess.run(
            ["/bin/sh", *words, "-c", f"PATH={node.sandbox.programs}:$PATH; {command}"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stderr
        for shell, words in (("login", ["-l"]), ("step", []))
    }
    assert "+cu130" in said["step"]
    assert "+cu130" not in said["login"]


def test_uv_run_puts_back_what_a_step_changed_in_a_projects_environment(site):
    """What SP311 says is true of uv itself: `uv run` makes the environment agree with the lock again."""
    (node,) = site.nodes.values()
    project = node.sandbox.home / "app"
    project.mkdir()
    (project / "pyproject.toml").write_text(
        '[project]\nname = "app"\nversion = "1"\nrequires-python = ">=3.8"\ndependencies = ["torch==2.10.0"]\n'
        f'[[tool.uv.index]]\nurl = "{site.index.url}/whl/cu128/"\ndefault = true\n'
    )
    environment = {**node.sandbox.environment, "UV_PYTHON_DOWNLOADS": "never", "UV_CACHE_DIR": str(site.folder / "c")}

    def uv(*words):
        argv = [node.sandbox.programs / "uv", *words]
        return subprocess.run(argv, cwd=project, env=environment, capture_output=True, text=True, check=True).stdout

    def torch():
        return next(line for line in uv("pip", "freeze").splitlines() if line.startswith("torch=="))

    uv("sync")
    assert torch() == "torch==2.10.0+cu128"
    text = PLAYBOOK.replace("{{ venv }}", "~/app/.venv")
    outcome = site.run("plan", site.playbook(text), "-i", site.inventory, "--format", "json", check=0)
    assert codes(outcome) == ["SP311"]
    site.apply(site.playbook(text), check=0)
    assert torch().endswith("+cu130")
    uv("run", "python", "-c", "")
    assert torch() == "torch==2.10.0+cu128"


def test_the_audit_costs_no_round_trip_of_its_own(site, monkeypatch):
    spoil(site)
    words = ["plan", site.playbook(PLAYBOOK), "-i", site.inventory]
    trips = []
    close = Session.close

    def close_and_count(session):
        trips.append(session.round_trips)
        close(session)

    monkeypatch.setattr(Session, "close", close_and_count)
    from stackplan.cli.main import main  # noqa: PLC0415 - run here, to count

    monkeypatch.setenv("STACKPLAN_STATE", str(site.state))
    monkeypatch.setenv("SSH_AUTH_SOCK", "")
    for more in ([], ["--no-audit"]):
        with pytest.raises(SystemExit, match=r"^0$"):
            main([*map(str, words), *more])
    assert len(trips) == 2
    assert trips[0] == trips[1]
