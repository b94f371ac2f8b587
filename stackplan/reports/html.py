"""A run as one page that needs nothing else: no script, no picture, no other file; pure.

Every text goes through `safe` before it is escaped, whatever the template forgets: what the page shows is printable,
each text has a bound, and what a node printed can neither act nor turn the reading direction around.
"""

import importlib.resources
from collections.abc import Iterable
from dataclasses import field
from datetime import datetime, timedelta
from functools import cache

import jinja2
from markupsafe import Markup

from stackplan.model.change import Change
from stackplan.model.event import Event, OutputSeen, RunEnded, RunStarted
from stackplan.model.frozen import dataclass
from stackplan.model.outcome import NodeOutcome, Reason, StepOutcome
from stackplan.model.quantity import duration_text
from stackplan.model.report import ConditionReport, NodeReport, Report, StepReport
from stackplan.model.verdict import Status
from stackplan.reports import text
from stackplan.reports.cause import cause_label
from stackplan.reports.paint import Style
from stackplan.reports.progress import plain_line
from stackplan.reports.safe import safe, safe_lines, safe_paragraphs
from stackplan.reports.wording import (
    NODE_STYLES,
    STATUS_MARKS,
    anew_word,
    condition_text,
    node_word,
    step_mark,
    step_sentence,
    step_word,
)

TEMPLATE = "page.html.jinja"
TEXT_LIMIT = 2000
LINE_LIMIT = 500
COMMAND_LINES = 200
OUTPUT_LINES = 60
CHRONICLE = 3000
CHANGES = 400
_OPEN = frozenset({StepOutcome.FAILED, StepOutcome.WOULD_FAIL, StepOutcome.NOT_HELD, StepOutcome.ROLLED_BACK})
_TONES = {
    Style.GOOD: "good",
    Style.BAD: "bad",
    Style.CHANGE: "change",
    Style.UNSURE: "unsure",
    Style.FAINT: "faint",
    Style.STRONG: "",
    Style.PLAIN: "",
}


def render(report: Report, events: Iterable[Event] = ()) -> str:
    """Return the page; `events` are those of the run, from which comes who made it and what happened in which order."""
    return _template().render(report=report, words=_Words(report, tuple(events)))


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["cause_label"] = cause_label
    source = importlib.resources.files("stackplan.reports").joinpath(TEMPLATE).read_text("utf-8")
    return environment.from_string(source)


def _shown(value: object) -> object:
    """Make a text safe on its way into the page; what is markup of ours already is left as it is."""
    return safe(value, TEXT_LIMIT) if isinstance(value, str) and not isinstance(value, Markup) else value


@dataclass(frozen=True, slots=True)
class _Bar:
    """Where in the node's time at work a step stands, in percent."""

    start: float
    width: float
    took: str


@dataclass(slots=True)
class _Words:
    """What the template says of a report's values."""

    report: Report
    events: tuple[Event, ...]
    most_changes: int = CHANGES
    _bars: dict[int, dict[str, _Bar]] = field(default_factory=dict)

    @property
    def closing(self) -> str:
        return text.closing(self.report)

    @property
    def who(self) -> str:
        begun = next((event for event in self.events if isinstance(event, RunStarted)), None)
        return "" if begun is None else "@".join(it for it in (begun.operator, begun.host) if it)

    @property
    def took(self) -> str:
        """How long the run took; empty where that is not known, or a clock was set back meanwhile."""
        begun, ended = _moment(self.report.started), _moment(self.report.ended)
        if begun is None or ended is None or ended < begun:
            return ""
        return duration_text((ended - begun) / timedelta(seconds=1))

    @property
    def chronicle(self) -> tuple[tuple[str, str], ...]:
        """What happened, with the time of day; of very much the beginning."""
        told = []
        for event in self.events:
            line = None if isinstance(event, OutputSeen) else plain_line(event)
            line = "the run ended" if isinstance(event, RunEnded) else line
            if line is not None:
                told.append((_time_of_day(event.time), line))
            if len(told) >= CHRONICLE:
                told.append(("…", f"more than {CHRONICLE} entries; the journal has them all"))
                break
        return tuple(told)

    @staticmethod
    def tone(outcome: NodeOutcome) -> str:
        return _TONES[NODE_STYLES[outcome]]

    def node(self, node: NodeReport) -> str:
        return node_word(node, self.report.command)

    @staticmethod
    def anew(change: Change, step: StepReport) -> str:
        return anew_word(change, step)

    @staticmethod
    def told_below(node: NodeReport) -> bool:
        """Return whether a step, or the preconditions, say what the node's message says."""
        if node.reason is Reason.PRECONDITION and node.stopped_at is None and node.preconditions:
            return True
        return any(step.message == node.message for step in node.steps)

    @staticmethod
    def mark(step: StepReport) -> str:
        return step_mark(step)[0]

    @staticmethod
    def step_tone(step: StepReport) -> str:
        return _TONES[step_mark(step)[1]]

    @staticmethod
    def step(step: StepReport) -> str:
        return step_word(step)

    @staticmethod
    def sentence(step: StepReport) -> str:
        return step_sentence(step, timed=False)

    @staticmethod
    def says_more(step: StepReport) -> bool:
        """Return whether the step's message is not what its line says."""
        return safe(step.message or "") not in step_sentence(step, timed=False)

    @staticmethod
    def is_bare(step: StepReport) -> bool:
        """Return whether there is nothing to unfold: the step was not come to."""
        return step.outcome is StepOutcome.NOT_REACHED and not (step.why or step.message or step.action)

    @staticmethod
    def is_open(step: StepReport) -> bool:
        return step.outcome in _OPEN

    @staticmethod
    def status_mark(condition: ConditionReport) -> str:
        return STATUS_MARKS[condition.status][0]

    @staticmethod
    def status_tone(condition: ConditionReport) -> str:
        return _TONES[STATUS_MARKS[condition.status][1]]

    @staticmethod
    def condition(condition: ConditionReport) -> str:
        return condition_text(condition)

    @staticmethod
    def unmet(conditions: Iterable[ConditionReport]) -> bool:
        return any(it.status is not Status.HELD for it in conditions)

    @staticmethod
    def time(time: str) -> str:
        return time.replace("T", " ").partition(".")[0].removesuffix("Z")

    @staticmethod
    def lines(told: str) -> list[str]:
        return safe_paragraphs(told).split("\n")

    @staticmethod
    def command(told: str) -> Markup:
        """Return a command as written, safe and escaped; of a long script the beginning."""
        return Markup("\n").join(safe_paragraphs(told, COMMAND_LINES, TEXT_LIMIT).split("\n"))

    @staticmethod
    def printed(told: str) -> Markup:
        """Return the last lines of an output, safe and escaped, each on a line of its own."""
        return Markup("\n").join(safe_lines(told, OUTPUT_LINES, LINE_LIMIT))

    @staticmethod
    def counted(count: int, noun: str, plural: str | None = None) -> str:
        return f"{count} {noun if count == 1 else plural or f'{noun}s'}"

    def bar(self, node: NodeReport, step: StepReport) -> _Bar | None:
        """Return where a step stands in the time that its node was at work; None for one that took no time of its own.

        Steps follow one another, so that the times of all before it say when it began.
        """
        if id(node) not in self._bars:
            self._bars[id(node)] = _bars(node.steps)
        return self._bars[id(node)].get(step.id)


def _bars(steps: tuple[StepReport, ...]) -> dict[str, _Bar]:
    total = sum(step.duration_s or 0.0 for step in steps)
    found: dict[str, _Bar] = {}
    before = 0.0
    for step in steps:
        if step.duration_s is not None:
            scale = 100.0 / total if total > 0 else 0.0
            start, width = round(before * scale, 1), round(step.duration_s * scale, 1)
            found[step.id] = _Bar(start, width, duration_text(step.duration_s))
            before += step.duration_s
    return found


def _moment(time: str | None) -> datetime | None:
    try:
        return None if time is None else datetime.fromisoformat(time)
    except ValueError:
        return None


def _time_of_day(time: str) -> str:
    moment = _moment(time)
    return time[:12] if moment is None else moment.strftime("%H:%M:%S")
