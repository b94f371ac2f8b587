"""Where every failure of a command ends: as words on standard error and as the exit status of DESIGN's list."""

import io
import sys
import traceback
from collections.abc import Callable

import click

from stackplan.cli.output import OutputRefused, Shown, result, say, wants_colour
from stackplan.cli.streams import to_nowhere

BUG = 1
USAGE = 2
UNREACHABLE = 4
LOCKED = 7
INTERRUPTED = 130


def guard(call: Callable[[Shown], int]) -> int:
    """Return the exit status of `call`, or of the failure that it ended in, which is then explained."""
    shown = Shown()
    try:
        return call(shown)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _interrupted(shown)
    except click.ClickException as error:
        words = io.StringIO()
        error.show(words)
        say(words.getvalue().rstrip("\n"))
        return USAGE
    except Exception as error:  # noqa: BLE001 - the last place at which one can be put into words
        return _explain(error, shown)


def _interrupted(shown: Shown) -> int:
    say("Interrupted.")
    if shown.form == "json":
        from stackplan.model.diagnosis import Diagnosis  # noqa: PLC0415 - spared by whoever does not fail
        from stackplan.reports import json_document  # noqa: PLC0415 - see above

        result(json_document.render_diagnoses((Diagnosis(summary="interrupted before there was a report"),)))
    return INTERRUPTED


def _explain(error: Exception, shown: Shown) -> int:
    from stackplan.model.diagnosis import Invalid  # noqa: PLC0415 - spared by whoever does not fail

    if isinstance(error, Invalid):
        return _invalid(error, shown)
    failures = sys.modules.get("stackplan.connection.failure")
    if failures is not None and isinstance(error, failures.ConnectionFailure):
        return _not_connected(error, locked=isinstance(error, failures.Locked))
    if isinstance(error, OSError) and _out_of_click(error):
        return _not_printed(error)
    return _refused(str(error)) if isinstance(error, OutputRefused) else _of_this_machine(error)


def _of_this_machine(error: Exception) -> int:
    """Tell a fault of the machine or of the installation from a bug."""
    if isinstance(error, MemoryError):
        say("stackplan: this machine, or a limit set here (`ulimit -v`), leaves too little memory for this command")
        return BUG
    return _not_imported(error) if isinstance(error, ImportError) else _bug(error)


def _not_imported(error: ImportError) -> int:
    from stackplan.connection.missing_package import missing_package  # noqa: PLC0415 - spared by whoever does not fail

    found = missing_package(error)
    if found is None:
        return _bug(error)
    summary, remedy = found
    say(f"stackplan: {summary}\n  {remedy}")
    return USAGE


def _invalid(error: Exception, shown: Shown) -> int:
    from stackplan.cli.diagnoses import some  # noqa: PLC0415 - spared by whoever does not fail
    from stackplan.language import source  # noqa: PLC0415
    from stackplan.reports import json_document  # noqa: PLC0415

    diagnoses = [source.without_passwords(it) for it in error.diagnoses]  # type: ignore[attr-defined]
    say(some(diagnoses, colour=wants_colour(sys.stderr)).rstrip("\n"))
    if shown.form == "json":
        result(json_document.render_diagnoses(diagnoses))
    return USAGE


def _out_of_click(error: OSError) -> bool:
    """Return whether click raised it: it opens no file here, so that standard output did not take a help text."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return bool(frames) and str(frames[-1].f_globals.get("__name__")).startswith("click.")


def _not_printed(error: OSError) -> int:
    to_nowhere(sys.stdout)
    if isinstance(error, BrokenPipeError):
        return 0
    return _refused(error.strerror or str(error))


def _refused(why: str) -> int:
    say(f"stackplan: the result could not be written to standard output: {why}")
    return USAGE


def _not_connected(error: Exception, *, locked: bool) -> int:
    from stackplan.reports.safe import safe  # noqa: PLC0415 - spared by whoever does not fail

    say(safe(str(getattr(error, "summary", error))))
    if remedy := getattr(error, "remedy", None):
        say(f"  {safe(str(remedy))}")
    return LOCKED if locked else UNREACHABLE


def _bug(error: Exception) -> int:
    from stackplan.engine.bug import keep_traceback  # noqa: PLC0415 - needed for a bug alone

    name = type(error).__name__
    where = keep_traceback(error)
    say(
        f"stackplan: this is a bug in stackplan itself ({name}), not in the playbook, the inventory or a node. Steps "
        f"that had ended stay as they are; `stackplan verify` tells where the nodes stand. {where}"
    )
    return BUG
