"""What is written empty is written, and what an action proves by itself counts like a condition that stands there."""

import pytest

from stackplan.language.compare import Version, compare
from stackplan.model.comparison import Effect, Side

SIDES = Side(label="old", path="p.yaml"), Side(label="new", path="p.yaml")
WEAKER, NOTE, OTHER, STRONGER = Effect.WEAKER, Effect.NOTE, Effect.OTHER, Effect.STRONGER


@pytest.fixture
def compared(read):
    def found(old, new, *, head="", new_head=None):
        first = read(old, head=head, name="old.yaml")
        second = read(new, head=head if new_head is None else new_head, name="new.yaml")
        return compare(Version(SIDES[0], first), Version(SIDES[1], second))

    return found


def step(action, post="command: {run: 'true'}", name="a"):
    return f"\n  - id: {name}\n    {action}\n    postconditions: [{post}]"


def loud(comparison):
    return [(it.effect, it.what.partition("`:")[0].strip("`")) for it in comparison.weakened]


EMPTY = {
    "text": ("package: {venv: e, name: x, local: ''}", "package: {venv: e, name: x}"),
    "matcher": ("command: {run: x, stdout: ''}", "command: {run: x}"),
    "word of a matcher": ("command: {run: x, stdout: {equals: '', contains: ''}}", "command: {run: x}"),
    "content": ("file: {path: /x, content: ''}", "file: {path: /x}"),
    "body": ("http: {url: 'http://h/', body: ''}", "http: {url: 'http://h/'}"),
    "zero": ("gpu: {ecc_errors: 0}", "gpu: {count: 8}"),
}


@pytest.mark.parametrize("case", EMPTY)
def test_an_empty_value_that_is_dropped_is_weaker(compared, case):
    before, after = EMPTY[case]
    old, new = (step("run: {script: x}", it) for it in (before, after))
    assert WEAKER in {effect for effect, _ in loud(compared(old, new))}
    assert compared(old, old).differs is False


def test_a_variable_that_becomes_nothing_drops_what_it_filled_in(compared):
    same = step("run: {script: x}", "package: {venv: e, name: x, local: '{{ l }}'}")
    found = compared(same, same, head="vars: {l: ''}", new_head="vars: {l: null}")
    assert loud(found) == [(WEAKER, 'local: ""` is no longer asked for')]
    assert [it.name for it in found.variables] == ["l"]


FILE = "file: {path: /x, content: a, mode: '0600', owner: root}"
DOWNLOAD = f"download: {{url: 'http://h/x', path: /x, sha256: {'0' * 64}, mode: '0644'}}"
APT = "apt_packages: {install: [a=1, b], hold: [a, b]}"
ACTIONS = {
    "mode dropped": (FILE, FILE.replace(", mode: '0600'", ""), WEAKER, "file.mode"),
    "another mode": (FILE, FILE.replace("0600", "0644"), NOTE, "file.mode"),
    "owner dropped": (FILE, FILE.replace(", owner: root", ""), WEAKER, "file.owner"),
    "another content": (FILE, FILE.replace("content: a", "content: b"), NOTE, "file.content"),
    "content that only a node tells": (
        FILE, FILE.replace("content: a", "content: '{{ node.name }}'"), NOTE, "file.content",
    ),
    "a mode that only a node tells": (
        FILE, FILE.replace("'0600'", "'{{ node.labels.mode }}'"), NOTE, "file.mode",
    ),
    "another digest": (DOWNLOAD, DOWNLOAD.replace("0" * 64, "1" * 64), NOTE, "download.sha256"),
    "download's mode": (DOWNLOAD, DOWNLOAD.replace(", mode: '0644'", ""), WEAKER, "download.mode"),
    "target": ("symlink: {path: /l, target: /a}", "symlink: {path: /l, target: /b}", NOTE, "symlink.target"),
    "release": ("cuda_toolkit: {version: 13.0.1}", "cuda_toolkit: {version: 12.8.1}", NOTE, "cuda_toolkit.version"),
    "hold": (APT, APT.replace("hold: [a, b]", "hold: [a]"), WEAKER, "apt_packages.hold"),
    "pin": (APT, APT.replace("a=1", "a"), WEAKER, "apt_packages.install"),
    "package": (APT, APT.replace("a=1, b", "a=1").replace("[a, b]", "[a]"), WEAKER, "apt_packages.hold"),
    "enabled": (
        "service: {name: s, state: started, enabled: true}", "service: {name: s, state: started}",
        WEAKER, "service.enabled",
    ),
    "stopped": ("service: {name: s, state: started}", "service: {name: s, state: stopped}", NOTE, "service.state"),
    "environment": (
        "python_packages: {venv: ~/e, packages: [x]}", "python_packages: {venv: ~/f, packages: [x]}",
        NOTE, "python_packages.venv",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ACTIONS)
def test_what_an_action_proves_by_itself_and_proves_no_more(compared, case):
    before, after, effect, path = ACTIONS[case]
    found = [(ruled, said.partition(":")[0]) for ruled, said in loud(compared(step(before), step(after)))]
    assert (effect, path) in found
    if effect is WEAKER:
        assert loud(compared(step(after), step(before))) == []


QUIET = {
    "another address": (DOWNLOAD, DOWNLOAD.replace("http://h/x", "http://h/y")),
    "another way to the same state": (
        "service: {name: s, state: started}", "service: {name: s, state: restarted}",
    ),
    "the same release": ("cuda_toolkit: {version: 13.0.1}", "cuda_toolkit: {version: 13.0.2}"),
    "a shorter time limit": (APT, APT.replace("]}", "], lock_timeout: 4m}")),
    "the time limit that counts anyway": (APT, APT.replace("]}", "], lock_timeout: 300s}")),
    "a script": ("run: {script: 'echo {{ node.name }}'}", "run: {script: 'echo {{ node.name }} x'}"),
}  # fmt: skip


@pytest.mark.parametrize("case", QUIET)
def test_an_argument_that_states_nothing_is_quiet(compared, case):
    before, after = QUIET[case]
    found = compared(step(before), step(after))
    assert found.differs
    assert found.weakened == ()


def test_what_a_postcondition_states_anyway_is_not_lost_with_the_argument(compared):
    post = "file: {path: /x, mode: '0600'}"
    assert loud(compared(step(FILE, post), step(FILE.replace(", mode: '0600'", ""), post))) == []
    other = "file: {path: /y, mode: '0600'}"
    assert loud(compared(step(FILE, other), step(FILE.replace(", mode: '0600'", ""), other))) != []


def test_what_another_step_proves_now_is_one_to_look_at(compared):
    first, second = step("apt_packages: {install: [a, b]}"), step("apt_packages: {install: [c]}", name="b")
    moved = step("apt_packages: {install: [a]}") + step("apt_packages: {install: [c, b]}", name="b")
    assert [(it.effect, "step b states it now" in it.what) for it in compared(first + second, moved).weakened] == [
        (NOTE, True)
    ]


def test_a_removed_step_takes_along_what_its_action_proved(compared):
    kept = step("run: {script: x}", name="b")
    found = compared(step(FILE) + kept, kept)
    assert [(it.step, it.effect) for it in found.weakened] == [("a", WEAKER), ("a", NOTE)]
    assert found.weakened[0].what == "`action: file` is no longer asked for"


def test_a_removed_step_whose_condition_is_lost_says_so_once(compared):
    kept = step("run: {script: x}", name="b")
    (weakened,) = compared(step(FILE, "file: {path: /x}") + kept, kept).weakened
    assert (weakened.effect, weakened.what) == (WEAKER, "postcondition dropped with its step")


def test_an_action_of_another_kind_that_proves_less_of_the_same(compared):
    old, post = step(FILE, "file: {path: /x}"), "file: {path: /x}"
    (weakened,) = compared(old, step("run: {script: x}", post)).weakened
    assert weakened.effect is WEAKER
    assert "mode" in weakened.what


def test_a_recheck_that_is_written_or_not_is_no_difference(compared):
    plain = step("run: {script: x}", "file: {path: /x}")
    written = step("run: {script: x}", "{file: {path: /x}, recheck: always, name: words}")
    assert not compared(written, plain).differs


@pytest.mark.parametrize(("before", "after"), [("0640", "0644"), ("640", "600")])
def test_a_file_mode_is_no_release(compared, before, after):
    old = step("run: {script: x}", f"file: {{path: /x, mode: '{before}'}}")
    (weakened,) = compared(old, old.replace(before, after)).weakened
    assert "release" not in weakened.what
    assert weakened.effect is NOTE
