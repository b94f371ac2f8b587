"""`script/test --faults [N] [--seed S]`: the campaign at its full size, with its figures."""

import argparse
import random
import signal
import sys
import tempfile
from pathlib import Path

from tests.faults.campaign import run_campaign
from tests.faults.tally import text


def main():
    parser = argparse.ArgumentParser(prog="script/test --faults", description=__doc__)
    parser.add_argument("faults", nargs="?", type=int, default=1000, help="how many faults (default 1000)")
    parser.add_argument("--seed", type=int, default=None, help="repeat the choices of an earlier campaign")
    parser.add_argument("--at-once", type=int, default=6, help="how many runs at once (default 6)")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    seed = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed
    folder = Path(tempfile.mkdtemp(prefix="stackplan-faults-"))
    sys.stderr.write(f"seed {seed}; what goes wrong is kept in {folder}\n")

    def tell(tally):
        wrong = sum(len(it) for it in tally.wrong.values())
        sys.stderr.write(f"\r{tally.injected} of {given.faults} faults, {tally.runs} runs, {wrong} wrong ")
        sys.stderr.flush()

    try:
        tally = run_campaign(folder, faults=given.faults, seed=seed, at_once=given.at_once, tell=tell)
    except KeyboardInterrupt:
        sys.stderr.write("\ngiven up; nothing was counted\n")
        return 130
    sys.stderr.write("\n")
    sys.stdout.write(text(tally, seed) + "\n")
    if tally.clean:
        folder.rmdir()
    return 0 if tally.clean else 1


if __name__ == "__main__":
    sys.exit(main())
