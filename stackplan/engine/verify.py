"""`verify`: every postcondition of every step, asked now in one round trip; nothing is changed or waited for."""

from collections.abc import Sequence
from dataclasses import replace

from stackplan.connection.failure import ConnectionFailure
from stackplan.engine.bind import AnyStep, BoundPlaybook, BoundStep, SkippedStep, queries_of
from stackplan.engine.consult import Survey, consult, live_facts, not_reached
from stackplan.engine.fold import report_nodes
from stackplan.engine.foresight import unmet
from stackplan.engine.guard import guarded
from stackplan.engine.headline import headline
from stackplan.engine.identity import identity
from stackplan.engine.node_session import NodeSession
from stackplan.engine.prove import Proof, condition_reports, prove, summed
from stackplan.engine.redaction import redacted
from stackplan.engine.target import Connect, Target
from stackplan.engine.wording import unmet_text
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.facts import Facts, Query
from stackplan.model.job import Exited
from stackplan.model.kind import Evidence, Outstanding
from stackplan.model.outcome import NodeOutcome, Phase, Reason, StepOutcome
from stackplan.model.report import NodeReport, Report, StepReport
from stackplan.model.verdict import Status


def verify(targets: Sequence[Target], connect: Connect, survey: Survey) -> Report:
    """Return whether all postconditions hold on all targets, which must not be none."""

    def work(target: Target, session: NodeSession) -> NodeReport:
        queries = verify_queries(target.playbook)
        facts = live_facts(target.node.name, session, queries, survey.clock)
        return verify_node(target.playbook, facts)

    found = consult(targets, connect, survey, work)
    reports = tuple(_report(target.node.name, found[target.node.name]) for target in targets)
    playbook = targets[0].playbook.playbook
    return redacted(report_nodes("verify", identity(playbook), reports), survey.redactor)


def verify_queries(playbook: BoundPlaybook) -> tuple[Query, ...]:
    """Return what has to be known: the postconditions alone, since preconditions are about a node before its steps."""
    return queries_of([condition for step in playbook.bound_steps for condition in step.post])


def verify_node(playbook: BoundPlaybook, facts: Facts) -> NodeReport:
    """Return what holds of each step. Unknown is not proven; the condition itself says which of the two it is. Pure."""
    reports: list[StepReport] = []
    lacking: tuple[Outstanding, ...] = ()
    for step in playbook.steps:
        report, lacking = _verify_step(step, facts, lacking)
        reports.append(report)
    steps = _each_fault_once(tuple(reports))
    failing = [step for step in steps if step.outcome is StepOutcome.NOT_HELD]
    return NodeReport(
        node=facts.node,
        outcome=NodeOutcome.FAILED if failing else NodeOutcome.OK,
        steps=steps,
        reason=Reason.POSTCONDITION if failing else None,
        summary=headline(playbook, facts),
        message=failing[0].message if failing else None,
    )


def _verify_step(
    step: AnyStep, facts: Facts, lacking: tuple[Outstanding, ...]
) -> tuple[StepReport, tuple[Outstanding, ...]]:
    """Return what holds of a step, and what is `lacking` of it and of those before."""
    stated = step.step
    if isinstance(step, SkippedStep):
        report = StepReport(id=stated.id, outcome=StepOutcome.SKIPPED, at=stated.at, name=stated.name, why=stated.why)
        return report, lacking
    proofs = prove(step.post, facts)
    held = summed(proofs) is Status.HELD
    diagnoses, lacking = ((), lacking) if held else _diagnose(step, proofs, facts, lacking)
    report = StepReport(
        id=stated.id,
        outcome=StepOutcome.HELD if held else StepOutcome.NOT_HELD,
        at=stated.at,
        name=stated.name,
        why=stated.why,
        reason=None if held else Reason.POSTCONDITION,
        conditions=condition_reports(Phase.POST, proofs),
        message=None if held else unmet_text(unmet(proofs)),
        diagnoses=diagnoses,
    )
    return report, lacking


def _diagnose(
    step: BoundStep, proofs: tuple[Proof, ...], facts: Facts, lacking: tuple[Outstanding, ...]
) -> tuple[tuple[Diagnosis, ...], tuple[Outstanding, ...]]:
    """Return what the action's kind can say of the state that it finds, and what is lacking up to here.

    What is lacking of an earlier step explains faults of a later one: kernels do not load beside a torch that somebody
    put back by hand. A kind that fails at either says nothing.
    """
    stated = step.step
    seen = facts.seen_by(stated.user)
    evidence = Evidence(
        step=stated.id,
        at=stated.action.at,
        arguments=stated.action.arguments,
        before=seen,
        after=seen,
        ending=Exited(0),
        output="",
        reason=Reason.POSTCONDITION,
        unmet=tuple(proof.verdict for proof in unmet(proofs)),
        playbook=step.playbook,
    )
    own = guarded(lambda: step.action.outstanding(evidence), lambda _: None)
    lacking = lacking if own is None else (*lacking, own)
    evidence = replace(evidence, outstanding=lacking)
    found = guarded(lambda: step.action.diagnose_state(evidence), lambda _: ())
    return tuple(diagnosis.in_step(stated.id) for diagnosis in found), lacking


def _each_fault_once(steps: tuple[StepReport, ...]) -> tuple[StepReport, ...]:
    """Return the steps with each finding in one of them: in the first that has a place to mend it at, else the first.

    Many steps look at one environment, and what is wrong there is wrong for all of them.
    """
    best: dict[tuple[str | None, str], Diagnosis] = {}
    for diagnosis in (it for step in steps for it in step.diagnoses):
        known = best.setdefault((diagnosis.code, diagnosis.summary), diagnosis)
        if known.remedy_at is None and diagnosis.remedy_at is not None:
            best[diagnosis.code, diagnosis.summary] = diagnosis
    kept = {id(it) for it in best.values()}
    return tuple(replace(step, diagnoses=tuple(it for it in step.diagnoses if id(it) in kept)) for step in steps)


def _report(node: str, found: NodeReport | ConnectionFailure) -> NodeReport:
    return not_reached(node, found) if isinstance(found, ConnectionFailure) else found
