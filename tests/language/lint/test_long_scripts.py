"""Long scripts, as some program may write them: what a line costs does not grow with the number of lines."""

import time

import pytest

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
