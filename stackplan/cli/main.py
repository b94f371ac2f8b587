"""The entry point: a group of commands of which only the one that is called is imported."""

import gc
import importlib
import os
import sys
from collections.abc import Sequence

import click

from stackplan import __version__
from stackplan.cli import failure, output, streams
from stackplan.cli.signals import end_on_signals, interrupt_on_signals
from stackplan.language.uncollected import uncollected

COMMANDS = {
    "init": "Write a repository to begin with: inventory, playbook, CI workflow, pre-commit hook.",
    "lint": "Check playbooks without any node.",
    "plan": "Say what each step stands at and what would run; changes nothing.",
    "diff": "Say what a change to a playbook means, above all what it no longer proves.",
    "apply": "Plan, ask, run the steps and prove each of them.",
    "verify": "Check every postcondition now; changes nothing.",
    "facts": "Record what a playbook asks of each node.",
    "runs": "List the runs that were made from here.",
    "show": "Show what a run came to, or goes through now.",
    "resume": "Take a run up again that its controller left, or that stopped.",
    "rollback": "Put back what a run wrote on its nodes, and prove that it is as it was.",
    "unlock": "Say who holds a node, and break its lock when told to.",
    "report": "Write a page about a run, for people who were not there.",
    "history": "Tell what was applied to a node, as the node remembers it.",
    "schema": "Print a JSON schema.",
    "explain": "Explain a kind of condition or action, or a code.",
    "lab": "Start, stop or look at simulated nodes on this machine.",
    "demo": "Tell the whole story on simulated nodes, in a minute.",
}
"""The words of the command line and what each does; the module of the same name in this folder holds `command`."""


class CommandGroup(click.Group):
    """Finds a command in the module of its name when it is called, so that `--version` and `lint` stay light."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        with uncollected():
            command: click.Command = importlib.import_module(f"stackplan.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of the first word, or say which one may have been meant."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            from stackplan.language.nearest import did_you_mean  # noqa: PLC0415 - only for a word that is wrong

            hint = did_you_mean(args[0], COMMANDS) or f"the commands are {', '.join(COMMANDS)}"
            raise click.UsageError(f"there is no command `{args[0]}`: {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any of them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, message="stackplan %(version)s")
def stackplan() -> None:
    """Upgrade GPU nodes by declared steps, each proven by postconditions before and after it runs.

    Exit status: 0 done and proven, 1 a bug in stackplan, 2 usage or invalid input, 3 stopped or not proven, 4 a node
    could not be reached or was lost, 5 something to change (`plan --detailed-exitcode` alone), 6 the saved plan is
    stale, 7 locked by another run, 130 interrupted.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit status."""
    streams.prepare()
    interrupt_on_signals()
    if "_STACKPLAN_COMPLETE" in os.environ:
        stackplan.main(prog_name="stackplan")
    words = list(sys.argv[1:] if arguments is None else arguments)
    status = failure.guard(lambda shown: run(words, shown))
    end_on_signals(status)
    # All that is left ends with the process: looking for garbage in it would take longer than many a command.
    gc.freeze()
    sys.exit(status)


def run(words: list[str], shown: output.Shown) -> int:
    """Run the command that `words` name and return its exit status; every failure is raised."""
    # Not through click's own `main`: it would end the process at a closed pipe, whatever the nodes have come to.
    with stackplan.make_context("stackplan", words, obj=shown) as context:
        status = stackplan.invoke(context)
    return status if isinstance(status, int) else 0
