"""What a change to a playbook means: what is no difference, what is weaker, what only moved."""

import json

import pytest

from stackplan.language.compare import Version, compare
from stackplan.language.schema import folder
from stackplan.model.comparison import Effect, Side, Turn

STEP = """
  - id: torch
    python_packages: {venv: ~/ml-env, packages: [torch]}
    postconditions:
      - %s
"""
SIDES = Side(label="old", path="p.yaml"), Side(label="new", path="p.yaml")


@pytest.fixture
def compared(read):
    def found(old, new, *, head="", new_head=None):
        first = None if old is None else read(old, head=head, name="old.yaml")
        second = None if new is None else read(new, head=head if new_head is None else new_head, name="new.yaml")
        return compare(Version(SIDES[0], first), Version(SIDES[1], second))

    return found


@pytest.fixture
def effect(compared):
    """Return the effects and words of what changes when one condition becomes another."""

    def found(before, after):
        (step,) = compared(STEP % before, STEP % after).steps
        return [(field.path, field.effect, field.why) for it in step.conditions for field in it.fields]

    return found


WEAKER = {
    "wider": ("version", "torch: {venv: e, version: '>=2.11'}", "torch: {venv: e, version: '>=2.10'}"),
    "prefix": ("version", "torch: {venv: e, version: ==2.11.0}", "torch: {venv: e, version: ==2.11.*}"),
    "bare": ("version", "torch: {venv: e, version: 2.11.0}", "torch: {venv: e, version: '>=2.11'}"),
    "label": ("version", "torch: {venv: e, version: ==2.10.0+cu130}", "torch: {venv: e, version: ==2.10.0}"),
    "bound": ("version", "torch: {venv: e, version: '>=2,<3'}", "torch: {venv: e, version: '>=2,<4'}"),
    "field": ("arch", "torch: {venv: e, cuda: 13.0, arch: sm_120}", "torch: {venv: e, cuda: 13.0}"),
    "release": ("cuda", "torch: {venv: e, cuda: 13.0}", "torch: {venv: e, cuda: 13}"),
    "size": ("free", "disk: {path: /, free: 30GiB}", "disk: {path: /, free: 20GiB}"),
    "unit": ("free", "disk: {path: /, free: 30GiB}", "disk: {path: /, free: 30GB}"),
    "count": ("count", "gpu: {count: 8}", "gpu: {count: 4}"),
    "errors": ("ecc_errors", "gpu: {ecc_errors: 0}", "gpu: {ecc_errors: 3}"),
    "list": ("modules", "python_import: {venv: e, modules: [a, b]}", "python_import: {venv: e, modules: [a]}"),
    "exception": ("allow", "packages_consistent: {venv: e}", "packages_consistent: {venv: e, allow: [x]}"),
    "exceptions": (
        "allow", "packages_consistent: {venv: e, allow: [x]}", "packages_consistent: {venv: e, allow: [x, y]}",
    ),
    "equals to contains": ("stdout", "command: {run: x, stdout: abc}", "command: {run: x, stdout: {contains: b}}"),
    "equals to matches": ("stdout", "command: {run: x, stdout: abc}", "command: {run: x, stdout: {matches: '^a'}}"),
    "equals to one of": ("stdout", "command: {run: x, stdout: '8'}", "command: {run: x, stdout: {one_of: ['8', '9']}}"),
    "one of grown": (
        "stdout", "command: {run: x, stdout: {one_of: [a]}}", "command: {run: x, stdout: {one_of: [a, b]}}",
    ),
    "contains less": (
        "stdout", "command: {run: x, stdout: {contains: abc}}", "command: {run: x, stdout: {contains: b}}",
    ),
    "at least": ("stdout", "command: {run: x, stdout: {at_least: 8}}", "command: {run: x, stdout: {at_least: 7}}"),
    "at most": ("stdout", "command: {run: x, stdout: {at_most: 8}}", "command: {run: x, stdout: {at_most: 9}}"),
    "word": (
        "stdout", "command: {run: x, stdout: {at_least: 1, at_most: 2}}", "command: {run: x, stdout: {at_least: 1}}",
    ),
    "matcher": ("stderr", "command: {run: x, stdout: a, stderr: b}", "command: {run: x, stdout: a}"),
    "inlined": ("at_least", "python: {venv: e, expr: x, at_least: 8}", "python: {venv: e, expr: x, at_least: 4}"),
    "digest": ("sha256", f"file: {{path: /a, sha256: {'0' * 64}}}", "file: {path: /a}"),
    "recheck": ("recheck", "torch: {venv: e}\n        recheck: always", "torch: {venv: e}\n        recheck: never"),
    "default recheck": (
        "recheck", "torch: {venv: e}", "torch: {venv: e}\n        recheck: final",
    ),
    "any": ("any", "any: [torch: {venv: e}]", "any: [torch: {venv: e}, file: {path: /a}]"),
    "all": ("all", "all: [torch: {venv: e}, file: {path: /a}]", "all: [torch: {venv: e}]"),
    "inside all": ("all", "all: [torch: {venv: e, cuda: 13}]", "all: [torch: {venv: e}]"),
    "inside not": ("not", "not: {torch: {venv: e}}", "not: {torch: {venv: e, cuda: 13}}"),
}  # fmt: skip


@pytest.mark.parametrize("case", WEAKER)
def test_weaker(effect, case):
    path, before, after = WEAKER[case]
    assert [(it[0], it[1]) for it in effect(before, after)] == [(path, Effect.WEAKER)]


@pytest.mark.parametrize("case", WEAKER)
def test_the_way_back_is_stronger(effect, case):
    path, before, after = WEAKER[case]
    ((found, ruled, _),) = effect(after, before)
    assert (found, ruled) == (path, Effect.STRONGER)


UNSURE = {
    "another version": ("version", "torch: {venv: e, version: ==2.10}", "torch: {venv: e, version: ==2.11}"),
    "a pin of other versions": ("version", "torch: {venv: e, version: '>=2.11'}", "torch: {venv: e, version: ==1.0}"),
    "ranges that cross": ("version", "torch: {venv: e, version: '>=2,<3'}", "torch: {venv: e, version: '>=2.5,<4'}"),
    "a version of the node": (
        "version", "torch: {venv: e, version: '>=2'}", "torch: {venv: e, version: '{{ node.labels.v }}'}",
    ),
    "a version on a condition": (
        "version",
        "torch: {venv: e, version: '>=2'}",
        "torch: {venv: e, version: \"{{ '>=2' if node.labels.new else none }}\"}",
    ),
    "a version in part": (
        "version", "torch: {venv: e, version: '>=2'}", "torch: {venv: e, version: '>={{ node.labels.v }}'}",
    ),
    "another release": ("cuda", "torch: {venv: e, cuda: 13.0}", "torch: {venv: e, cuda: 12.8}"),
    "no release": ("cuda", "torch: {venv: e, cuda: 13.0}", "torch: {venv: e, cuda: none}"),
    "a release of the node": ("cuda", "torch: {venv: e, cuda: 13.0}", "torch: {venv: e, cuda: '{{ node.labels.c }}'}"),
    "another text": ("arch", "torch: {venv: e, arch: sm_90}", "torch: {venv: e, arch: sm_120}"),
    "another label": (
        "local", "package: {venv: e, name: a, local: cu130}", "package: {venv: e, name: a, local: cu128}",
    ),
    "a size of the node": ("free", "disk: {path: /, free: 3GiB}", "disk: {path: /, free: '{{ node.labels.f }}'}"),
    "a count of the node": ("count", "gpu: {count: 8}", "gpu: {count: '{{ node.labels.n }}'}"),
    "another exit status": ("exit_code", "command: {run: x, exit_code: 1}", "command: {run: x, exit_code: 2}"),
    "the usual exit status": ("exit_code", "command: {run: x, exit_code: 1}", "command: {run: x}"),
    "another pattern": ("stdout", "command: {run: x, stdout: {matches: a}}", "command: {run: x, stdout: {matches: b}}"),
    "equals something else": ("stdout", "command: {run: x, stdout: a}", "command: {run: x, stdout: {contains: b}}"),
    "equals another text": ("equals", "python: {venv: e, expr: x, equals: a}", "python: {venv: e, expr: x, equals: b}"),
    "a word of the node": (
        "stdout",
        "command: {run: x, stdout: {contains: ab}}",
        "command: {run: x, stdout: {contains: '{{ node.labels.ab }}'}}",
    ),
    "a value of the node": (
        "stdout", "command: {run: x, stdout: a}", "command: {run: x, stdout: '{{ node.labels.a }}'}",
    ),
    "one bound of two is the node's": (
        "stdout",
        "command: {run: x, stdout: {at_least: 12.8, at_most: 3}}",
        "command: {run: x, stdout: {at_least: 12.8, at_most: '{{ node.labels.m }}'}}",
    ),
    "another environment": ("venv", "torch: {venv: a, cuda: 13}", "torch: {venv: b, cuda: 13}"),
    "an interpreter": ("python", "torch: {python: p, cuda: 13}", "torch: {python: q, cuda: 13}"),
    "variables of a command": ("env", "command: {run: x, env: {A: b}}", "command: {run: x, env: {A: c}}"),
    "no variables of a command": ("env", "command: {run: x, env: {A: b}}", "command: {run: x}"),
    "not there": ("exists", "file: {path: /a}", "file: {path: /a, exists: false}"),
    "absent": ("absent", "package: {venv: e, name: a}", "package: {venv: e, name: a, absent: true}"),
    "the opposite": ("reboot_required", "os: {reboot_required: true}", "os: {reboot_required: false}"),
    "another mode": ("mig", "gpu: {mig: enabled}", "gpu: {mig: disabled}"),
    "another owner": ("owner", "file: {path: /a, owner: root}", "file: {path: /a, owner: ops}"),
    "another digest": (
        "sha256", f"file: {{path: /a, sha256: {'0' * 64}}}", f"file: {{path: /a, sha256: {'1' * 64}}}",
    ),
    "inside any": ("any", "any: [torch: {venv: e, cuda: 13}]", "any: [torch: {venv: e, cuda: 12}]"),
    "inside not": ("not", "not: {torch: {venv: e, cuda: 13}}", "not: {torch: {venv: e, cuda: 12}}"),
}  # fmt: skip


@pytest.mark.parametrize("case", UNSURE)
def test_what_cannot_be_shown_to_prove_as_much_is_one_to_look_at(effect, case):
    path, before, after = UNSURE[case]
    assert [it[:2] for it in effect(before, after)] == [(path, Effect.NOTE)]


@pytest.mark.parametrize("case", UNSURE)
def test_and_so_is_the_way_back(effect, case):
    path, before, after = UNSURE[case]
    assert [it[:2] for it in effect(after, before)] == [(path, Effect.NOTE)]


ONE_WAY = {
    "more patience": ("within", "torch: {venv: e}", "torch: {venv: e}\n        within: 60s", Effect.STRONGER),
    "more time": ("timeout", "command: {run: x}", "command: {run: x, timeout: 2m}", Effect.OTHER),
    "a bound that is lower as a number": (
        "stdout",
        "command: {run: x, stdout: {at_least: 12.8}}",
        "command: {run: x, stdout: {at_least: 12.10}}",
        Effect.WEAKER,
    ),
    "the value need not be true": (
        "equals", "python: {venv: e, expr: x}", "python: {venv: e, expr: x, equals: 'False'}", Effect.WEAKER,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ONE_WAY)
def test_what_is_loud_in_one_direction(effect, case):
    path, before, after, back = ONE_WAY[case]
    ((found, forth, _),) = effect(before, after)
    assert (found, forth in (Effect.NOTE, Effect.WEAKER)) == (path, True)
    ((_, ruled, _),) = effect(after, before)
    assert ruled is back


NEITHER = {
    "words": ("torch: {venv: e}", "torch: {venv: e}\n        message: look at it"),
    "less time": ("command: {run: x, timeout: 2m}", "command: {run: x, timeout: 1m}"),
    "the same versions": ("torch: {venv: e, version: '>=2,>=1'}", "torch: {venv: e, version: '>=2'}"),
    "imports": ("python: {venv: e, expr: x}", "python: {venv: e, expr: x, imports: [a]}"),
    "order of a list": ("python_import: {venv: e, modules: [a, b]}", "python_import: {venv: e, modules: [b, a]}"),
}


@pytest.mark.parametrize("case", NEITHER)
def test_neither_weaker_nor_stronger(effect, case):
    assert {it[1] for it in effect(*NEITHER[case])} == {Effect.OTHER}


def test_an_entry_of_a_mapping_that_is_dropped_is_weaker(effect):
    both, one = "{url: 'http://x/', json: {/a: 1, /b: 2}}", "{url: 'http://x/', json: {/a: 1}}"
    assert [it[:2] for it in effect(f"http: {both}", f"http: {one}")] == [("json", Effect.WEAKER)]
    assert [it[:2] for it in effect(f"http: {one}", f"http: {both}")] == [("json", Effect.NOTE)]


def test_under_not_each_part_is_turned_before_they_are_taken_together(effect):
    before = "not: {torch: {venv: e, version: '>=2', arch: sm_90}}"
    # What it is not is narrower on one side and wider on the other: the narrower one makes the whole weaker.
    after = "not: {torch: {venv: e, version: '>=3'}}"
    assert [it[:2] for it in effect(before, after)] == [("not", Effect.WEAKER)]
    assert [it[:2] for it in effect(after, before)] == [("not", Effect.WEAKER)]


def test_patience_is_not_turned_by_a_not(effect):
    quick, patient = (f"not: {{all: [{{torch: {{venv: e}}{it}}}]}}" for it in ("", ", within: 60s"))
    assert [it[:2] for it in effect(quick, patient)] == [("not", Effect.NOTE)]


def test_a_condition_on_another_package_is_a_dropped_one_and_a_new_one(compared):
    found = compared(STEP % "package: {venv: e, name: a}", STEP % "package: {venv: e, name: b}")
    (step,) = found.steps
    assert [(it.turn, it.effect) for it in step.conditions] == [
        (Turn.ADDED, Effect.STRONGER),
        (Turn.REMOVED, Effect.WEAKER),
    ]
    (weakened,) = found.weakened
    assert (weakened.step, weakened.what) == ("torch", "postcondition dropped")


def test_of_two_alike_the_right_one_is_found_dropped(compared):
    both = "package: {venv: e, name: a, version: '1'}\n      - package: {venv: e, name: b}"
    (step,) = compared(STEP % both, STEP % "package: {venv: e, name: b}").steps
    (gone,) = step.conditions
    assert (gone.turn, gone.effect) == (Turn.REMOVED, Effect.WEAKER)
    assert "a" in gone.before


SAME = {
    "order and quotes": ("torch: {venv: e, cuda: 13.0}", 'torch:\n          cuda: "13.0"\n          venv: e'),
    "a variable": ("torch: {venv: '{{ env }}', cuda: 13.0}", "torch: {venv: e, cuda: '{{ cuda }}'}"),
    "what counts anyway": ("file: {path: /a}", "file: {path: /a, exists: true}"),
    "the usual time": ("command: {run: x}", "command: {run: x, timeout: 60s, exit_code: 0}"),
    "an integer in quotes": ("gpu: {count: 8}", "gpu: {count: '{{ count }}'}"),
    "order of what is joined": (
        "all: [torch: {venv: e}, file: {path: /a}]", "all: [file: {path: /a}, torch: {venv: e}]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SAME)
def test_what_is_only_written_differently_is_no_difference(compared, case):
    before, after = SAME[case]
    head = "vars: {env: e, cuda: 13.0, count: 8}"
    assert not compared(STEP % before, STEP % after, head=head).differs


def test_words_for_people_are_no_difference(compared):
    step = STEP % "torch: {venv: e}"
    assert not compared(step, step.replace("    python", "    why: because\n    python", 1)).differs


def test_what_depends_on_the_node_is_compared_as_written(compared):
    found = compared(
        STEP % "file: {path: '/a/{{ node.name }}'}", STEP % "file: {path: '/b/{{ node.name }}'}", head="vars: {x: 1}"
    )
    (step,) = found.steps
    assert {it.turn for it in step.conditions} == {Turn.ADDED, Turn.REMOVED}
    assert "/b/{{ node.name }}" in step.conditions[0].after


def test_no_secret_is_read_and_no_command_of_one_is_run(compared, tmp_path):
    head = f"vars: {{token: {{secret: true, command: [touch, '{tmp_path}/ran']}}}}"
    step = """
  - id: run
    run: {script: "curl -H {{ token }} https://x/%s"}
    postconditions: [file: {path: /a}]
"""
    found = compared(step % "a", step % "b", head=head)
    (change,) = found.steps
    assert not (tmp_path / "ran").exists()
    assert "{{ token }}" in change.command.after


def test_a_password_in_an_address_is_a_difference_that_is_not_shown(compared):
    step = "\n  - id: run\n    run: {script: 'curl https://me:%s@host/'}\n    postconditions: [file: {path: /a}]\n"
    found = compared(step % "hunter2hunter2", step % "swordfish99")
    assert found.differs
    assert "hunter2" not in repr(found)
    assert "swordfish" not in repr(found)


def _steps(*names, kind="run: {script: echo %s}"):
    return "".join(
        f"\n  - id: {it}\n    {kind.replace('%s', it)}\n    postconditions: [file: {{path: /{it}}}]" for it in names
    )


def test_a_step_that_moved_is_moved_and_no_other(compared):
    found = compared(_steps("a", "b", "c", "d"), _steps("b", "c", "d", "a"))
    (step,) = found.steps
    assert (step.id, step.moved.before, step.moved.after, step.fields) == ("a", None, "d", ())
    (weakened,) = found.weakened
    assert (weakened.step, weakened.effect, weakened.what) == (
        "a", Effect.NOTE, "b, c, d no longer wait for its proof",
    )  # fmt: skip


def test_a_step_with_another_id_is_the_same_step(compared):
    found = compared(_steps("a", "b"), _steps("a", "b").replace("id: b", "id: z"))
    (step,) = found.steps
    assert (step.id, step.was, step.turn, step.conditions, step.moved) == ("z", "b", Turn.CHANGED, (), None)


def test_a_dropped_step_takes_its_postconditions_along(compared):
    found = compared(_steps("a", "b"), _steps("a"))
    (weakened,) = found.weakened
    assert (weakened.effect, weakened.step, weakened.what) == (
        Effect.WEAKER, "b", "postcondition dropped with its step",
    )  # fmt: skip


def test_a_condition_that_went_to_another_step_is_one_to_look_at(compared):
    old = _steps("a", "b")
    new = _steps("a").replace("[file: {path: /a}]", "[file: {path: /a}, file: {path: /b}]")
    (weakened,) = compared(old, new).weakened
    assert (weakened.effect, weakened.what) == (
        Effect.NOTE, "postcondition dropped with its step: step a states it now",
    )  # fmt: skip


def test_a_script_is_compared_as_it_would_run(compared):
    (step,) = compared(
        _steps("a"), _steps("a", kind="run: {script: 'echo {{ x }}'}"), new_head="vars: {x: other}"
    ).steps
    assert step.command.before.splitlines()[1:-1] == ["echo a"]
    assert step.command.after.splitlines()[1:-1] == ["echo other"]


def test_the_text_of_a_named_file_counts(compared, write):
    write("files/a.conf", "one\n")
    step = "\n  - id: a\n    file: {path: /a, source: files/%s.conf}\n    postconditions: [file: {path: /a}]"
    write("files/b.conf", "two\n")
    paths = [field.path for it in compared(step % "a", step % "b").steps for field in it.fields]
    assert paths == ["file.source", "file.content"]


def test_settings_of_the_rollout(compared):
    head = "rollout: {canary: 1, batch: 25%, max_failures: 0}"
    found = compared(_steps("a"), _steps("a"), head=head, new_head="rollout: {batch: 50%, max_failures: 2}")
    assert [(it.path, it.effect) for it in found.settings] == [
        ("rollout.canary", Effect.WEAKER),
        ("rollout.batch", Effect.NOTE),
        ("rollout.max_failures", Effect.WEAKER),
    ]
    assert len(found.weakened) == 3


def test_preconditions_that_are_dropped_are_weaker(compared):
    head = "preconditions: [gpu: {count: 8}]"
    (weakened,) = compared(_steps("a"), _steps("a"), head=head, new_head="").weakened
    assert (weakened.effect, weakened.step, weakened.what) == (Effect.WEAKER, None, "precondition dropped")


def test_a_digest_of_a_download_that_is_dropped_is_weaker(compared):
    step = "\n  - id: a\n    cuda_toolkit: {version: 13.0.1, method: runfile, url: 'https://x/y', prefix: /p%s}"
    step += "\n    postconditions: [file: {path: /a}]"
    (weakened,) = compared(step % f", sha256: {'0' * 64}", step % "").weakened
    assert (weakened.effect, weakened.subject) == (Effect.WEAKER, "cuda_toolkit")


def test_a_step_that_may_be_skipped_now_is_weaker(compared):
    (weakened,) = compared(_steps("a"), _steps("a").replace("    run", "    when: x == 1\n    run")).weakened
    assert (weakened.effect, "`when`" in weakened.what) == (Effect.WEAKER, True)


def test_variables_say_where_they_go_through_others_too(compared):
    old = "vars: {cuda: 13.0, index: 'https://x/{{ cuda }}', unused: 1}"
    found = compared(
        _steps("a", kind="run: {script: 'echo {{ index }}'}") + _steps("b"),
        _steps("a", kind="run: {script: 'echo {{ index }}'}") + _steps("b"),
        head=old,
        new_head=old.replace("13.0", "13.1").replace("unused: 1", "unused: 2"),
    )
    assert [(it.name, it.before, it.after, it.used_by) for it in found.variables] == [
        ("cuda", "13.0", "13.1", ("a",)),
        ("unused", "1", "2", ()),
    ]
    assert [it.id for it in found.steps] == ["a"]


def test_a_new_playbook_adds_and_a_deleted_one_drops_everything(compared):
    assert [it.turn for it in compared(None, _steps("a")).steps] == [Turn.ADDED]
    gone = compared(_steps("a"), None)
    assert [it.turn for it in gone.steps] == [Turn.REMOVED]
    assert [it.effect for it in gone.weakened] == [Effect.WEAKER]


def test_every_list_of_exceptions_says_that_more_of_them_is_weaker():
    for path in sorted(folder().glob("conditions/*.json")):
        about = json.loads(path.read_text("utf-8"))["properties"].get("allow")
        assert about is None or about.get("x-weaker") == "more", path.name


def test_every_kind_says_only_what_a_rule_understands():
    for path in folder().glob("conditions/*.json"):
        for about in json.loads(path.read_text("utf-8"))["properties"].values():
            assert about.get("x-weaker") in {None, "lower", "higher", "fewer", "more", "other", "never"}


@pytest.mark.parametrize("name", ["~/ml-env/", "~//ml-env", "~/./ml-env", "~/ml-env/."])
def test_two_spellings_of_one_environment_are_no_difference(compared, name):
    old = STEP % "torch: {venv: ~/ml-env, cuda: 13.0}"
    assert not compared(old, old.replace("~/ml-env", name)).differs


@pytest.mark.parametrize("name", ["~/x/../ml-env", "~/ml-env/../ml-env/"])
def test_a_way_back_may_lead_elsewhere_where_a_link_is_in_the_way(effect, name):
    found = effect("torch: {venv: ~/ml-env, cuda: 13.0}", f"torch: {{venv: {name}, cuda: 13.0}}")
    assert found == [("venv", Effect.NOTE, "another name of the same place, unless a link is in the way")]


def test_another_environment_is_another_one(effect):
    ((_, kind, why),) = effect("torch: {venv: /a, cuda: 13.0}", "torch: {venv: /a/../b, cuda: 13.0}")
    assert (kind, why) == (Effect.NOTE, "asks about something else now")


def test_of_another_file_one_condition_went_and_one_came(compared):
    comparison = compared(STEP % "file: {path: /a, mode: '0644'}", STEP % "file: {path: /b, mode: '0644'}")
    (step,) = comparison.steps
    assert [(it.turn, it.fields) for it in step.conditions] == [(Turn.ADDED, ()), (Turn.REMOVED, ())]
