"""`stackplan diff`: what a change to a playbook means, between two git revisions or two files; no node is asked."""

import sys
from dataclasses import replace
from pathlib import Path

import click

from stackplan.cli.output import form_option, result, wants_colour, width
from stackplan.cli.preparation import prepare_read
from stackplan.cli.selection import Selection
from stackplan.cli.versions import of_files, of_revisions
from stackplan.engine.clock import SystemClock
from stackplan.engine.consult import Survey
from stackplan.engine.exit_status import SOMETHING_TO_CHANGE, exit_status
from stackplan.engine.facts_folder import read_folder
from stackplan.engine.plan import plan_recorded
from stackplan.engine.plan_comparison import compare_plans
from stackplan.language.compare import Version, compare
from stackplan.language.withheld import Withheld
from stackplan.model.comparison import Comparison
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.facts import Facts
from stackplan.model.frozen import dataclass
from stackplan.model.report import Report
from stackplan.reports import comparison_document, comparison_markdown, comparison_text

_PLAYBOOKS = "stackplan.diff.playbooks"


class DiffCommand(click.Command):
    """Keeps apart what stands before and after `--`, as git does: revisions there, the playbook here."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[_PLAYBOOKS] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        del ctx
        return ["[OPTIONS]", "OLD [NEW] -- PLAYBOOK  |  OLD.yaml NEW.yaml"]


@dataclass(frozen=True, slots=True)
class Sides:
    """The two versions, and the path under which the playbook's inventory is looked for."""

    old: Version
    new: Version
    path: Path


@click.command("diff", cls=DiffCommand)
@click.argument("words", metavar="OLD [NEW]", nargs=-1, required=True)
@click.option(
    "--facts",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Also say what the change means for each node of which `stackplan facts` recorded facts.",
)
@click.option("-i", "--inventory", type=click.Path(path_type=Path), metavar="FILE", help="Inventory, for --facts.")
@click.option("-l", "--limit", multiple=True, metavar="PATTERN", help="Only those of the nodes, for --facts.")
@click.option(
    "--vars",
    "variable_files",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A YAML file of variables, for --facts.",
)
@click.option("--var", "assignments", multiple=True, metavar="K=V", help="A variable, for --facts.")
@click.option("--detailed-exitcode", is_flag=True, help="Exit status 5 when there is a difference.")
@form_option("text", "markdown", "json")
@click.pass_context
def command(
    ctx: click.Context,
    *,
    words: tuple[str, ...],
    facts: Path | None,
    inventory: Path | None,
    limit: tuple[str, ...],
    variable_files: tuple[Path, ...],
    assignments: tuple[str, ...],
    form: str,
    detailed_exitcode: bool,
) -> int:
    """Say what a change to a playbook means: commands, variables, conditions, and above all what is proven less.

    OLD and NEW are git revisions (also OLD..NEW and OLD...NEW); without NEW, the files as they are now. Without `--`
    they are two files.
    """
    sides = _sides(words, ctx.meta.get(_PLAYBOOKS), inventory)
    comparison = compare(sides.old, sides.new)
    failing = False
    if facts is not None:
        selection = Selection(inventory=inventory, limit=limit, variable_files=variable_files, assignments=assignments)
        recorded = read_folder(facts)
        reports = _plans(sides, selection, recorded)
        old, new = (report.nodes if report else () for report in reports)
        renamed = {step.was: step.id for step in comparison.steps if step.was is not None}
        nodes = compare_plans(old, new, renamed, recorded)
        comparison = replace(comparison, nodes=nodes)
        failing = reports[1] is not None and exit_status(reports[1]) != 0
    _show(comparison, form)
    if failing:
        return 3
    return SOMETHING_TO_CHANGE if detailed_exitcode and comparison.differs else 0


def _sides(words: tuple[str, ...], playbooks: tuple[str, ...] | None, inventory: Path | None) -> Sides:
    if playbooks is None:
        if len(words) != 2:
            remedy = "two files: `stackplan diff old.yaml new.yaml`; or revisions: `stackplan diff main -- PLAYBOOK`"
            raise Invalid([Diagnosis(summary="this does not say what to compare", remedy=remedy)])
        old, new = of_files(*words)
        return Sides(old, new, Path(words[1]))
    if len(playbooks) != 1 or playbooks[0].startswith("-"):
        observed = " ".join(playbooks) or "nothing"
        summary = "behind `--` stands one playbook"
        order = "options go in front of `--`" if any(it.startswith("-") for it in playbooks) else None
        raise Invalid([Diagnosis(summary=summary, expected="one playbook", observed=observed, remedy=order)])
    old, new, path = of_revisions(words, playbooks[0], inventory)
    return Sides(old, new, path)


def _plans(sides: Sides, selection: Selection, recorded: dict[str, Facts]) -> tuple[Report | None, Report | None]:
    """Return the plans of both on the recorded nodes, None for a playbook that is not there or selects none of them."""
    reports = tuple(_plan(version, sides.path, selection, recorded) for version in (sides.old, sides.new))
    if reports == (None, None):
        summary = "facts are recorded of none of the playbook's nodes"
        remedy = "record them with `stackplan facts PLAYBOOK -o DIR`"
        observed = ", ".join(sorted(recorded)[:8]) or "no file in the folder"
        raise Invalid([Diagnosis(summary=summary, observed=observed, remedy=remedy)])
    return reports[0], reports[1]


def _plan(version: Version, path: Path, selection: Selection, recorded: dict[str, Facts]) -> Report | None:
    if version.playbook is None:
        return None
    prepared = prepare_read(version.playbook, path, selection, Withheld(), version.files)
    targets = tuple(target for target in prepared.targets if target.node.name in recorded)
    if not targets:
        return None
    return plan_recorded(targets, recorded, Survey(redactor=prepared.redactor, clock=SystemClock()))


def _show(comparison: Comparison, form: str) -> None:
    if form == "json":
        result(comparison_document.render(comparison))
    elif form == "markdown":
        result(comparison_markdown.render(comparison))
    else:
        result(comparison_text.render(comparison, width=width(), colour=wants_colour(sys.stdout)))
