"""The life of a step and of a node, on fake nodes."""

from dataclasses import replace

import pytest

from stackplan.actions.run import Run
from stackplan.actions.service import Service
from stackplan.connection.failure import ConnectionLost, LockBroken, NodeProgramFailed, NodeUnreachable
from stackplan.model.change import Change
from stackplan.model.condition import Recheck
from stackplan.model.diagnosis import Severity
from stackplan.model.event import ConnectionDropped, NodeProven, OutputSeen, Reattached, StepEnded, StepStarted
from stackplan.model.facts import Known, Unknown
from stackplan.model.job import Exited, Interrupted, Lost, NotStarted, Signalled, TimedOut
from stackplan.model.outcome import NodeOutcome, Reason, StepOutcome
from stackplan.model.secret import Redactor
from stackplan.model.verdict import Status
from tests.engine.world import World, bound, condition, sets, step


def play(stage, world, *steps, **rest):
    """Run the steps on one node; return its report."""
    (node,) = stage(gpu=world).play(bound(*steps, **rest)).nodes
    return node


def outcomes(node):
    return {it.id: it.outcome.value for it in node.steps}


def last(node):
    """The report of the step that the node stopped at."""
    (found,) = [it for it in node.steps if it.id == node.stopped_at]
    return found


def test_a_step_whose_postconditions_hold_is_satisfied_and_runs_nothing(stage):
    world = World({"torch": "new"})
    node = play(stage, world, step("torch"))
    assert node.outcome is NodeOutcome.OK
    assert outcomes(node) == {"torch": "satisfied"}
    assert world.starts == {}


def test_a_satisfied_node_costs_one_round_trip(stage):
    world = World({"a": "new", "b": "new", "c": "new"})
    play(stage, world, step("a"), step("b"), step("c"))
    assert len(world.asked) == 1


def test_a_changed_step_costs_one_round_trip_before_and_one_after(stage):
    world = World({"a": "new", "torch": "old"}, {"torch": sets()("torch")})
    node = play(stage, world, step("a"), step("torch"))
    assert outcomes(node) == {"a": "satisfied", "torch": "changed"}
    assert len(world.asked) == 2
    assert node.steps[1].changes == (Change("value", "torch", "old", "new"),)
    assert node.steps[1].action.exit_code == 0
    (proven,) = node.steps[1].conditions
    assert (proven.before, proven.status) == (Status.NOT_HELD, Status.HELD)


def test_a_step_that_is_always_run_runs_though_it_is_satisfied(stage):
    world = World({"torch": "new"}, {"torch": sets()("torch")})
    node = play(stage, world, step("torch", always=True))
    assert outcomes(node) == {"torch": "changed"}
    assert world.starts == {"R.gpu.torch.1": 1}


def test_an_action_that_exits_0_and_changes_nothing_is_a_no_op(stage):
    world = World({"torch": "old", "sglang": "old"}, {"torch": lambda world: Exited(0)})
    node = play(stage, world, step("torch"), step("sglang"))
    assert (node.outcome, node.stopped_at, node.reason) == (NodeOutcome.FAILED, "torch", Reason.NO_OP)
    assert outcomes(node) == {"torch": "failed", "sglang": "not-reached"}
    assert last(node).changes == ()
    assert last(node).message == "the action exited 0 and changed nothing"
    assert [it.summary for it in last(node).diagnoses] == ["no-op: 1 unmet, broke None"]
    assert last(node).diagnoses[0].step == "torch"


def test_a_change_that_does_not_meet_the_postcondition_is_no_no_op(stage):
    world = World({"torch": "old"}, {"torch": sets("newer")("torch")})
    node = play(stage, world, step("torch"))
    assert node.reason is Reason.POSTCONDITION
    assert last(node).changes == (Change("value", "torch", "old", "newer"),)
    assert last(node).message == "does not hold: torch is new"


def test_a_script_that_moves_what_its_condition_reads_is_no_no_op(stage):
    """Nobody tells a state here; that the answer differs is what shows a change."""
    post = [condition("is", name="x", value="new", lasting=False)]
    moved = World({"x": "old"}, {"x": sets("other")("x")})
    assert play(stage, moved, step("x", action="script", post=post)).reason is Reason.POSTCONDITION
    idle = World({"x": "old"}, {"x": lambda world: Exited(0)})
    stopped = play(stage, idle, step("x", action="script", post=post))
    assert stopped.reason is Reason.NO_OP
    assert last(stopped).message == "the action exited 0 and changed nothing that the conditions see"


@pytest.mark.parametrize(
    ("ending", "reason", "text"),
    [
        (Exited(100), Reason.ACTION, "exit status 100"),
        (Signalled(9), Reason.ACTION, "ended by SIGKILL"),
        (NotStarted("no room for the spool"), Reason.ACTION, "the action was not started: no room for the spool"),
        (TimedOut(90.0, ("apt-get",)), Reason.TIMEOUT, "not done after 1 min 30 s; ended with it: apt-get"),
        (Interrupted(), Reason.INTERRUPTED, "ended on the node because the operator asked for it"),
    ],
)
def test_an_action_that_does_not_end_well_fails_the_step(stage, ending, reason, text):
    world = World({"torch": "old"}, {"torch": lambda world: ending})
    node = play(stage, world, step("torch"))
    assert (node.reason, last(node).message) == (reason, text)
    assert last(node).action.ending == text


def test_an_action_that_fails_is_not_redeemed_by_its_postconditions(stage):
    def both(world):
        world.values["torch"] = "new"
        return Exited(1)

    node = play(stage, World({"torch": "old"}, {"torch": both}), step("torch"))
    assert node.reason is Reason.ACTION
    assert last(node).changes == (Change("value", "torch", "old", "new"),)
    assert last(node).conditions[0].status is Status.HELD


def test_a_precondition_that_does_not_hold_stops_before_anything_is_touched(stage):
    world = World({"torch": "old", "disk": "full"})
    node = play(stage, world, step("torch", pre=[condition("is", name="disk", value="free", message="make room")]))
    assert (node.stopped_at, node.reason) == ("torch", Reason.PRECONDITION)
    assert last(node).message == "make room"
    assert world.starts == {}


def test_an_action_that_cannot_act_stops_with_its_remedy(stage):
    node = play(stage, World({"torch": "old"}), step("torch", refused=True))
    assert node.reason is Reason.PRECONDITION
    (diagnosis,) = last(node).diagnoses
    assert (diagnosis.summary, diagnosis.remedy) == ("torch cannot be set", "create it first")


def test_the_playbooks_preconditions_hold_up_the_first_action(stage):
    world = World({"a": "new", "torch": "old", "gpu": "busy"})
    free = condition("is", name="gpu", value="free")
    node = play(stage, world, step("a"), step("torch"), preconditions=[free])
    assert (node.outcome, node.stopped_at, node.reason) == (NodeOutcome.FAILED, None, Reason.PRECONDITION)
    assert outcomes(node) == {"a": "satisfied", "torch": "not-reached"}
    assert [it.status for it in node.preconditions] == [Status.NOT_HELD]
    assert node.summary == "gpu node"


def test_the_playbooks_preconditions_hold_up_nothing_where_nothing_has_to_run(stage):
    """A second apply on a node that serves again: `processes: none` is no longer true, and need not be."""
    world = World({"torch": "new", "gpu": "busy"})
    node = play(stage, world, step("torch"), preconditions=[condition("is", name="gpu", value="free")])
    assert node.outcome is NodeOutcome.OK


def test_a_precondition_is_waited_for(stage):
    world = World({"torch": "old", "gpu": "busy"}, {"torch": sets()("torch")})
    run = stage(gpu=world)
    run.faults["gpu"] = lambda word: world.values.update(gpu="free" if run.clock.seconds > 3 else "busy")
    book = bound(step("torch"), preconditions=[condition("is", name="gpu", value="free", within_s=10.0)])
    assert run.play(book).outcome is NodeOutcome.OK
    assert [it.preconditions[0].status for it in run.events if isinstance(it, NodeProven)] == [
        Status.NOT_HELD,
        Status.HELD,
    ]


def test_a_postcondition_is_polled_until_it_holds_and_no_longer(stage):
    world = World({"server": "old", "torch": "new"}, {"server": sets("starting")("server")})
    run = stage(gpu=world)
    run.faults["gpu"] = lambda word: world.values.update(server="new") if run.clock.seconds > 4 else None
    post = [condition("is", name="server", value="new", within_s=60.0), condition("is", name="torch", value="new")]
    assert run.play(bound(step("server", post=post))).outcome is NodeOutcome.OK
    assert 4 < run.clock.seconds < 10
    # Only what does not hold yet is asked again.
    assert {len(it) for it in world.asked[2:]} == {1}


def test_a_postcondition_that_stays_unmet_is_asked_a_last_time_when_its_time_is_up(stage):
    world = World({"server": "old"}, {"server": sets("starting")("server")})
    run = stage(gpu=world)
    book = bound(step("server", post=[condition("is", name="server", value="new", within_s=20.0)]))
    assert run.play(book).nodes[0].reason is Reason.POSTCONDITION
    assert run.clock.seconds == 20.0


def test_a_failed_action_is_not_waited_for(stage):
    run = stage(gpu=World({"server": "old"}, {"server": lambda world: Exited(1)}))
    run.play(bound(step("server", post=[condition("is", name="server", value="new", within_s=600.0)])))
    assert run.clock.seconds == 0.0


def test_unknown_is_not_proven(stage):
    def breaks(world):
        world.values["torch"] = Unknown("nvidia-smi is missing")
        return Exited(0)

    node = play(stage, World({"torch": "old"}, {"torch": breaks}), step("torch"))
    assert node.reason is Reason.POSTCONDITION
    assert last(node).message == "cannot be proven: torch is new (nvidia-smi is missing)"


def test_what_is_unknown_before_does_not_keep_the_action_from_running(stage):
    world = World({"torch": Unknown("there is no interpreter yet")}, {"torch": sets()("torch")})
    assert outcomes(play(stage, world, step("torch"))) == {"torch": "changed"}


def test_a_state_that_could_not_be_read_before_is_not_said_to_have_been_created(stage):
    world = World({"torch": Unknown("no permission")}, {"torch": sets()("torch")})
    assert play(stage, world, step("torch")).steps[0].changes == ()


def test_an_answer_that_the_kind_cannot_read_is_unknown_and_names_the_kind(stage):
    world = World({"torch": "old"}, {"torch": sets("nonsense")("torch")})
    node = play(stage, world, step("torch"))
    assert last(node).conditions[0].why == "`is` cannot read the node's answer (KeyError: 'version')"
    assert node.reason is Reason.POSTCONDITION


def test_a_question_that_the_node_leaves_out_is_unknown(stage, monkeypatch):
    run = stage(gpu=World({"torch": "new"}))
    monkeypatch.setattr("tests.engine.world.FakeSession.ask", lambda self, queries: {})
    (node,) = run.play(bound(step("torch", action="look"))).nodes
    assert last(node).conditions[0].why == "the node gave no answer to this question"


def test_a_request_that_the_node_program_cannot_do_is_unknown(stage):
    run = stage(gpu=World({"torch": "old"}))

    def fault(word):
        if word == "ask":
            raise NodeProgramFailed("no memory")

    run.faults["gpu"] = fault
    (node,) = run.play(bound(step("torch", action="look"))).nodes
    assert (node.outcome, last(node).conditions[0].why) == (NodeOutcome.FAILED, "no memory")


def test_a_step_that_breaks_an_earlier_one_is_a_regression(stage):
    world = World({"torch": "old", "sglang": "old"}, {"torch": sets()("torch"), "sglang": sets(torch="old")("sglang")})
    node = play(stage, world, step("torch"), step("sglang"))
    assert (node.stopped_at, node.reason) == ("sglang", Reason.REGRESSION)
    assert outcomes(node) == {"torch": "changed", "sglang": "failed"}
    assert last(node).broke.step == "torch"
    (condition_report,) = last(node).broke.conditions
    assert (condition_report.before, condition_report.status) == (Status.HELD, Status.NOT_HELD)
    assert last(node).message == "`torch` no longer holds: torch is new"
    assert Change("value", "torch", "new", "old") in last(node).changes
    assert last(node).diagnoses[0].summary == "regression: 1 unmet, broke torch"


def test_a_satisfied_step_is_rechecked_like_any_other(stage):
    world = World({"torch": "new", "sglang": "old"}, {"sglang": sets(torch="old")("sglang")})
    node = play(stage, world, step("torch"), step("sglang"))
    assert (node.reason, last(node).broke.step) == (Reason.REGRESSION, "torch")


def test_what_can_no_longer_be_asked_is_a_regression_too(stage):
    world = World({"torch": "new", "sglang": "old"}, {"sglang": sets(torch=Unknown("broken"))("sglang")})
    node = play(stage, world, step("torch"), step("sglang"))
    assert last(node).message == "`torch` can no longer be proven: torch is new"


def test_what_is_never_rechecked_may_change(stage):
    post = [condition("is", name="torch", value="new")]
    never = [condition("costly_is", name="torch", value="new", recheck=Recheck.NEVER)]
    world = World({"torch": "new", "sglang": "old"}, {"sglang": sets(torch="old")("sglang")})
    assert play(stage, world, step("torch", post=never), step("sglang")).outcome is NodeOutcome.OK
    world = World({"torch": "new", "sglang": "old"}, {"sglang": sets(torch="old")("sglang")})
    assert play(stage, world, step("torch", post=post), step("sglang")).outcome is NodeOutcome.FAILED


def test_a_costly_condition_is_checked_again_at_the_end_and_points_at_its_step(stage):
    costly = [condition("costly_is", name="kernel", value="new")]
    world = World({"kernel": "new", "sglang": "old"}, {"sglang": sets(kernel="old")("sglang")})
    node = play(stage, world, step("kernel", post=costly), step("sglang"))
    assert outcomes(node) == {"kernel": "failed", "sglang": "changed"}
    assert (node.stopped_at, node.reason) == ("kernel", Reason.REGRESSION)
    assert last(node).broke.step == "kernel"
    assert last(node).conditions[0].status is Status.NOT_HELD
    assert last(node).message == "at the end `kernel` no longer holds: kernel is new"


def test_a_costly_condition_is_not_asked_after_each_step(stage):
    costly = [condition("costly_is", name="kernel", value="new")]
    world = World({"kernel": "new", "a": "old", "b": "old"}, {"a": sets()("a"), "b": sets()("b")})
    play(stage, world, step("kernel", post=costly, action="look"), step("a"), step("b"))
    assert sum("kernel" in str(query.arguments) for asked in world.asked for query in asked) == 2


def test_an_action_is_run_again_only_when_it_fails_or_takes_too_long(stage):
    endings = iter([Exited(1), TimedOut(5.0)])

    def third_time(world):
        if (ending := next(endings, None)) is not None:
            return ending
        return sets()("torch")(world)

    run = stage(gpu=World({"torch": "old"}, {"torch": third_time}))
    (node,) = run.play(bound(step("torch", retries=2))).nodes
    assert outcomes(node) == {"torch": "changed"}
    assert node.steps[0].action.attempts == 3
    assert run.stop.waited == [1.0, 1.0]
    assert run.worlds["gpu"].starts == {"R.gpu.torch.1": 1, "R.gpu.torch.2": 1, "R.gpu.torch.3": 1}


def test_an_unmet_postcondition_is_not_tried_again(stage):
    world = World({"torch": "old"}, {"torch": lambda world: Exited(0)})
    assert play(stage, world, step("torch", retries=5)).reason is Reason.NO_OP
    assert world.starts == {"R.gpu.torch.1": 1}


def test_a_kind_that_brings_a_postcondition_along_has_it_proven_and_may_fail_to_diagnose(stage):
    post = [condition("is", name="other", value="new")]
    world = World({"torch": "old", "other": "new"}, {"torch": sets("newer")("torch")})
    node = play(stage, world, step("torch", action="careful", post=post))
    assert [it.text for it in last(node).conditions] == ["other is new", "torch is new"]
    assert (node.reason, last(node).diagnoses) == (Reason.POSTCONDITION, ())


def test_the_right_to_act_as_another_user_is_proven_before_the_first_step(stage):
    world = World({"a": "old", "torch": "old"}, may=False)
    node = play(stage, world, step("a"), step("torch", user="root"))
    assert (node.reason, node.stopped_at) == (Reason.PRECONDITION, None)
    assert node.message == "does not hold: may act as root"
    assert world.starts == {}


def test_that_a_step_starts_is_told_before_it_does(stage):
    world = World({"torch": "old"})
    run = stage(gpu=world)
    world.commands["torch"] = lambda it: (order.append("runs"), sets()("torch")(it))[1]
    order = []
    run.on_event = lambda event: (
        order.append(type(event).__name__) if isinstance(event, (StepStarted, StepEnded)) else None
    )
    run.play(bound(step("torch")))
    assert order == ["StepStarted", "runs", "StepEnded"]


def test_output_and_everything_else_that_is_told_is_redacted(stage):
    world = World({"torch": "old", "s3cret-word": "old"}, {"torch": sets("s3cret-word")("torch")})
    world.prints = b"token s3cret-word\nand s3cret-w"
    run = stage(gpu=world)
    run.redactor = Redactor(frozenset({"s3cret-word"}))
    report = run.play(bound(step("torch")))
    assert "s3cret-word" not in repr((report, run.events))
    assert report.nodes[0].steps[0].action.output_tail == "token ***\nand ***"
    assert "".join(it.text for it in run.events if isinstance(it, OutputSeen)) == "token ***\nand ***"
    # The negative control: without the redactor it is all there.
    bare = stage(gpu=World({"torch": "old"}, {"torch": sets("s3cret-word")("torch")}))
    assert "s3cret-word" in repr(bare.play(bound(step("torch"))))


class Cut:
    """Cuts the connection at the given words, once each; `answers` counts the words that passed."""

    def __init__(self, *words):
        self.words = list(words)

    def __call__(self, word):
        if word in self.words:
            self.words.remove(word)
            raise ConnectionLost(f"cut at {word}")


@pytest.mark.parametrize("word", ["ask", "start", "started", "watch", "watching"])
def test_a_connection_that_is_cut_loses_no_step_and_repeats_none(stage, word):
    world = World({"torch": "old"}, {"torch": sets()("torch")})
    world.prints = b"installed\n"
    run = stage(gpu=world)
    run.faults["gpu"] = Cut(word)
    report = run.play(bound(step("torch")))
    assert report.outcome is NodeOutcome.OK
    assert world.starts == {"R.gpu.torch.1": 1}
    assert report.nodes[0].steps[0].action.output_tail == "installed"
    assert [type(it) for it in run.events if isinstance(it, (ConnectionDropped, Reattached))] == [
        ConnectionDropped,
        Reattached,
    ]
    assert [it.closed for it in run.sessions] == [True, True]
    assert run.sessions[1].owner.run == "R"


def test_a_connection_that_does_not_come_back_while_a_job_runs_is_lost(stage):
    world = World({"torch": "old", "sglang": "old"}, {"torch": sets()("torch")})
    run = stage(gpu=world)

    def fault(word):
        if word == "watch":
            run.refusals["gpu"] = [NodeUnreachable("no route")] * 50
            raise ConnectionLost("cut")

    run.faults["gpu"] = fault
    (node,) = run.play(bound(step("torch"), step("sglang"))).nodes
    assert (node.outcome, node.stopped_at, node.reason) == (NodeOutcome.LOST, "torch", Reason.LOST)
    assert last(node).message == (
        "how it ended is not known: no route; `set torch` was started at 2026-12-01T03:10:22.000Z "
        "and may still be running there"
    )
    assert node.remedy == "`stackplan resume R` takes the run up again"
    assert last(node).conditions[0].status is Status.UNKNOWN
    assert 60 < run.clock.seconds < 300
    assert outcomes(node) == {"torch": "failed", "sglang": "not-reached"}


def test_what_ran_when_the_lock_was_broken_is_not_said_to_run_on(stage):
    run = stage(gpu=World({"torch": "old"}, {"torch": sets()("torch")}))

    def fault(word):
        if word == "watch":
            run.refusals["gpu"] = [LockBroken("eve on bench")]
            raise ConnectionLost("cut")

    run.faults["gpu"] = fault
    (node,) = run.play(bound(step("torch"))).nodes
    assert (node.outcome, node.reason) == (NodeOutcome.LOST, Reason.LOST)
    assert "was broken by eve on bench" in last(node).message
    assert last(node).message.endswith("`set torch` was started at 2026-12-01T03:10:22.000Z and was ended with that")


def test_what_an_action_leaves_running_is_a_note_of_its_step(stage):
    def leaves(world):
        return replace(sets()("torch")(world), left=("sleep (7)", "sh (9)"))

    (node,) = stage(gpu=World({"torch": "old"}, {"torch": leaves})).play(bound(step("torch"))).nodes
    (found,) = node.steps
    (note,) = found.diagnoses
    assert (note.severity, note.summary) == (Severity.NOTE, "the action ended and left running: sleep (7), sh (9)")
    assert found.outcome is StepOutcome.CHANGED


def test_what_a_service_is_started_for_is_no_note():
    assert Service.starts_services
    assert not Run.starts_services


def test_a_connection_that_is_cut_for_good_after_the_action_leaves_it_unproven(stage):
    world = World({"torch": "old"}, {"torch": sets()("torch")})
    run = stage(gpu=world)

    def fault(word):
        if word == "ask" and world.starts:
            run.refusals["gpu"] = [NodeUnreachable("no route")] * 50
            raise ConnectionLost("cut")

    run.faults["gpu"] = fault
    (node,) = run.play(bound(step("torch"))).nodes
    assert (node.outcome, node.reason) == (NodeOutcome.LOST, Reason.LOST)
    assert last(node).action.exit_code == 0


def test_a_connection_that_is_cut_for_good_while_asking_loses_the_node(stage):
    run = stage(gpu=World({"torch": "old"}))

    def fault(word):
        if word == "ask":
            run.refusals["gpu"] = [NodeUnreachable("no route", "is it up?")] * 50
            raise ConnectionLost("cut")

    run.faults["gpu"] = fault
    (node,) = run.play(bound(step("torch"))).nodes
    assert (node.outcome, node.message, node.remedy) == (NodeOutcome.LOST, "no route", "is it up?")


def test_a_connection_that_breaks_at_every_try_is_given_up(stage):
    run = stage(gpu=World({"torch": "old"}))

    def fault(word):
        if word == "ask":
            raise ConnectionLost("cut again")

    run.faults["gpu"] = fault
    (node,) = run.play(bound(step("torch"))).nodes
    assert node.outcome is NodeOutcome.LOST
    assert len(run.sessions) == 6


def test_known_answers_of_any_shape_end_in_no_traceback(stage):
    for value in (None, [], {}, 3, {"version": None}, "nonsense"):
        world = World({"torch": value}, {"torch": lambda world: Exited(0)})
        assert play(stage, world, step("torch")).outcome is NodeOutcome.FAILED
        assert isinstance(world.answer(world.asked[0][0]), Known)


def test_a_connection_that_holds_for_a_while_each_time_may_drop_as_often_as_it_likes(stage):
    world = World({"torch": "old"}, {"torch": sets()("torch")})
    run, drops = stage(gpu=world), []

    def fault(word):
        if word == "watching" and len(drops) < 30:
            drops.append(word)
            run.clock.seconds += 600
            raise ConnectionLost("cut")

    run.faults["gpu"] = fault
    assert run.play(bound(step("torch"))).outcome is NodeOutcome.OK
    assert {it.step for it in run.events if isinstance(it, (ConnectionDropped, Reattached))} == {"torch"}
    assert world.starts == {"R.gpu.torch.1": 1}


def test_a_supervisor_that_died_leaves_the_step_lost_and_what_holds_known(stage):
    def vanishes(world):
        world.values["torch"] = "new"
        return Lost("the supervisor is gone")

    node = play(stage, World({"torch": "old"}, {"torch": vanishes}), step("torch"))
    assert (node.outcome, node.reason) == (NodeOutcome.LOST, Reason.LOST)
    assert last(node).conditions[0].status is Status.HELD
    assert last(node).message == "how it ended is not known: the supervisor is gone"


def test_an_authors_message_stands_for_a_condition_and_not_for_what_the_action_did(stage):
    def post(value):
        return [condition("is", name="torch", value=value, message="see the wiki")]

    idle = World({"torch": "old"}, {"torch": lambda world: Exited(0)})
    assert last(play(stage, idle, step("torch", post=post("new")))).message == "the action exited 0 and changed nothing"
    moved = World({"torch": "old"}, {"torch": sets("newer")("torch")})
    found = last(play(stage, moved, step("torch", post=post("new"))))
    assert (found.message, found.conditions[0].message) == ("see the wiki", "see the wiki")
