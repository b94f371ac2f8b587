"""Where words go: results to standard output, progress and prose to standard error; colour where wanted."""

import os
import shutil
import sys
from collections.abc import Callable
from typing import Any, TextIO, TypeVar

import click

from stackplan.cli.streams import to_nowhere
from stackplan.model.frozen import dataclass

Command = TypeVar("Command", bound=Callable[..., Any])


class OutputRefused(Exception):
    """Standard output does not take the result (a full disk behind it)."""


@dataclass(slots=True)
class Shown:
    """What was asked about the form of the result; the object of click's context, so that a failure knows it too."""

    form: str = "text"


def form_option(*forms: str) -> Callable[[Command], Command]:
    """Return the decorator for `--format`, with `forms` to choose from and the first of them as default."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(forms),
        default=forms[0],
        show_default=True,
        callback=_remember,
        is_eager=True,
        help="Form of the result on standard output.",
    )


def _remember(ctx: click.Context, _parameter: click.Parameter, value: str) -> str:
    shown = ctx.find_root().obj
    if isinstance(shown, Shown):
        shown.form = value
    return value


def wants_colour(stream: TextIO) -> bool:
    """Return whether `stream` is a terminal that shows colour and whose user has not refused it."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def width() -> int:
    """Return the cells of a line: those of the terminal, between 60 and 120; 100 where there is none."""
    columns = shutil.get_terminal_size((100, 24)).columns
    return min(120, max(60, columns))


def result(text: str) -> None:
    """Write a result to standard output. Whoever closes the pipe early has read enough: that is no failure.

    Raise OutputRefused where it cannot be written.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        to_nowhere(sys.stdout)
    except OSError as error:
        to_nowhere(sys.stdout)
        raise OutputRefused(error.strerror or str(error)) from error


def say(text: str = "") -> None:
    """Write a line for people to standard error; one that cannot be written is not missed by anybody."""
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except OSError:
        to_nowhere(sys.stderr)


def say_on_terminal(text: str) -> None:
    """Write a line for whoever sits in front of a terminal and waits; a log is spared it."""
    if sys.stderr.isatty():
        say(text)
