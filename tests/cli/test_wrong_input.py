"""Whatever is wrong with what people give is told in words, all at once, and without a secret in it."""

import json
import re

import pytest

HEAD = "stackplan: 1\nnodes: all\nsteps:\n"
STEP = "  - {id: s, checkpoint: {}, postconditions: [{file: {path: /}}]}\n"
LONG = "a" * 5000


@pytest.fixture(autouse=True)
def playbook(project):
    (project / "p.yaml").write_text(HEAD + STEP)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lint", ""], "the name of the playbook is empty"),
        (["lint", LONG], "File name too long"),
        (["lint", "p.yaml", "-i", LONG], "File name too long"),
        (["plan", "p.yaml", "--local", "--vars", LONG], "File name too long"),
        (["plan", "p.yaml", "--local", "--facts", LONG], "File name too long"),
        (["plan", "p.yaml", "--local", "-o", LONG], "File name too long"),
        (["plan", "p.yaml", "--local", "-o", "/proc/x"], "/proc/x is no file of its own"),
        (["plan", "p.yaml", "-n", ""], "`-n` names no node: it is empty"),
        (["plan", "p.yaml", "-n", "u:hunter22@h"], "`-n u:***@h` holds a password"),
        (["plan", "p.yaml", "--local", "-l", ""], "the pattern is empty"),
    ],
)
def test_words_that_mean_nothing(stackplan, words, said):
    ended = stackplan(*words)
    assert ended.returncode == 2
    assert said in ended.stdout + ended.stderr
    assert "bug" not in ended.stderr
    assert "hunter22" not in ended.stdout + ended.stderr


PASSWORDS = [
    "  - {id: s, include: https://bob:hunter22@h/x.yaml}\n",
    "  - {id: s, checkpoint: https://bob:hunter22@h/x, postconditions: [{file: {path: /}}]}\n",
    "  - {id: s, checkpoint: {}, retries: https://bob:hunter22@h/x, postconditions: [{file: {path: /}}]}\n",
    # A message cuts what it shows, and must not cut the part off by which a password is known.
    f"  - {{id: s, checkpoint: {{}}, timeout: {'x' * 101}https://bob:hunter22@h/}}\n",
    "  - {id: s, https://bob:hunter22@h/: {}, postconditions: [{file: {path: /}}]}\n",
    "  - {id: s, file: {path: /a, source: https://bob:hunter22@h/x}, postconditions: [{file: {path: /}}]}\n",
    "  - include: https://bob:hunter22@h/x.yaml\n",
]


@pytest.mark.parametrize("step", PASSWORDS)
def test_no_password_of_an_address_is_told(stackplan, project, step):
    (project / "w.yaml").write_text(HEAD + step)
    for words in (["lint", "w.yaml"], ["plan", "w.yaml", "--local", "--format", "json"]):
        ended = stackplan(*words)
        assert ended.returncode == 2
        assert "hunter" not in ended.stdout + ended.stderr
    # What is written there reaches the words, so that its absence means something.
    (project / "w.yaml").write_text(HEAD + step.replace("bob:hunter22@", "hunter22."))
    assert "hunter22" in stackplan("lint", "w.yaml").stdout


def test_nor_one_in_an_inventory_or_in_what_its_program_says(stackplan, project):
    (project / "i.yaml").write_text("stackplan: 1\nnodes: {n: {port: 'https://bob:hunter22@h/'}}\n")
    (project / "hosts").write_text("#!/bin/sh\necho no answer from https://bob:hunter22@h/ >&2\nexit 3\n")
    (project / "hosts").chmod(0o755)
    for name, said in (("i.yaml", "`port` is not"), ("hosts", "no answer from")):
        ended = stackplan("plan", "p.yaml", "-i", name)
        assert ended.returncode == 2
        assert said in ended.stderr
        assert "hunter" not in ended.stderr


def test_of_very_many_problems_the_first_hundred_are_shown(stackplan, project):
    (project / "w.yaml").write_text(HEAD + "".join(f"  - {{nothing_{it}: 1}}\n" for it in range(150)))
    ended = stackplan("lint", "w.yaml")
    found = json.loads(stackplan("lint", "w.yaml", "--format", "json").stdout)["diagnoses"]
    assert len(found) > 150
    assert ended.stdout.count("^") == 100
    (left,) = re.findall(r"… and (\d+) more problems", ended.stdout)
    assert 0 < int(left) < len(found) - 99
    assert f"{len(found)} problems" in ended.stderr
    assert f"… and {left} more problems" in stackplan("plan", "w.yaml", "--local").stderr


def test_one_mistake_everywhere_is_told_once_with_its_first_places(stackplan, project):
    step = "  - {id: s%d, checkpoint: {}, postconditions: [{file: {pth: /x}}]}\n"
    (project / "w.yaml").write_text(HEAD + "".join(step % number for number in range(40)))
    ended = stackplan("lint", "w.yaml")
    assert ended.stdout.count("pth: /x") < 5
    lines = [line for line in ended.stdout.splitlines() if "also at" in line]
    assert re.fullmatch(r"  also at   w\.yaml:5:\d+, w\.yaml:6:\d+ and 37 more places", lines[0])
    found = json.loads(stackplan("lint", "w.yaml", "--format", "json").stdout)["diagnoses"]
    assert len(found) >= 40
    assert f"{len(found)} problems" in ended.stderr
    assert len(stackplan("lint", "w.yaml", "--format", "github").stdout.splitlines()) == len(found)


def test_lint_knows_the_nodes_of_the_inventory_that_it_is_given(stackplan, project):
    (project / "w.yaml").write_text((HEAD + STEP).replace("all", "gpu-1"))
    (project / "i.yaml").write_text("stackplan: 1\nnodes: {gpu-01: }\n")
    ended = stackplan("lint", "w.yaml", "-i", "i.yaml")
    assert ended.returncode == 2
    assert "w.yaml:2:8  there is no node or group `gpu-1` in i.yaml" in ended.stdout
    assert "did you mean `gpu-01`" in ended.stdout


def test_a_colon_without_a_key(stackplan, project):
    (project / "w.yaml").write_text(HEAD + STEP + ": x\n")
    assert "w.yaml:5:1  a key is missing before this colon" in stackplan("lint", "w.yaml").stdout
