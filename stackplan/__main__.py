"""The command line, also as `python -m stackplan`: Ctrl-C is seen to before anything large is imported."""

from stackplan.cli.signals import leave_on_signals


def main() -> None:
    """Run the command line and end the process with its exit status."""
    leave_on_signals()
    from stackplan.cli.main import main as run  # noqa: PLC0415 - takes a while, in which Ctrl-C may come

    run()


if __name__ == "__main__":
    main()
