"""The question that a command asks on a terminal before it does anything."""

import sys

import click

from stackplan.cli.output import say
from stackplan.cli.signals import interrupt_on_signals

_ANSWERS = {"y": True, "yes": True, "n": False, "no": False, "": False}


def agreed(question: str) -> bool:
    """Ask on standard error and return whether the answer is yes; it is no unless it says so.

    Raise click.Abort where the terminal is closed, and KeyboardInterrupt at Ctrl-C. It is not asked by `input`, as
    click does: that clears whatever comes up while it flushes standard error; a Ctrl-C of that moment would be lost.
    """
    # One that came when the plan was all but made has been taken for its end; the next one counts again.
    interrupt_on_signals()
    while True:
        click.echo(f"{question} [y/N]: ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line:
            click.echo(err=True)
            raise click.Abort
        answer = _ANSWERS.get(line.strip().lower())
        if answer is not None:
            return answer
        say("Answer y or n.")
