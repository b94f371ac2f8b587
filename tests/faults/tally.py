"""What a campaign has counted, and how it is told; pure."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Tally:
    """`faults` by kind; `wrong` are sentences about what should not have been, by what they are counted under."""

    faults: Counter = field(default_factory=Counter)
    runs: int = 0
    resumed: int = 0
    steps: int = 0
    lines: int = 0
    wrong: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in WRONG})
    seconds: float = 0.0

    @property
    def injected(self):
        return sum(self.faults.values())

    @property
    def clean(self):
        return not any(self.wrong.values())

    def add(self, other):
        self.faults += other.faults
        self.runs += other.runs
        self.resumed += other.resumed
        self.steps += other.steps
        self.lines += other.lines
        for name, sentences in other.wrong.items():
            self.wrong[name] += sentences


WRONG = (
    "steps lost",
    "steps run twice",
    "hangs",
    "outputs incomplete",
    "reports untrue",
    "processes left",
    "locks left",
)
"""What is counted of that which must not be."""


def text(tally, seed):
    """Return the figures of a campaign, a line each, and a line for each thing that went wrong."""
    kinds = [f"  {name:<28}{count:>6}" for name, count in sorted(tally.faults.items())]
    wrong = [f"{name:<30}{len(sentences):>6}" for name, sentences in tally.wrong.items()]
    said = [f"  {sentence}" for sentences in tally.wrong.values() for sentence in sentences]
    return "\n".join(
        [
            f"seed {seed}",
            f"{'faults injected':<30}{tally.injected:>6}",
            *kinds,
            f"{'runs':<30}{tally.runs:>6}",
            f"{'  taken up again':<30}{tally.resumed:>6}",
            f"{'steps':<30}{tally.steps:>6}",
            f"{'lines of output':<30}{tally.lines:>6}",
            *wrong,
            f"{'seconds':<30}{tally.seconds:>6.0f}",
            *said,
        ]
    )
