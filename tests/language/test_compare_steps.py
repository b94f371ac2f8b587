"""What a change to the steps means: their settings, their order, and conditions that went elsewhere."""

from dataclasses import replace

import pytest

from stackplan.language import playbook
from stackplan.language.compare import Version, compare
from stackplan.model.comparison import Effect, Side
from stackplan.model.playbook import OnFailure

SIDES = Side(label="old", path="p.yaml"), Side(label="new", path="p.yaml")


@pytest.fixture
def compared(read):
    def found(old, new, *, head="", new_head=None):
        first = read(old, head=head, name="old.yaml")
        second = read(new, head=head if new_head is None else new_head, name="new.yaml")
        return compare(Version(SIDES[0], first), Version(SIDES[1], second))

    return found


def loud(comparison):
    return [(it.step, it.effect, it.subject) for it in comparison.weakened]


def step(name, more="", *, post="{file: {path: /%s}}", action="run: {script: echo %s}"):
    fields = f"\n    {more}" if more else ""
    return (
        f"\n  - id: {name}{fields}\n    {action.replace('%s', name)}\n    postconditions: [{post.replace('%s', name)}]"
    )


def checkpoint(name, more=""):
    return step(name, more, action="checkpoint: {}")


SETTINGS = {
    # What is loud when `before` becomes `after`, and what when it is the other way round.
    "always": ("always: true", "", Effect.NOTE, Effect.OTHER),
    "when": ("", "when: x == 1", Effect.WEAKER, Effect.STRONGER),
    "when narrowed": ("when: x == 1", "when: x == 1 and x == 2", Effect.NOTE, Effect.NOTE),
    "retries": ("", "retries: {times: 3, delay: 1s}", Effect.NOTE, Effect.OTHER),
    "another delay": ("retries: {times: 3, delay: 1s}", "retries: {times: 3, delay: 9s}", Effect.OTHER, Effect.OTHER),
    "interruptible": ("interruptible: false", "", Effect.NOTE, Effect.OTHER),
    "timeout": ("timeout: 5m", "timeout: 50m", Effect.NOTE, Effect.OTHER),
    "user": ("user: ops", "user: dev", Effect.NOTE, Effect.NOTE),
    "become": ("", "become: true", Effect.NOTE, Effect.NOTE),
    "env": ("", "env: {A: b}", Effect.OTHER, Effect.OTHER),
    "precondition": ("preconditions: [{gpu: {count: 8}}]", "", Effect.WEAKER, Effect.STRONGER),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_the_settings_of_a_step(compared, case):
    before, after, forth, back = SETTINGS[case]
    for old, new, effect in ((before, after, forth), (after, before, back)):
        found = compared(step("a", old), step("a", new), head="vars: {x: 1}")
        (change,) = found.steps
        assert {it.effect for it in (*change.fields, *change.conditions)} == {effect}
        assert bool(found.weakened) == (effect in (Effect.WEAKER, Effect.NOTE))


def test_a_failure_that_is_no_longer_rolled_back_is_one_to_look_at(read):
    kept = read(step("a"))
    back = replace(kept, steps=(replace(kept.steps[0], on_failure=OnFailure.ROLLBACK),))
    first, second = (Version(side, it) for side, it in zip(SIDES, (back, kept), strict=True))
    assert loud(compare(first, second)) == [("a", Effect.NOTE, "run")]
    assert loud(compare(second, first)) == []


WORDS = ("name: a step", "why: because of it")


@pytest.mark.parametrize("words", WORDS)
def test_words_for_people_are_no_difference(compared, words):
    assert not compared(step("a"), step("a", words)).differs


ORDERS = {
    "ahead of a checkpoint": ((checkpoint("c"), step("a")), (step("a"), checkpoint("c")), Effect.WEAKER),
    "ahead of a precondition": (
        (step("p", "preconditions: [{gpu: {count: 8}}]"), step("a")),
        (step("a"), step("p", "preconditions: [{gpu: {count: 8}}]")),
        Effect.WEAKER,
    ),
    "two that act": ((step("a"), step("b")), (step("b"), step("a")), Effect.NOTE),
    "a checkpoint ahead of what acts": (
        (checkpoint("c"), step("a"), step("b")), (step("a"), step("b"), checkpoint("c")), Effect.WEAKER,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ORDERS)
def test_a_step_that_no_longer_waits_for_what_guarded_it(compared, case):
    old, new, effect = ORDERS[case]
    (weakened,) = compared("".join(old), "".join(new)).weakened
    assert (weakened.effect, weakened.subject) == (effect, "the order of the steps")


def test_checkpoints_may_change_places_and_what_waits_for_more_is_no_loss(compared):
    assert compared(checkpoint("a") + checkpoint("b"), checkpoint("b") + checkpoint("a")).weakened == ()
    assert compared(step("a") + checkpoint("c"), checkpoint("c") + step("a")).weakened == ()


def test_a_step_whose_arguments_only_a_node_can_tell_is_taken_to_act(compared):
    open_ = step(
        "a", action="python_packages: {venv: '{{ node.labels.venv }}', packages: '{{ node.labels.packages }}'}"
    )
    (weakened,) = compared(checkpoint("c") + open_, open_ + checkpoint("c")).weakened
    assert weakened.effect is Effect.WEAKER


def test_it_is_said_of_what_it_runs_ahead(compared):
    old = step("a") + checkpoint("c") + step("b") + step("d")
    (weakened,) = compared(old, step("d") + step("a") + checkpoint("c") + step("b")).weakened
    assert (weakened.step, weakened.what) == ("d", "runs now before c is proven")


BOTH = "{file: {path: /%s}}, {file: {path: /x}}"
ELSEWHERE = {
    "an earlier step": (
        step("a") + step("b", post=BOTH), step("a", post=BOTH) + step("b"), Effect.NOTE, "step a states it now",
    ),
    "a later checkpoint": (
        step("a", post=BOTH) + step("b") + checkpoint("c"),
        step("a") + step("b") + step("c", post=BOTH, action="checkpoint: {}"),
        Effect.NOTE,
        "step c states it now, after other steps have run",
    ),
    "a precondition": (
        step("a", post=BOTH) + step("b"),
        step("a") + step("b", "preconditions: [{file: {path: /x}}]"),
        Effect.WEAKER,
        "postcondition dropped",
    ),
    "nowhere": (step("a", post=BOTH), step("a"), Effect.WEAKER, "postcondition dropped"),
    "a precondition that an earlier step proves": (
        step("a") + step("b", "preconditions: [{file: {path: /x}}]"),
        step("a", post=BOTH) + step("b"),
        Effect.NOTE,
        "step a states it now",
    ),
    "a precondition that only a later step has": (
        step("a", "preconditions: [{file: {path: /x}}]") + step("b"),
        step("a") + step("b", "preconditions: [{file: {path: /x}}]"),
        Effect.WEAKER,
        "precondition dropped",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ELSEWHERE)
def test_a_condition_that_went_elsewhere(compared, case):
    old, new, effect, said = ELSEWHERE[case]
    (weakened,) = compared(old, new).weakened
    assert weakened.effect is effect
    assert weakened.what.endswith(said)


NODES = {
    "a group less": ("[a, b]", "[a]", Effect.WEAKER),
    "no longer all": ("all", "[a]", Effect.WEAKER),
    "some taken away": ("[a]", "[a, '!x']", Effect.WEAKER),
    "some taken from all": ("all", "['!x']", Effect.WEAKER),
    "in one text": ("'a,b'", "b", Effect.WEAKER),
    "others": ("[a]", "[b]", Effect.NOTE),
    "others than before": ("[a, '!x']", "[a, '!y']", Effect.NOTE),
}


@pytest.fixture
def nodes(write):
    """Return what it does that `nodes` of a playbook is something else; None where that is no difference."""

    def found(*patterns):
        texts = [f"stackplan: 1\nnodes: {it}\nsteps:{step('a')}" for it in patterns]
        read = [playbook.read(write(f"{number}.yaml", text)) for number, text in enumerate(texts)]
        settings = compare(*(Version(side, it) for side, it in zip(SIDES, read, strict=True))).settings
        return settings[0].effect if settings else None

    return found


@pytest.mark.parametrize("case", NODES)
def test_nodes_that_lose_the_proof(nodes, case):
    before, after, effect = NODES[case]
    assert nodes(before, after) is effect
    assert nodes(after, before) is (Effect.NOTE if effect is Effect.NOTE else Effect.STRONGER)


def test_patterns_that_are_written_differently_name_the_same_nodes(nodes):
    assert nodes("[a, b]", "'b, a'") is None


def test_an_action_of_another_kind_loses_what_came_with_the_old_one(compared):
    packages = step("a", action="python_packages: {venv: ~/e, packages: [torch]}")
    (weakened,) = compared(packages, step("a")).weakened
    assert weakened.effect is Effect.WEAKER
    assert "environment_intact" in weakened.what
    assert compared(step("a"), packages).weakened == ()


def test_a_variable_that_turns_a_step_off_is_weaker(compared):
    on, off = "vars: {go: true}", "vars: {go: false}"
    (weakened,) = compared(step("a", "when: go"), step("a", "when: go"), head=on, new_head=off).weakened
    assert (weakened.step, weakened.effect, weakened.subject) == ("a", Effect.WEAKER, "the variable go")
    assert compared(step("a", "when: go"), step("a", "when: go"), head=off, new_head=on).weakened == ()


def test_a_variable_in_what_only_a_node_can_fill_in_is_one_to_look_at(compared):
    post = "{gpu: {memory: '{{ least if node.labels.big else other }}'}}"
    more, less = "vars: {least: 90GiB, other: 10GiB}", "vars: {least: 9GiB, other: 10GiB}"
    found = compared(step("a", post=post), step("a", post=post), head=more, new_head=less)
    assert loud(found) == [("a", Effect.NOTE, "the variable least")]
    named = post.replace("{gpu", "{name: '{{ least }}', gpu").replace("least if node.labels.big else ", "")
    assert compared(step("a", post=named), step("a", post=named), head=more, new_head=less).weakened == ()
