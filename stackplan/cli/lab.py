"""`stackplan lab`: simulated nodes on loopback, for trying and rehearsing."""

import click

from stackplan.cli.output import result, say


@click.group("lab")
def command() -> None:
    """Start, stop or look at simulated nodes on this machine: SSH servers and a small package index on loopback."""


@command.command("start")
@click.option("--nodes", type=int, default=1, show_default=True, metavar="N", help="How many nodes.")
@click.option(
    "--gpus",
    type=click.Choice(["blackwell", "hopper"]),
    default="blackwell",
    show_default=True,
    help="Which GPUs the nodes pretend to have, and the group that they are in.",
)
@click.option("--foreground", is_flag=True, help="Serve until Ctrl-C instead of in the background.")
def start(nodes: int, gpus: str, *, foreground: bool) -> int:
    """Start the lab and say how to use it."""
    from stackplan.lab import lifecycle  # noqa: PLC0415 - `lab --help` needs none of it

    say(f"Starting a lab of {nodes} {'node' if nodes == 1 else 'nodes'}: each gets an environment of its own.")
    if foreground:
        lifecycle.serve(nodes, announce=lambda state: result(lifecycle.describe(state)), family=gpus)
    else:
        result(lifecycle.describe(lifecycle.start(nodes, family=gpus)))
    return 0


@command.command("stop")
def stop() -> int:
    """End the lab and remove its files."""
    from stackplan.lab import lifecycle  # noqa: PLC0415 - `lab --help` needs none of it

    state = lifecycle.stop()
    result("No lab runs.\n" if state is None else f"The lab (process {state.pid}) has ended.\n")
    return 0


@command.command("status")
def status() -> int:
    """Say whether a lab runs, and how to use it. Exit status 3 when none does."""
    from stackplan.lab import lifecycle  # noqa: PLC0415 - `lab --help` needs none of it

    state = lifecycle.status()
    result("No lab runs. `stackplan lab start` starts one.\n" if state is None else lifecycle.describe(state))
    return 0 if state is not None else 3
