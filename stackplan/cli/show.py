"""`stackplan show`: a run as its journal has it, or what one of its actions printed."""

import os
import sys

import click

from stackplan.cli.ending import end
from stackplan.cli.follow import follow
from stackplan.cli.output import form_option, result, say
from stackplan.cli.progress import progress
from stackplan.cli.run_folder import KeptRun, kept_run
from stackplan.engine.captured import Captured, captured
from stackplan.engine.fold import fold
from stackplan.reports.safe import safe

GAP = "[stackplan: here the middle of the output is not in the journal]\n"


@click.command("show")
@click.argument("run")
@click.option("--output", "--step", "step", metavar="STEP", help="What the action of this step printed, instead.")
@click.option("--node", metavar="NODE", help="With --output: on which node, where it ran on several.")
@click.option("--follow", "following", is_flag=True, help="Of a run that goes on: its progress, to its end.")
@form_option("text", "json", "markdown")
def command(run: str, step: str | None, node: str | None, form: str, *, following: bool) -> int:
    """Show RUN: an id from `stackplan runs`, a part of it that no other run has, or `last`.

    Exit status 0 when it could be shown, however the run itself ended.
    """
    kept = kept_run(run)
    if step is not None:
        return _show_output(captured(kept.events, kept.run, step, node))
    if node is not None:
        raise click.UsageError("`--node` goes with `--output STEP`")
    if following and kept.going_on:
        terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        with progress(terminal=terminal, write=say) as tell:
            follow(kept.path, tell)
        kept = kept_run(kept.run)
    _show_report(kept, form)
    return 0


def _show_report(kept: KeptRun, form: str) -> None:
    report = fold(kept.events, kept.warnings, going_on=kept.going_on)
    end(report, form)
    # A rollback is done again rather than resumed: its nodes name the command.
    if report.command != "rollback" and kept.damage is None and not kept.going_on and report.ended is None:
        say(f"The controller of this run ended without a word; `stackplan resume {kept.run}` takes it up again.")
    if kept.going_on:
        say(f"This run goes on; `stackplan show {kept.run} --follow` stays with it.")


def _show_output(found: Captured) -> int:
    text = found.head
    if found.tail is not None:
        text = f"{text.rstrip(chr(10))}\n{GAP}{found.tail}"
    text = text if text.endswith("\n") or not text else f"{text}\n"
    if sys.stdout.isatty():
        text = "".join(f"{safe(line, len(line))}\n" for line in text.splitlines())
    result(text)
    if not text:
        say("It printed nothing.")
    if found.job is not None:
        where = f"~/.local/state/stackplan/HOST/spool/{safe(found.job)}"
        say(f"On {safe(found.node)} it is kept in {where} until it is pruned.")
    return 0
