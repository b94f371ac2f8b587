"""The question on a terminal: what counts as yes, and that no Ctrl-C is lost in it."""

import io
import signal
import sys

import click
import pytest

from stackplan.cli.question import agreed


@pytest.fixture(autouse=True)
def _signals(monkeypatch):
    monkeypatch.setattr("sys.unraisablehook", sys.unraisablehook)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def asked(monkeypatch):
    """Ask with these lines typed; return the answer and what was written."""

    def ask(typed, errors=None):
        errors = errors or io.StringIO()
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        monkeypatch.setattr("sys.stderr", errors)
        return agreed("Go on?"), errors.getvalue()

    return ask


@pytest.mark.parametrize(
    ("typed", "expected"), [("y\n", True), (" YES \n", True), ("n\n", False), ("no\n", False), ("\n", False)]
)
def test_an_answer(asked, typed, expected):
    assert asked(typed) == (expected, "Go on? [y/N]: ")


def test_another_answer_is_asked_for_again(asked):
    assert asked("maybe\ny\n") == (True, "Go on? [y/N]: Answer y or n.\nGo on? [y/N]: ")


def test_a_terminal_that_is_closed_is_no_answer(asked):
    with pytest.raises(click.Abort):
        asked("")


class Interrupted(io.StringIO):
    """Standard error, and a Ctrl-C while it is flushed for the nth time."""

    def __init__(self, nth):
        super().__init__()
        self.left = nth

    def flush(self):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("nth", range(1, 5))
def test_ctrl_c_is_lost_in_no_flush(asked, nth):
    errors = Interrupted(nth)
    try:
        asked("y\n", errors)
    except KeyboardInterrupt:
        assert errors.left == 0
    else:
        assert errors.left > 0, "it came, and the question went on as if it had not"


def test_ctrl_c_counts_again_where_an_earlier_one_was_used_up(asked):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asked("n\n")
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
