"""Progress: plain lines for logs, a moving display for terminals, and Ctrl-C in two levels."""

import io
import os
import signal

import pytest
from rich.console import Console

from stackplan.cli.interrupt import FIRST, SECOND, stopping
from stackplan.cli.live_progress import LiveProgress
from stackplan.cli.progress import PlainProgress, progress
from stackplan.engine.stop import Level, Stop
from stackplan.model.event import (
    ConnectionDropped,
    NodeEnded,
    NodeStarted,
    OutputSeen,
    Reattached,
    RunEnded,
    RunStarted,
    StepEnded,
    StepStarted,
)
from stackplan.model.outcome import NodeOutcome, Reason, StepOutcome
from stackplan.model.report import ActionReport, NodeReport, PlaybookIdentity, StepReport

T = "2026-12-01T03:10:22Z"
INSTALL = ActionReport(kind="python_packages", command="uv pip install torch")
STOPPED = NodeReport(node="gpu-01", outcome=NodeOutcome.FAILED, stopped_at="torch", reason=Reason.NO_OP)
TORCH = StepReport(id="torch", outcome=StepOutcome.FAILED, reason=Reason.NO_OP, duration_s=0.4, action=INSTALL)
EVENTS = (
    RunStarted(
        run="20261201T031022Z-4f2a", command="apply", playbook=PlaybookIdentity(name="cuda13", path="p", sha256="0"),
        nodes=("gpu-01", "gpu-02"), steps=("torch",), time=T, operator="ops",
    ),
    NodeStarted(node="gpu-01", wave=1, steps=("torch",), time=T),
    StepStarted(node="gpu-01", step="torch", action=INSTALL, time=T),
    OutputSeen(node="gpu-01", step="torch", text="Resolved [bold]3[/bold]\n\x1b[2JAudited 3 packages\n", time=T),
    ConnectionDropped(node="gpu-01", step="torch", why="reset by peer", time=T),
    Reattached(node="gpu-01", step="torch", time=T),
    StepEnded(node="gpu-01", step=TORCH, time=T),
    NodeEnded(node="gpu-01", outcome=NodeOutcome.FAILED, report=STOPPED, time=T, stopped_at="torch"),
    RunEnded(run="20261201T031022Z-4f2a", outcome=NodeOutcome.FAILED, time=T),
)  # fmt: skip


def test_a_log_has_a_line_an_event():
    lines = []
    with PlainProgress(lines.append, monotonic=lambda: 0.0) as show:
        for event in EVENTS:
            show(event)
    assert lines == [
        "run 20261201T031022Z-4f2a: apply cuda13 on 2 nodes",
        "gpu-01: started, wave 1",
        "gpu-01: torch: uv pip install torch",
        "gpu-01: torch: │ \\x1b[2JAudited 3 packages",
        "gpu-01: connection lost, reconnecting: reset by peer",
        "gpu-01: connected again",
        "gpu-01: torch: no-op   uv exited 0 and changed nothing (0.4 s)",
        "gpu-01: stopped at torch",
    ]


def test_a_flood_of_output_is_a_line_every_ten_seconds():
    lines = []
    now = [0.0]
    show = PlainProgress(lines.append, monotonic=lambda: now[0])
    for second in range(31):
        now[0] = float(second)
        show(OutputSeen(node="gpu-01", step="torch", text=f"{second}%\r\n", time=T))
    assert [line.rsplit(" ", 1)[1] for line in lines] == ["0%", "10%", "20%", "30%"]


def drawn(show, console):
    with console.capture() as capture:
        console.print(show.display())
    return capture.get()


def test_a_terminal_shows_where_each_node_is():
    console = Console(file=io.StringIO(), force_terminal=True, width=100, height=20, markup=False, color_system=None)
    now = [0.0]
    show = LiveProgress(console, monotonic=lambda: now[0])
    for event in EVENTS[:4]:
        show(event)
    now[0] = 65.0
    shown = drawn(show, console)
    assert "gpu-01" in shown
    assert "1/1 torch" in shown
    assert "1 min 05 s" in shown
    assert "\\x1b[2JAudited 3 packages" in shown
    assert "0 of 2 nodes done · 1 at work · 1 waiting" in shown
    for event in EVENTS[4:]:
        show(event)
    assert "1 of 2 nodes done · 0 at work · 1 waiting" in drawn(show, console)
    assert "gpu-01: torch: no-op" in console.file.getvalue()


def test_markup_in_what_nodes_say_is_not_obeyed():
    console = Console(file=io.StringIO(), force_terminal=True, width=100, height=20, markup=False, color_system=None)
    show = LiveProgress(console, monotonic=lambda: 0.0)
    for event in (*EVENTS[:3], OutputSeen(node="gpu-01", step="torch", text="[bold]x[/bold] :boom:\n", time=T)):
        show(event)
    assert "[bold]x[/bold] :boom:" in drawn(show, console)


def test_many_nodes_never_fill_more_than_the_window():
    console = Console(file=io.StringIO(), force_terminal=True, width=80, height=12, markup=False, color_system=None)
    show = LiveProgress(console, monotonic=lambda: 0.0)
    for number in range(500):
        show(NodeStarted(node=f"n{number}", wave=1, steps=("torch",), time=T))
    shown = drawn(show, console)
    assert len(shown.splitlines()) <= 12
    assert "492 of them not shown" in shown


def test_the_moving_display_is_for_terminals():
    assert isinstance(progress(terminal=True, write=print), LiveProgress)
    assert isinstance(progress(terminal=False, write=print), PlainProgress)


def test_the_first_ctrl_c_lets_finish_and_the_second_ends(capfd):
    stop = Stop()
    before = signal.getsignal(signal.SIGINT)
    with stopping(stop):
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.level is Level.FINISH
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.level is Level.END
    assert signal.getsignal(signal.SIGINT) is before
    said = capfd.readouterr().err
    assert said.index(FIRST) < said.index(SECOND)


def test_sigterm_ends_at_once(capfd):
    stop = Stop()
    with stopping(stop):
        os.kill(os.getpid(), signal.SIGTERM)
    assert stop.level is Level.END
    assert SECOND in capfd.readouterr().err


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_is_shown_or_passed_over(event):
    lines = []
    PlainProgress(lines.append)(event)
    assert len(lines) <= 1
