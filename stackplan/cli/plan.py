"""`stackplan plan`: what each step stands at on each node, and what would run; changes nothing."""

import shlex
from collections.abc import Mapping
from pathlib import Path

import click

from stackplan import __version__
from stackplan.cli.ending import end
from stackplan.cli.output import form_option, say
from stackplan.cli.preparation import Prepared, prepare
from stackplan.cli.saving import plan_to_save
from stackplan.cli.selection import Selection, audit_option, selection_options, step_options
from stackplan.cli.variables import with_variables
from stackplan.engine.consult import Survey
from stackplan.engine.facts_folder import RecordedNode, nothing_recorded, read_recorded, remarks
from stackplan.engine.interruption import Interrupted
from stackplan.engine.plan import node_plans, plan_recorded, plan_report
from stackplan.engine.saved_plan import SavedPlan
from stackplan.engine.saved_plan import Selection as Chosen
from stackplan.engine.saved_plan_file import check_place, write_plan
from stackplan.language.snapshot import Noting
from stackplan.language.uncollected import uncollected
from stackplan.language.withheld import Withheld
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.report import Report


@click.command("plan")
@click.argument("playbook")
@selection_options
@step_options
@click.option(
    "--facts",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Plan on facts that `stackplan facts` recorded; no node is asked.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Save the plan, for `stackplan apply FILE`.",
)
@audit_option
@click.option("--detailed-exitcode", is_flag=True, help="Exit status 5 when there is something to change.")
@form_option("text", "markdown", "json")
def command(
    *,
    playbook: str,
    selection: Selection,
    only: tuple[str, ...],
    first: str | None,
    facts: Path | None,
    output: Path | None,
    audit: bool,
    form: str,
    detailed_exitcode: bool,
) -> int:
    """Say what each step of PLAYBOOK stands at on each node and what would run there; changes nothing."""
    if output is not None:
        _check_output(output, facts)
    files = Noting()
    # Recorded facts answer no question that holds a secret, so that none has to be there to plan on them.
    secrets = None if facts is None else Withheld()
    prepared = prepare(playbook, selection, only, first, secrets=secrets, files=files)
    if not only and first is None and facts is None:
        # Spared by whoever plans on recorded facts, in a review, which runs `lint` by itself.
        from stackplan.cli.lint_notice import say_findings  # noqa: PLC0415

        say_findings(prepared.playbook)
    survey = prepared.survey(selection.parallel, audit=audit)
    if facts is not None:
        # What is read and concluded stays until the end.
        with uncollected():
            report = _plan_recorded(prepared, read_recorded(facts), survey, narrowed=bool(selection.limit))
        return end(with_variables(report, prepared), form, detailed=detailed_exitcode)
    prepared.say_that_nodes_are_asked()
    plans = node_plans(prepared.targets, prepared.connect, survey)
    if output is not None:
        chosen = Chosen(only=only, first=first)
        interrupted = any(isinstance(it, Interrupted) for it in plans.values())
        saved = None if interrupted else plan_to_save(prepared, plans, files, chosen, survey.clock.now())
        _save(output, saved, interrupted=interrupted)
    report = plan_report(prepared.targets, plans, survey)
    return end(with_variables(report, prepared), form, detailed=detailed_exitcode)


def _plan_recorded(
    prepared: Prepared, recorded: Mapping[str, RecordedNode], survey: Survey, *, narrowed: bool
) -> Report:
    nodes = tuple(str(it.node.name) for it in prepared.targets)
    if nodes and recorded.keys().isdisjoint(nodes):
        raise Invalid([nothing_recorded(recorded)])
    notes = remarks(recorded, nodes, prepared.playbook.sha256, __version__, narrowed=narrowed)
    return plan_recorded(prepared.targets, {name: it.facts for name, it in recorded.items()}, survey, notes)


def _check_output(output: Path, facts: Path | None) -> None:
    if facts is not None:
        summary = "`-o` cannot be used with `--facts`: a plan to apply is made from the nodes themselves"
        raise Invalid([Diagnosis(summary=summary, remedy="leave one of them out")])
    check_place(output)


def _save(output: Path, saved: SavedPlan | None, *, interrupted: bool) -> None:
    if interrupted:
        say("No plan was saved: the command was interrupted.")
        return
    if saved is None:
        say("No plan was saved: not every node could be asked to the end. `-l` leaves nodes out.")
        return
    write_plan(output, saved)
    say(f"Saved to {output}; `stackplan apply {shlex.quote(str(output))}` applies exactly this.")
