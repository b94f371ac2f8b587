"""What a predicted chain of installs costs, against the installer's own dry runs of the same chain.

    python benchmarks/dry_run.py [--index-url URL] [--rounds 7]

Makes an environment of at least 150 real distributions with uv, from uv's own index or the one that is given. Then, in
turn: five dry runs as people type them, in the environment itself, and the five of a plan: in shadows, each carrying
the changes predicted before it, with the metadata of what would be installed and a look at the index. Prints both
medians and their ratio, and exits with 1 when that is above 1.5.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from stackplan.actions.python_packages import PythonPackages
from stackplan.connection.wire import plain
from stackplan.model.arguments import Arguments, Value
from stackplan.model.facts import Answer, Facts, Known, Origin, Query
from stackplan.model.kind import Prediction
from stackplan.model.location import Location
from stackplan.node.asker import answer
from stackplan.node.context import Context

LEAST = 150
MOST = 1.5
FILL = (
    *("jupyterlab", "sphinx", "mkdocs-material", "fastapi[all]", "django", "celery", "boto3", "scrapy", "pre-commit"),
    *("ansible-core", "httpie", "twine", "flask", "black==24.1.0", "rich==13.7.0", "click==8.1.7"),
)
CHAIN: tuple[dict[str, Value], ...] = (
    {"packages": ("requests",)},
    {"packages": ("black",), "upgrade": ("black",)},
    {"packages": ("rich==13.6.0",)},
    {"packages": ("litestar",)},
    {"packages": ("flask", "polars")},
)


def main() -> int:
    """Run the benchmark; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--index-url")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if uv is None:
        print("uv is needed on the PATH", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        return _measure(uv, Path(folder) / "environment", options.index_url, options.rounds)


def _measure(uv: str, venv: Path, index: str | None, rounds: int) -> int:
    where = [] if index is None else ["--index-url", index]
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, venv], check=True)
    subprocess.run([uv, "pip", "install", "--quiet", "--python", venv / "bin/python", *where, *FILL], check=True)
    count = len(list(venv.glob("lib/python*/site-packages/*.dist-info")))
    print(f"{count} distributions")
    if count < LEAST:
        print(f"at least {LEAST} are needed", file=sys.stderr)
        return 2
    own, planned = [], []
    for number in range(rounds + 1):
        started = time.perf_counter()
        _typed(uv, venv, where)
        typed_s = time.perf_counter() - started
        planned_s = _predicted(uv, venv, index)
        # The first round fills caches.
        if number:
            own.append(typed_s)
            planned.append(planned_s)
    ratio = statistics.median(planned) / statistics.median(own)
    print(f"five dry runs of uv: {statistics.median(own):.3f} s")
    print(f"five of a plan:      {statistics.median(planned):.3f} s")
    print(f"ratio {ratio:.2f} (at most {MOST})")
    return 0 if ratio <= MOST else 1


def _typed(uv: str, venv: Path, where: list[str]) -> None:
    for step in CHAIN:
        packages = step["packages"]
        assert isinstance(packages, tuple)
        words = [str(it) for it in packages] + (["--upgrade-package", "black"] if "upgrade" in step else [])
        line: list[str | Path] = [uv, "pip", "install", "--dry-run", "--python", venv / "bin/python", *where, *words]
        subprocess.run(line, check=True, capture_output=True)


def _predicted(uv: str, venv: Path, index: str | None) -> float:
    """Predict the chain; return the seconds it took, without what a plan asks for any action, predicted or not."""
    given: dict[str, Value] = {"venv": str(venv), "installer": "uv", **({} if index is None else {"index_url": index})}
    kinds = [PythonPackages.read(Arguments({**given, **step}, Location("chain", 1, 1))) for step in CHAIN]
    context = Context(environment={**os.environ, "PATH": f"{Path(uv).parent}:{os.environ['PATH']}"})
    facts = Facts("here", Origin.LIVE, "", _asked((query for kind in kinds for query in kind.queries()), context))
    started = time.perf_counter()
    for kind in kinds:
        facts = replace(facts, answers={**facts.answers, **_asked(kind.forecast(facts), context)})
        prediction = kind.predict(facts)
        if not isinstance(prediction, Prediction) or prediction.failures:
            raise SystemExit(f"a step was not predicted: {prediction}")
        facts = replace(facts, answers={**facts.answers, **prediction.answers})
    return time.perf_counter() - started


def _asked(queries: Iterable[Query], context: Context) -> dict[Query, Answer]:
    """Return the answers to a step's questions. A question that fails ends the benchmark."""
    found: dict[Query, Answer] = {}
    for query in dict.fromkeys(queries):
        told = answer({"kind": query.kind, "arguments": plain(query.arguments)}, context)
        if "known" not in told:
            raise SystemExit(f"{query.kind}: {told}")
        found[query] = Known(told["known"])
    return found


if __name__ == "__main__":
    sys.exit(main())
