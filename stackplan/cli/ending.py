"""How a command that came as far as a report ends: the report in the form that was asked for, and the exit status."""

import sys

from stackplan.cli.output import result, say, wants_colour, width
from stackplan.engine.exit_status import exit_status
from stackplan.model.outcome import NodeOutcome
from stackplan.model.report import Report
from stackplan.reports import json_document, markdown, text


def end(report: Report, form: str, *, detailed: bool = False) -> int:
    """Write the report to standard output and return the exit status. Where nothing ran, an interruption is said."""
    if report.run is None and report.outcome is NodeOutcome.INTERRUPTED:
        say("Interrupted.")
    if form == "json":
        result(json_document.render(report))
    elif form == "markdown":
        result(markdown.render(report))
    else:
        result(text.render(report, width=width(), colour=wants_colour(sys.stdout)))
    return exit_status(report, detailed=detailed)
