"""The command line, also as `python -m stackplan`: Ctrl-C is seen to before anything is imported that takes time."""

import gc

from stackplan.cli.signals import leave_on_signals


def main() -> None:
    """Run the command line and end the process with its exit status."""
    leave_on_signals()
    # What is imported stays: looking for garbage in it takes time, now and at the end.
    gc.disable()
    from stackplan.cli.main import main as run  # noqa: PLC0415 - takes a while, in which Ctrl-C may come

    gc.freeze()
    gc.enable()
    run()


if __name__ == "__main__":
    main()
