"""The arithmetic of requirements: extras of extras, markers, and the speed of a large environment."""

import time

from stackplan.conditions._requirement_check import problems
from stackplan.model.distribution import Distribution

MARKERS = {"python_version": "3.11", "python_full_version": "3.11.7", "sys_platform": "linux"}


def installed(name: str, version: str, *requires: str) -> Distribution:
    return Distribution(name, version, f"{name}-{version}.dist-info", requires, None)


def told(*found: Distribution) -> list[tuple[str, str]]:
    return [(it.wanted, it.found) for it in problems(found, MARKERS)]


def test_an_extra_is_followed_only_as_far_as_it_is_asked_for():
    server = installed(
        "server", "2", 'speed>=1; extra == "fast"', 'speed[deep]; extra == "all"', "speed==0; extra == 'old'"
    )
    speed = installed("speed", "1", 'engine; extra == "deep"')
    assert told(server, speed) == []
    assert told(installed("app", "1", "server[fast]"), server, speed) == []
    assert told(installed("app", "1", "server[all]"), server, speed) == [
        ("speed[deep] 1 requires engine", "engine not installed")
    ]
    assert told(installed("app", "1", 'server[all]; sys_platform == "win32"'), server, speed) == []


def test_a_plain_requirement_is_told_once_however_many_extras_are_asked_for():
    found = told(installed("app", "1", "server[a,b]"), installed("server", "2", "engine>=3"), installed("engine", "2"))
    assert found == [("server 2 requires engine>=3", "engine 2")]


def test_prereleases_labels_and_addresses_meet_a_requirement():
    torch = installed("torch", "2.11.0.dev20260227+cu130")
    assert told(torch, installed("a", "1", "torch>=2.10", "Torch<2.12", "torch @ https://example.invalid/t.whl")) == []


def test_a_requirement_for_another_python_or_system_does_not_count():
    assert told(installed("a", "1", 'b; python_version < "3.11"', 'c; sys_platform == "win32"')) == []
    assert told(installed("a", "1", 'b; python_version < "3.12"')) == [("a 1 requires b", "b not installed")]


def test_what_is_no_version_meets_nothing():
    assert told(installed("odd", "final"), installed("a", "1", "odd>=1")) == [("a 1 requires odd>=1", "odd final")]


def test_three_hundred_distributions_are_checked_fast():
    names = [f"package-{number}" for number in range(300)]
    needs = [f'{name}>=0.5; python_version >= "3.8"' for name in names[:10]]
    found = tuple(installed(name, "1.0", *needs, f"{names[0]}[extra]") for name in names)
    seconds = []
    for _ in range(4):
        started = time.perf_counter()
        assert problems(found, MARKERS) == ()
        seconds.append(time.perf_counter() - started)
    assert min(seconds) < 0.2, "budget 0.02 s on a quiet machine, once it has seen the texts"
