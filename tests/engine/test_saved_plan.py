"""Saved plans as values: there and back, what has moved since, what a run may still do, and no secret in them."""

import base64
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import jsonschema
import pytest

from stackplan.connection.failure import NodeUnreachable
from stackplan.engine.clear_secret import in_clear
from stackplan.engine.conclusion import conclude
from stackplan.engine.encoding import Malformed
from stackplan.engine.permit import Permit, stale
from stackplan.engine.planner import Planner, drive
from stackplan.engine.recheck import failing, recheck, recheck_renderings
from stackplan.engine.rendered_step import rendered
from stackplan.engine.saved_plan import (
    Making,
    PlannedNode,
    SavedPlan,
    Selection,
    SourceFile,
    Sources,
    decode,
    encode,
    is_plan,
    node_of,
    reached,
    saved_variable,
    sha256_text,
    variable_of,
)
from stackplan.engine.stale import Moved, compare, compare_renderings
from stackplan.model.change import Change, Held
from stackplan.model.diagnosis import Severity
from stackplan.model.facts import Origin, Unknown
from stackplan.model.location import Location
from stackplan.model.node import Node, NodeName, Transport
from stackplan.model.outcome import NodeOutcome, StepOutcome
from stackplan.model.playbook import SecretSource, Variable
from stackplan.model.report import NodeReport, PlaybookIdentity, Report
from stackplan.model.room import CONDITIONS
from stackplan.model.secret import Redactor, Secret
from tests.engine import world
from tests.engine.world import Is, World, bound, condition, sets, step, target

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "plan.v1.json").read_text("utf-8"))
AT = Location("p.yaml", 3, 5)
SECRET = "correct-horse-battery"


def plan_of(node, book):
    """Plan a world as it is now."""
    planner = Planner(node="gpu", playbook=book, origin=Origin.LIVE, taken="2026-12-01T03:10:22Z")
    return drive(planner, lambda queries: {query: node.answer(query) for query in queries})


def conclusion(book, redactor=None, **values):
    return conclude(book, plan_of(World(values), book), redactor or Redactor())


def saved(book, text="stackplan: 1\n", variables=None, **values):
    return SavedPlan(
        stackplan="1.0",
        made=Making(time="2026-12-01T03:10:22Z", operator="ops", host="here"),
        playbook=PlaybookIdentity(name="story", path="p.yaml", sha256="0" * 64),
        sources=Sources(
            folder="/p",
            root="/p",
            files=(SourceFile(path="p.yaml", resolved="/p/p.yaml", sha256=sha256_text(text), text=text),),
        ),
        selection=Selection(only=("torch",)),
        nodes=(
            PlannedNode(
                node=reached(Node(name=NodeName("gpu"), port=22, labels={"rack": "a1"}, groups=("all-gpus",), at=AT)),
                variables=variables or {},
                plan=conclusion(book, **values),
            ),
        ),
    )


def whats(moved):
    return [(it.what, it.planned, it.now, it.step) for it in moved]


class TestText:
    def test_a_plan_comes_back_as_it_was(self):
        plan = saved(
            bound(step("torch"), step("gpu")),
            variables={"v": saved_variable(variable("ü", AT), None)},
            torch="old",
            gpu="new",
        )
        text = encode(plan)
        assert decode(text) == plan
        jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(text))

    def test_bytes_that_are_hard_to_keep_come_back(self):
        text = "\ufeffa: 1\r\nb: '\u2028'\n"
        assert decode(encode(saved(bound(step("torch")), text, torch="old"))).sources.files[0].text == text

    def test_one_that_is_cut_off_anywhere_is_known_and_refused(self):
        text = encode(saved(bound(step("torch")), torch="old"))
        for end in range(40, len(text) - 2, 97):
            assert is_plan(text[:end])
            with pytest.raises(Malformed, match="ends early or is damaged"):
                decode(text[:end])

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            (lambda plan: plan.update(format="stackplan.plan/2"), "its format is stackplan.plan/2"),
            (lambda plan: plan["sources"]["files"][0].update(text="x"), "the text of p.yaml in it was changed"),
            (lambda plan: plan["nodes"][0]["node"].update(host="elsewhere"), "changed after it was written"),
            (lambda plan: plan["nodes"][0]["plan"]["steps"][0].update(outcome="satisfied"), "changed after"),
            (lambda plan: plan.update(added="x"), "changed after it was written"),
            (lambda plan: plan.pop("sha256"), "changed after it was written"),
        ],
    )
    def test_one_that_was_changed_is_refused(self, change, why):
        document = json.loads(encode(saved(bound(step("torch")), torch="old")))
        change(document)
        with pytest.raises(Malformed, match=why):
            decode(json.dumps(document))

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            (lambda plan: replace(plan, nodes=()), "it has no nodes"),
            (lambda plan: with_basis(plan, parts=()), "not what its steps need"),
            (lambda plan: with_basis(plan, states={}), "the state .* of gpu is missing"),
            (lambda plan: replace(plan, stackplan=7), "a text is expected, not 7"),
            (lambda plan: replace(plan, nodes=(replace(plan.nodes[0], node="gpu"),)), "an object is expected"),
        ],
    )
    def test_one_whose_parts_do_not_fit_is_refused_whatever_its_digest(self, change, why):
        forged = encode(change(saved(bound(step("torch")), torch="old")))
        with pytest.raises(Malformed, match=why):
            decode(forged)

    def test_a_byte_order_mark_is_no_damage(self):
        plan = saved(bound(step("torch")), torch="old")
        assert is_plan(f"\ufeff{encode(plan)}")
        assert decode(f"\ufeff{encode(plan)}") == plan

    def test_one_in_which_a_key_stands_twice_is_known_and_refused(self):
        text = encode(saved(bound(step("torch")), torch="old")).replace("{", '{"nodes": [], ', 1)
        assert is_plan(text)
        with pytest.raises(Malformed, match='the key "nodes" stands twice in one object'):
            decode(text)

    @pytest.mark.parametrize("text", ["[" * 100_000, "[]", "7", '{"format": 7}'])
    def test_what_is_no_plan_is_refused(self, text):
        with pytest.raises(Malformed, match=r"it is nested too deeply|its format is"):
            decode(text)

    @pytest.mark.parametrize(
        ("text", "known"),
        [
            ('{"format": "stackplan.plan/1"', True),
            ('\n { "format" : "stackplan.plan/9", "x": 1}', True),
            ('{"a": 1, "format": "stackplan.plan/1"}', True),
            ('{"format": "stackplan.facts/1"}', False),
            ('{"stackplan": 1, "name": "p"}', False),
            ("stackplan: 1\n", False),
            ("", False),
            ("{" * 50_000, False),
        ],
    )
    def test_a_plan_is_known_by_what_is_in_it(self, text, known):
        assert is_plan(text) is known


def with_basis(plan, **changes):
    (node,) = plan.nodes
    basis = replace(node.plan.basis, **changes)
    return replace(plan, nodes=(replace(node, plan=replace(node.plan, basis=basis)),))


def variable(value, at=AT):
    return Variable("v", value, at, "--var")


class TestVariablesAndNodes:
    @pytest.mark.parametrize("value", ["a {{ b }}", None, True, 7, 1.5, ("a", ("b",)), {"a": {"b": ("c", None)}}])
    def test_a_variable_comes_back_as_it_was_written(self, value):
        text = json.dumps(saved_variable(variable(value), None).value)
        assert variable_of("v", replace(saved_variable(variable(value), None), value=json.loads(text))) == variable(
            value
        )

    @pytest.mark.parametrize(
        "source", [SecretSource(AT, env="T"), SecretSource(AT, file="t"), SecretSource(AT, command=("pass", "t"))]
    )
    def test_of_a_secret_the_place_is_saved(self, source):
        kept = saved_variable(variable(source), Secret(SECRET))
        assert (kept.value, kept.resolved) == (None, None)
        assert variable_of("v", kept) == variable(source)

    def test_what_was_made_with_a_secret_is_not_shown(self):
        assert saved_variable(variable("Bearer {{ t }}"), Secret(SECRET)).resolved == "***"
        assert saved_variable(variable(("{{ t }}", "x")), (Secret(SECRET), "x")).resolved == ["***", "x"]

    def test_a_node_comes_back_as_the_inventory_had_it(self):
        node = Node(
            name=NodeName("gpu"),
            host="h",
            port=22,
            user="u",
            identity_file="k",
            known_hosts="n",
            jump="j",
            become=True,
            transport=Transport.COMMAND,
            command=("kubectl", "exec"),
            python="p",
            labels={"a": "b"},
            groups=("g",),
            at=AT,
            variables={"v": variable("x")},
        )
        kept = PlannedNode(
            node=reached(node),
            variables={"v": saved_variable(node.variables["v"], None)},
            plan=conclusion(bound(step("torch")), torch="old"),
        )
        assert node_of(kept) == node


class TestCompare:
    BOOK = (step("torch"), step("gpu", value="hot"))

    def moved(self, *steps, before, after):
        book = bound(*(steps or self.BOOK))
        return compare(conclusion(book, **before), conclusion(book, **after))

    def test_nothing_has_moved_where_nothing_did(self):
        same = {"torch": "old", "gpu": "hot"}
        assert self.moved(before=same, after=same) == ()

    def test_a_thing_that_moved_is_named_once_with_what_it_was_and_is(self):
        moved = self.moved(before={"torch": "old", "gpu": "hot"}, after={"torch": "older", "gpu": "hot"})
        assert whats(moved) == [("value torch has moved since the plan was made", "old", "older", "torch")]

    def test_what_came_and_went(self):
        known = {"torch": "old", "gpu": "hot"}
        gone = self.moved(before=known, after={**known, "torch": None})
        assert whats(gone)[0] == ("value torch has moved since the plan was made", "old", "absent", "torch")
        came = self.moved(before={**known, "torch": None}, after=known)
        assert whats(came)[0] == ("value torch has moved since the plan was made", "absent", "old", "torch")

    def test_what_reads_alike_and_was_written_anew_has_moved(self, monkeypatch):
        book = bound(step("torch"))
        before = conclusion(book, torch="old")
        seen = Is.state

        def anew(self, facts):
            return {key: Held(held.text, "anew") for key, held in seen(self, facts).items()}

        monkeypatch.setattr(Is, "state", anew)
        (moved,) = compare(before, conclusion(book, torch="old"))
        assert (moved.planned, moved.now) == ("old", "old, but written anew since")

    def test_a_condition_that_stands_otherwise_has_moved_though_no_state_tells(self):
        checked = step("torch", pre=[condition("is", 7, name="free", value="enough", lasting=False)])
        moved = self.moved(checked, before={"torch": "old", "free": "enough"}, after={"torch": "old", "free": "none"})
        assert whats(moved) == [
            (
                "a condition stands otherwise than the plan found it: free is enough",
                "held (enough)",
                "not held (none)",
                "torch",
            )
        ]

    def test_a_condition_of_several_steps_is_named_once(self):
        free = condition("is", 7, name="free", value="enough", lasting=False)
        moved = self.moved(
            step("torch", pre=[free]),
            step("gpu", pre=[free]),
            before={"torch": "old", "gpu": "hot", "free": "enough"},
            after={"torch": "old", "gpu": "hot", "free": "none"},
        )
        assert [(it.what, it.step) for it in moved if "condition" in it.what] == [
            ("a condition stands otherwise than the plan found it: free is enough", "torch")
        ]

    def test_what_moves_by_itself_makes_no_plan_stale(self):
        checked = step("torch", pre=[condition("is", 7, name="free", value="enough", lasting=False)])
        before, after = {"torch": "old", "free": "30"}, {"torch": "old", "free": "31"}
        assert self.moved(checked, before=before, after=after) == ()

    def test_of_a_condition_that_is_not_steady_the_verdict_alone_counts(self, monkeypatch):
        @dataclass(frozen=True, slots=True)
        class Unsteady(Is):
            steady: ClassVar[bool] = False

        checked = step("torch", pre=[condition("unsteady", 7, name="clock", value="noon")])
        monkeypatch.setitem(CONDITIONS._loaded, "unsteady", Unsteady)
        known = {"torch": "old"}
        assert self.moved(checked, before={**known, "clock": "1"}, after={**known, "clock": "2"}) == ()
        assert len(self.moved(checked, before={**known, "clock": "1"}, after={**known, "clock": "noon"})) == 1
        monkeypatch.setattr(Unsteady, "steady", True)
        assert len(self.moved(checked, before={**known, "clock": "1"}, after={**known, "clock": "2"})) == 1

    def test_the_playbooks_own_preconditions_count(self):
        book = bound(step("torch"), preconditions=[condition("is", 7, name="gpu", value="idle")])
        (first, *_) = compare(conclusion(book, torch="old", gpu="idle"), conclusion(book, torch="old", gpu="busy"))
        assert (first.what, first.step) == ("value gpu has moved since the plan was made", None)

    def test_who_cannot_look_any_more_makes_what_rests_on_him_stale(self):
        moved = self.moved(before={"torch": "old", "gpu": "hot"}, after={"torch": Unknown("no tool"), "gpu": "hot"})
        assert [(it.planned, it.now) for it in moved] == [("not held (old)", "unknown")]

    def changed(self, **changes):
        """Compare a plan of one step with one in which that step differs."""
        before = conclusion(bound(step("torch")), torch="old")
        (planned,) = before.steps
        planned = replace(planned, outcome=StepOutcome.WOULD_CHANGE, predicted=(Change("package", "six", "1", "2"),))
        before = replace(before, steps=(planned,))
        return whats(compare(before, replace(before, steps=(replace(planned, **changes),))))

    def test_another_command_is_named(self):
        what = "step `torch` would run another command than the plan shows"
        assert self.changed(command="rm -rf /") == [(what, "set torch", "rm -rf /", "torch")]

    def test_other_changes_are_named_one_by_one(self):
        what = "step `torch` would change package six otherwise than the plan shows"
        later = self.changed(predicted=(Change("package", "six", "1", "3"), Change("package", "new", None, "1")))
        other = (
            "step `torch` would change package new otherwise than the plan shows",
            "no change",
            "absent → 1",
            "torch",
        )
        assert later == [other, (what, "1 → 2", "1 → 3", "torch")]
        assert self.changed(predicted=()) == [(what, "1 → 2", "no change", "torch")]
        assert self.changed(predicted=None)[0][2] == "not known"

    def test_another_end_is_named_where_nothing_else_is(self):
        what = "what becomes of step `torch` is not what the plan says"
        found = self.changed(outcome=StepOutcome.WOULD_FAIL, message="no index")
        assert found == [(what, "would-change", "would-fail: no index", "torch")]

    def test_a_step_that_would_not_run_is_not_compared_by_what_it_would_run(self):
        assert self.changed() == []
        assert len(self.changed(outcome=StepOutcome.SATISFIED, command=None)) == 1

    def fallen(self, **causes):
        """Compare a plan of four steps with one in which the second would fail and the rest is not reached."""
        book = bound(step("torch"), step("gpu"), step("app"), step("conf"))
        before = conclusion(book, torch="old", gpu="hot", app="v1", conf="a")
        first, second, *rest = before.steps
        acting = [replace(it, outcome=StepOutcome.WOULD_RUN, command="x") for it in (first, second, *rest)]
        failing = replace(second, outcome=StepOutcome.WOULD_FAIL, command=None, message="no index")
        unreached = [replace(it, outcome=StepOutcome.UNKNOWN, command=None) for it in rest]
        now = conclusion(book, **{"torch": "old", "gpu": "hot", "app": "v1", "conf": "a", **causes})
        return compare(replace(before, steps=tuple(acting)), replace(now, steps=(acting[0], failing, *unreached)))

    def test_of_steps_behind_one_that_would_fail_it_is_only_told_that_they_are_not_reached(self):
        moved = self.fallen()
        assert [it.what for it in moved] == [
            "what becomes of step `gpu` is not what the plan says",
            "not reached any more: `app`, `conf`; `gpu` would fail before them",
        ]
        assert [it.diagnosis().severity for it in moved] == [Severity.ERROR, Severity.NOTE]

    def test_where_the_node_has_moved_nothing_that_follows_is_told_as_a_cause(self):
        moved = self.fallen(torch="older")
        assert [(it.what, it.follows) for it in moved] == [
            ("value torch has moved since the plan was made", False),
            ("not reached any more: `app`, `conf`; `gpu` would fail before them", True),
        ]

    def test_before_the_first_step_that_rests_on_what_moved_everything_is_told(self):
        book = bound(step("torch"), step("gpu"))
        before = conclusion(book, torch="old", gpu="hot")
        acting = tuple(replace(it, outcome=StepOutcome.WOULD_RUN, command="x") for it in before.steps)
        after = tuple(replace(it, command="y") for it in acting)
        now = replace(conclusion(book, torch="old", gpu="cold"), steps=after)
        assert [it.what for it in compare(replace(before, steps=acting), now)] == [
            "value gpu has moved since the plan was made",
            "step `torch` would run another command than the plan shows",
        ]

    def test_of_much_that_moved_the_first_is_told_and_the_rest_is_counted(self):
        causes = tuple(Moved(what=f"thing {number}", planned="a", now="b") for number in range(9))
        told = stale("n1", (*causes, Moved(what="so", planned="a", now="b", follows=True))).diagnoses
        assert [it.summary for it in told] == [
            "thing 0",
            "thing 1",
            "thing 2",
            "and 6 more things moved; `stackplan plan` tells how it stands now",
            "so",
        ]

    def test_one_change_is_counted_as_one(self):
        assert self.changed(predicted=None)[0][1] == "1 change"

    def test_a_step_that_is_looked_at_otherwise_is_named(self):
        book = bound(step("torch"))
        before = conclusion(book, torch="old")
        node, (part, *rest) = before.basis.parts[0], before.basis.parts[1:]
        fewer = replace(before, basis=replace(before.basis, parts=(node, replace(part, states=()), *rest)))
        assert compare(before, fewer)[0].what.startswith("what a step rests on is looked at otherwise")


class TestRenderings:
    def test_the_same_playbook_renders_to_the_same(self):
        book = bound(step("torch"), step("gpu"), preconditions=[condition("is", 1, name="a", value="b")])
        assert compare_renderings(conclusion(book, torch="o", gpu="o", a="b"), book.playbook) == ()

    def test_what_renders_otherwise_is_named_by_step_and_field(self):
        before = conclusion(bound(step("torch"), step("gpu")), torch="old", gpu="old")
        (moved,) = compare_renderings(before, bound(step("torch"), step("gpu", value="newer")).playbook)
        assert (moved.step, moved.what) == ("gpu", "step `gpu` renders to something else than the plan shows")
        assert moved.planned.startswith("postconditions: ")
        assert "newer" in moved.now

    def test_other_steps_or_another_order_are_named(self):
        before = conclusion(bound(step("torch"), step("gpu")), torch="old", gpu="old")
        (moved,) = compare_renderings(before, bound(step("gpu"), step("torch")).playbook)
        assert (moved.planned, moved.now) == ("torch, gpu", "gpu, torch")
        (moved,) = compare_renderings(before, bound(step("torch")).playbook)
        assert (moved.planned, moved.now) == ("torch, gpu", "torch")

    def test_another_precondition_of_the_playbook_is_named(self):
        before = conclusion(bound(step("torch")), torch="old")
        after = bound(step("torch"), preconditions=[condition("is", 1, name="a", value="b")])
        assert "preconditions" in compare_renderings(before, after.playbook)[0].what

    def test_a_secret_is_no_part_of_it(self):
        one, other = (replace(step("torch"), environment={"T": Secret(text)}) for text in ("one", "another"))
        assert rendered(one) == rendered(other)
        assert rendered(one)["env"] == {"T": "***"}
        assert rendered(one) != rendered(replace(one, environment={"T": "one"}))


class TestRecheck:
    def targets(self, book, *names):
        plan = conclusion(book, torch="old")
        return [replace(target(name, book), permit=Permit(plan=plan, redactor=Redactor())) for name in names]

    def test_a_plan_that_still_holds_is_let_through(self):
        book = bound(step("torch"))
        assert (
            recheck(self.targets(book, "a", "b"), dict.fromkeys("ab", plan_of(World({"torch": "old"}), book))) is None
        )
        assert recheck_renderings(self.targets(book, "a")) is None

    def test_one_node_that_moved_holds_up_all(self):
        book = bound(step("torch"))
        plans = {"a": plan_of(World({"torch": "old"}), book), "b": plan_of(World({"torch": "odd"}), book)}
        report = recheck(self.targets(book, "a", "b"), plans)
        assert [node.outcome for node in report.nodes] == [NodeOutcome.SKIPPED, NodeOutcome.STALE]
        assert (report.command, report.outcome) == ("apply", NodeOutcome.STALE)
        (finding,) = report.nodes[1].diagnoses
        assert (finding.expected, finding.observed) == ("old", "odd")

    def test_one_node_that_is_not_reached_holds_up_all(self):
        book = bound(step("torch"))
        plans = {"a": plan_of(World({"torch": "old"}), book), "b": NodeUnreachable("no route to b")}
        report = recheck(self.targets(book, "a", "b"), plans)
        assert [node.outcome for node in report.nodes] == [NodeOutcome.SKIPPED, NodeOutcome.UNREACHABLE]
        assert "-l '!b'" in report.nodes[1].remedy

    def test_a_playbook_that_renders_otherwise_holds_up_all(self):
        (one,) = self.targets(bound(step("torch")), "a")
        report = recheck_renderings([replace(one, playbook=bound(step("torch", value="other")))])
        assert report.outcome is NodeOutcome.STALE

    def test_a_plan_that_says_that_it_fails_is_not_started(self):
        nodes = (NodeReport(node="a", outcome=NodeOutcome.PENDING), NodeReport(node="b", outcome=NodeOutcome.FAILED))
        identity = PlaybookIdentity(name="p", path="p", sha256="")
        planned = Report(command="plan", outcome=NodeOutcome.FAILED, playbook=identity, nodes=nodes)
        assert "would fail on b" in failing(planned).diagnoses[0].summary
        assert failing(replace(planned, nodes=nodes[:1])) is None


class TestRun:
    """A run that holds a permit: what is checked under the lock, and at each step."""

    def play(self, stage, monkeypatch, node, book, plan):
        permit = Permit(plan=plan, redactor=Redactor())
        monkeypatch.setattr(world, "target", lambda name, book: replace(target(name, book), permit=permit))
        (report,) = stage(gpu=node).play(book).nodes
        return report

    def test_what_was_planned_runs(self, stage, monkeypatch):
        book = bound(step("torch"))
        node = World({"torch": "old"}, {"torch": sets()("torch")})
        report = self.play(stage, monkeypatch, node, book, conclusion(book, torch="old"))
        assert report.outcome is NodeOutcome.OK
        assert node.values["torch"] == "new"

    def test_a_node_that_moved_between_the_check_and_its_turn_is_left_alone(self, stage, monkeypatch):
        book = bound(step("torch"))
        node = World({"torch": "odd"}, {"torch": sets()("torch")})
        report = self.play(stage, monkeypatch, node, book, conclusion(book, torch="old"))
        assert report.outcome is NodeOutcome.STALE
        assert "torch" in report.diagnoses[0].summary
        assert (node.values["torch"], node.starts) == ("odd", {})

    def test_a_step_that_the_plan_found_satisfied_does_not_run_though_it_has_become_necessary(self, stage, monkeypatch):
        book = bound(step("torch"), step("six"))
        plan = conclusion(book, torch="old", six="new")
        plan = replace(plan, steps=(plan.steps[0], replace(plan.steps[1], outcome=StepOutcome.SATISFIED)))
        node = World({"torch": "old", "six": "new"}, {"torch": sets(six="broken")("torch"), "six": sets()("six")})
        report = self.play(stage, monkeypatch, node, book, plan)
        assert (report.outcome, report.stopped_at) == (NodeOutcome.STALE, "six")
        assert "the plan says that it is satisfied" in report.message
        assert (node.values["six"], list(node.starts)) == ("broken", ["R.gpu.torch.1"])

    def test_another_command_than_the_plan_shows_does_not_run(self, stage, monkeypatch):
        book = bound(step("torch"))
        plan = conclusion(book, torch="old")
        plan = replace(plan, steps=(replace(plan.steps[0], command="set something else"),))
        node = World({"torch": "old"}, {"torch": sets()("torch")})
        report = self.play(stage, monkeypatch, node, book, plan)
        assert report.outcome is NodeOutcome.STALE
        assert "the plan shows `set something else`" in report.message
        assert node.starts == {}

    def test_a_step_that_has_nothing_to_run_is_judged_as_ever(self, stage, monkeypatch):
        book = bound(step("look", action="look"))
        plan = conclusion(book, look="old")
        report = self.play(stage, monkeypatch, World({"look": "old"}), book, plan)
        assert report.outcome is NodeOutcome.FAILED


class TestNothingSecret:
    def test_what_the_node_shows_is_redacted(self):
        book = bound(step("torch"), preconditions=[condition("is", 1, name="gpu", value="x")])
        redactor = Redactor(frozenset({SECRET}))
        told = {"torch": f"a {SECRET}", "gpu": base64.b64encode(f"x{SECRET}".encode()).decode()}
        text = json.dumps([repr(conclusion(book, redactor, **told))])
        assert leaks(text) == []
        assert leaks(json.dumps([repr(conclusion(book, **told))])) != [], "the search finds what is not redacted"

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            (f"a: 1\nb: {SECRET}\n", 2),
            (f"b: {base64.b64encode(SECRET.encode()).decode()}\n", 1),
            ("a: https://ops:pw@index/simple\n", 1),
        ],
    )
    def test_a_secret_in_clear_in_a_file_is_found_at_its_line(self, text, line):
        (found,) = in_clear(saved(bound(step("torch")), text, torch="old"), [SECRET])
        assert found.at == Location("p.yaml", line, 1)
        assert "secret: true" in found.remedy
        assert SECRET not in str(found)

    @pytest.mark.parametrize(
        "text",
        [
            "a: 1\n",
            "a: https://{{user}}:{{ pw }}@index/\n",
            "a: https://ops:{{pw}}@index/\n",
            "a: ab\n",
            "a: https://ops@h/\n",
        ],
    )
    def test_what_is_no_secret_is_let_through(self, text):
        assert in_clear(saved(bound(step("torch")), text, torch="old"), [SECRET, "ab"]) == ()

    def test_a_secret_of_several_lines_is_found_as_a_whole_only(self):
        key = "-----BEGIN KEY-----\nabcdef\n-----END KEY-----"
        plan = saved(bound(step("torch")), f"a: |-\n{key}\n", torch="old")
        assert [it.at.line for it in in_clear(plan, [key])] == [1]
        assert in_clear(saved(bound(step("torch")), "# -----BEGIN KEY-----\n", torch="old"), [key]) == ()

    def test_a_secret_in_a_variable_or_in_what_renders_is_found(self):
        at = Location("inventory.yaml", 4, 2)
        kept = {"v": saved_variable(variable("https://ops:pw@index/", at), None)}
        (found,) = in_clear(saved(bound(step("torch")), variables=kept, torch="old"), [])
        assert found.at == at
        (found,) = in_clear(saved(bound(step("torch", value=SECRET)), torch="old"), [SECRET])
        assert (found.at, found.step) == (None, "torch")


def leaks(text):
    """Return the forms of the secret that stand in a text, base64 at each alignment included."""
    forms = [SECRET, *(base64.b64encode(b"x" * lead + SECRET.encode())[4:-4].decode() for lead in range(3))]
    return [form for form in forms if form in text]
