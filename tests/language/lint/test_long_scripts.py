"""Long scripts, as some program may write them: what a line costs does not grow with the number of lines."""

import time

import pytest

from stackplan.language.lint._shell import commands

ONE_LINE = "x=1; " * 8000


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("p=$(pgrep x); kill $p\n" * 1000, ["SP173"]),
        (ONE_LINE, []),
        ("docker exec " + "-e A=b " * 20_000 + "x /opt/a", []),
        ('pids="$pids $!"; /opt/x & wait $pids\n' * 1000, ["SP162"]),
        ("f() { /opt/a; /opt/b; }\n" + "f || exit 1\n" * 1000, ["SP160"]),
    ],
)
def test_a_line_costs_what_it_costs(codes_of_script, script, expected):
    began = time.process_time()
    assert codes_of_script(script) == expected
    assert time.process_time() - began < 15


@pytest.mark.parametrize(
    "script",
    [
        "find / -exec " * 3000 + "rm x \\;",
        "xargs find / -exec " * 3000 + "rm x",
        "docker exec x sh -c " * 3000 + "rm x",
        "env sudo nice " * 3000 + "rm x",
    ],
)
def test_what_is_nested_is_read_once(script):
    began = time.process_time()
    assert 1 <= len(commands(script)) < 20
    assert time.process_time() - began < 5


def test_what_find_runs_is_each_of_its_commands_and_nothing_twice():
    told = [it.text for it in commands("find / -exec a {} \\; -exec find /x -exec b + -ok c ';'")]
    assert [it for it in told if not it.startswith("find / ")] == ["a {}", "find /x -exec b", "b", "c"]
