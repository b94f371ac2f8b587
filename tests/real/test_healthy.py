"""Healthy environments of real wheels are quiet: every condition that applies holds, and there is nothing to say."""

import pytest

from tests.real.conftest import compile_modules, figure
from tests.real.stacks import HEALTHY


def statement(venv, stack):
    """Return a playbook's steps: the stack, stated by every kind of condition that applies without a GPU."""
    major = stack.cuda.partition(".")[0]
    stated = [
        f"package: {{venv: {venv}, name: torch, version: =={stack.torch}}}",
        f"torch: {{venv: {venv}, version: =={stack.torch}, cuda: {stack.cuda}, arch: sm_90}}",
        f"packages_consistent: {{venv: {venv}}}",
        f"environment_intact: {{venv: {venv}}}",
        f"cuda_coherent: {{venv: {venv}, cuda: {stack.cuda}}}",
        f"no_stale_caches: {{venv: {venv}}}",
        f"python: {{venv: {venv}, imports: [torch], expr: torch.version.cuda, equals: {stack.cuda}}}",
        f"python_import: {{venv: {venv}, modules: [{', '.join(stack.imports)}]}}",
        f"library: {{venv: {venv}, name: libcudart.so.{major}, path: {venv}}}",
        f'library: {{venv: {venv}, name: libnccl.so.2, path: {venv}, version: ">=2.27"}}',
    ]
    if stack.family:
        stated.append(f"same_build: {{venv: {venv}, packages: [{', '.join(stack.family)}], by: version}}")
    lines = ["  - id: stack", f"    python_packages: {{venv: {venv}, packages: [{', '.join(stack.packages)}]}}"]
    return "\n".join([*lines, "    postconditions:", *(f"      - {it}" for it in stated)]) + "\n"


def quiet(outcome, verdict):
    """Assert that all of a report's conditions stand at `verdict`, and that nothing at all is said besides."""
    (step,) = outcome.node["steps"]
    assert {it["kind"]: it["verdict"] for it in step["conditions"] if it["verdict"] != verdict} == {}
    said = [it for where in (outcome.report, outcome.node, step) for it in where["diagnoses"]]
    assert said == []
    assert [outcome.node["message"], outcome.node["remedy"], step["message"]] == [None] * 3
    return step


@pytest.mark.parametrize("name", HEALTHY)
def test_plan_verify_and_apply_of_a_healthy_stack_have_nothing_to_say(site, stack, name):
    playbook = site.playbook(statement(stack(name), HEALTHY[name]))
    # An environment in use has its modules compiled; an installer leaves that to the first import.
    compile_modules(site.sandbox.home / name, *HEALTHY[name].imports)
    planned = quiet(site.plan(playbook), "held")
    assert (planned["outcome"], planned["predicted"], planned["details"]) == ("satisfied", [], [])
    assert quiet(site.verify(playbook), "held")["outcome"] == "held"
    applied = quiet(site.apply(playbook), "held")
    assert (applied["outcome"], applied["changes"]) == ("satisfied", [])
    figure(f"{name}: {len(applied['conditions'])} conditions held")
