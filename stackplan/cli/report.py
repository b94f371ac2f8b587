"""`stackplan report`: a run as a page for people, or as JUnit XML for a CI system."""

import os
import sys
from pathlib import Path

import click

from stackplan.cli.output import form_option, result, say
from stackplan.cli.run_folder import KeptRun, kept_run
from stackplan.engine.fold import fold
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.reports import html, junit
from stackplan.reports.safe import safe

SUFFIXES = {"html": ".html", "junit": ".xml"}


@click.command("report")
@click.argument("run")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where to write it; else to standard output, or into RUN.html here where that is a terminal.",
)
@form_option("html", "junit")
def command(run: str, output: Path | None, form: str) -> int:
    """Write a page about RUN (an id, a part of it, or `last`) that needs no other file, no script and no network.

    Exit status 0 when it was written, however the run itself ended.
    """
    kept = kept_run(run)
    page = _rendered(kept, form)
    if output is None and sys.stdout.isatty():
        output = Path(f"{kept.run}{SUFFIXES[form]}")
    if output is None:
        result(page)
        return 0
    _write(output, page)
    say(f"Wrote {safe(str(output))}")
    return 0


def _rendered(kept: KeptRun, form: str) -> str:
    report = fold(kept.events, kept.warnings, going_on=kept.going_on)
    return junit.render(report) if form == "junit" else html.render(report, kept.events)


def _write(path: Path, page: str) -> None:
    """Write the page, readable by its owner alone: what a run printed is not for everybody. Raise Invalid."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(page)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        summary = f"cannot write {path}"
        raise Invalid([Diagnosis(summary=summary, observed=error.strerror or str(error))]) from error
