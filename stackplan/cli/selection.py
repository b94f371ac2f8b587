"""The options that say on which nodes, with which variables and which steps; shared by every command that has nodes."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from stackplan.model.frozen import dataclass
from stackplan.model.quantity import duration_s

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """As given on the command line. `assignments` are `K=V`, last wins; empty tuples where nothing was given."""

    inventory: Path | None = None
    nodes: tuple[str, ...] = ()
    local: bool = False
    limit: tuple[str, ...] = ()
    variable_files: tuple[Path, ...] = ()
    assignments: tuple[str, ...] = ()
    accept_new: bool = False
    parallel: int = 10


ACCEPT_NEW = click.option(
    "--accept-new", is_flag=True, help="Record the key of a host that is not known yet; never a changed one."
)
PARALLEL = click.option(
    "--parallel", type=click.IntRange(1, 500), default=10, show_default=True, metavar="N", help="Nodes at a time."
)
OPTIONS = (
    click.option(
        "-i",
        "--inventory",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Inventory; else the nearest inventory.yaml upwards from the playbook.",
    ),
    click.option("-n", "--node", "nodes", multiple=True, metavar="USER@HOST:PORT", help="A node without an inventory."),
    click.option("--local", is_flag=True, help="This machine as the node, without an inventory."),
    click.option("-l", "--limit", multiple=True, metavar="PATTERN", help="Only those of the playbook's nodes."),
    click.option(
        "--vars",
        "variable_files",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="A YAML file of variables.",
    ),
    click.option("--var", "assignments", multiple=True, metavar="K=V", help="A variable; the last one wins."),
    ACCEPT_NEW,
    PARALLEL,
)


def selection_options(function: Command) -> Callable[..., Any]:
    """Give a command the options of a selection; it takes them as one argument `selection`."""

    @functools.wraps(function)
    def command(**arguments: Any) -> Any:
        given = {name: arguments.pop(name) for name in Selection.__dataclass_fields__}
        return function(selection=Selection(**given), **arguments)

    for option in reversed(OPTIONS):
        command = option(command)
    return command


def step_options(function: Command) -> Command:
    """Give a command `--step` and `--from`, which narrow the playbook to some of its steps."""
    only = click.option("--step", "only", multiple=True, metavar="ID", help="Only this step; may be repeated.")
    first = click.option("--from", "first", metavar="ID", help="Only this step and those after it.")
    return only(first(function))


def audit_option(function: Command) -> Command:
    """Give a command `--no-audit`, as `audit`."""
    words = "Start no shell of the node's user and look at no settings of the node beside what the playbook asks."
    return click.option("--no-audit", "audit", flag_value=False, default=True, help=words)(function)


def _duration(_ctx: click.Context, _parameter: click.Parameter, value: str) -> float:
    try:
        return duration_s(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not a duration such as 30s, 5m or 1h") from error


def reconnect_option(function: Command) -> Command:
    """Give a command `--reconnect-timeout`, as `reconnect_s` in seconds."""
    option = click.option(
        "--reconnect-timeout",
        "reconnect_s",
        default="2m",
        show_default=True,
        metavar="DURATION",
        callback=_duration,
        help="How long a node is tried to be reached again after its connection was lost.",
    )
    return option(function)
