"""`plan`: the planner driven by live nodes or by recorded facts, and its report."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from stackplan.connection.failure import ConnectionFailure
from stackplan.engine.bind import BoundPlaybook, unique
from stackplan.engine.consult import Survey, ask, consult, not_reached
from stackplan.engine.facts_file import recorded_answers
from stackplan.engine.fold import report_nodes
from stackplan.engine.identity import identity
from stackplan.engine.memo import Memo
from stackplan.engine.node_session import NodeSession
from stackplan.engine.occupation import occupation
from stackplan.engine.planner import NodePlan, Planner, drive
from stackplan.engine.redaction import redacted
from stackplan.engine.target import Connect, Target
from stackplan.engine.waiting import saying
from stackplan.engine.waves import waves
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.facts import Answer, Facts, Origin, Query
from stackplan.model.outcome import NodeOutcome, Reason
from stackplan.model.report import NodeReport, Report

_KEPT = 8
"""Memos of so many playbooks are kept at hand: nodes differ in few ways, or else each has a playbook of its own."""


def plan(targets: Sequence[Target], connect: Connect, survey: Survey) -> Report:
    """Return what would happen on live nodes; nothing is changed there. `targets` must not be empty."""
    return plan_report(targets, node_plans(targets, connect, survey), survey)


def node_plans(targets: Sequence[Target], connect: Connect, survey: Survey) -> dict[str, NodePlan | ConnectionFailure]:
    """Return, by node, what would happen on live nodes, or why that could not be found out."""

    def work(target: Target, session: NodeSession) -> NodePlan:
        told: Planner | NodePlan = Planner(
            node=target.node.name,
            playbook=target.playbook,
            origin=Origin.LIVE,
            taken=survey.clock.now(),
            audit=survey.audit,
        )
        while isinstance(told, Planner):
            told = told.tell(_ask(told, session, survey))
        report = replace(told.report, diagnoses=(*told.report.diagnoses, *occupation(session)))
        return replace(told, report=report)

    return consult(targets, connect, survey, work)


def _ask(planner: Planner, session: NodeSession, survey: Survey) -> Mapping[Query, Answer]:
    """Return the answers that the planner asks for, and say meanwhile what takes so long."""
    queries, hear = unique(planner.asks()), survey.on_waiting
    if hear is None or not queries:
        return ask(session, queries)
    what = survey.redactor.text(planner.awaited)
    with saying(lambda seconds: hear(planner.node, what, seconds)):
        return ask(session, queries)


def plan_recorded(
    targets: Sequence[Target], recorded: Mapping[str, Facts], survey: Survey, notes: tuple[Diagnosis, ...] = ()
) -> Report:
    """Return what would happen on nodes of which facts were recorded; of a node without any nothing is told.

    `notes` are what has to be said of the facts.
    """
    plans: dict[str, NodePlan | ConnectionFailure | None] = {}
    memos: list[tuple[BoundPlaybook, Memo]] = []
    for target in targets:
        name, playbook = target.node.name, target.playbook
        if (facts := recorded.get(name)) is None:
            plans[name] = None
            continue
        memo = next((memo for known, memo in memos if known is playbook), None)
        if memo is None:
            memo = Memo()
            memos = [(playbook, memo), *memos[: _KEPT - 1]]
        planner = Planner(
            node=name,
            playbook=playbook,
            origin=Origin.RECORDED,
            taken=facts.taken,
            memo=memo,
            audit=survey.audit,
        )
        plans[name] = drive(planner, partial(recorded_answers, facts))
    return plan_report(targets, plans, survey, notes)


def plan_report(
    targets: Sequence[Target],
    plans: Mapping[str, NodePlan | ConnectionFailure | None],
    survey: Survey,
    notes: tuple[Diagnosis, ...] = (),
) -> Report:
    """Return the report on plans, its nodes in the order in which a run would take them; None is a node without facts.

    `notes` are about all of it.
    """
    playbook = targets[0].playbook.playbook
    reports = tuple(
        replace(_node_report(target, plans[target.node.name]), wave=number)
        for number, wave in enumerate(waves(targets, playbook.rollout), start=1)
        for target in wave
    )
    return redacted(replace(report_nodes("plan", identity(playbook), reports), diagnoses=notes), survey.redactor)


def _node_report(target: Target, found: NodePlan | ConnectionFailure | None) -> NodeReport:
    if found is None:
        return NodeReport(
            node=target.node.name,
            outcome=NodeOutcome.UNREACHABLE,
            reason=Reason.UNRECORDED,
            message="no facts are recorded of this node, so nothing is known of it",
            remedy="record them with `stackplan facts PLAYBOOK -o DIR`, or leave it out with `-l`",
        )
    return not_reached(target.node.name, found) if isinstance(found, ConnectionFailure) else found.report
