"""`stackplan demo`: the founding story on simulated nodes over real SSH."""

import sys

import click


@click.command("demo")
def command() -> int:
    """Tell the whole story on simulated nodes: a no-op is stopped, the upgrade is proven, a regression is caught."""
    from stackplan.lab import demo  # noqa: PLC0415 - `demo --help` needs none of it

    return demo.run(sys.stdout)
