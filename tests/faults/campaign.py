"""Many trials, several at once, until so many faults were injected; the same seed makes the same choices."""

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.faults.tally import Tally
from tests.faults.trial import Trial

SHARE = 8
"""How many faults one run is exposed to."""


def run_campaign(
    folder: Path,
    *,
    faults: int,
    seed: int,
    at_once: int = 6,
    share: int = SHARE,
    steps: int = 6,
    deadline_s: float = 300.0,
    tell: Callable[[Tally], None] = lambda tally: None,
) -> Tally:
    """Return what came of it. The folders of trials in which anything went wrong stay, the others are removed.

    `deadline_s` bounds each trial: one that takes longer hangs. `tell` hears the figures after each trial.
    """
    total, guard, over = Tally(), threading.Lock(), threading.Event()
    numbers = iter(range(10 * faults))
    began = time.monotonic()

    def work() -> None:
        while True:
            with guard:
                left = faults - total.injected - sum(pending.values())
                if left <= 0 or over.is_set():
                    return
                number = next(numbers)
                pending[number] = min(share, left)
            place = folder / f"trial-{number}"
            place.mkdir()
            trial = Trial(place, f"{seed}.{number}", pending[number], steps=steps, deadline_s=deadline_s, over=over)
            try:
                tally = trial.run()
            except Exception as error:  # noqa: BLE001 - one broken trial is told, and the others go on
                trial.wrong("reports untrue", f"the trial itself broke: {type(error).__name__}: {error}")
                tally = trial.tally
            if tally.clean:
                shutil.rmtree(place, ignore_errors=True)
            with guard:
                del pending[number]
                total.add(tally)
                total.seconds = time.monotonic() - began
                tell(total)

    pending: dict[int, int] = {}
    workers = [threading.Thread(target=work) for _ in range(at_once)]
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            worker.join()
    finally:
        # Whoever ends the campaign early leaves no node behind.
        over.set()
        for worker in workers:
            worker.join()
    return total
