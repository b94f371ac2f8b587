"""What `stackplan lint` of a large playbook costs: 1,000 mixed steps, each with its postconditions.

    python benchmarks/lint.py [--steps 1000] [--rounds 5] [--keep FILE]

Writes a playbook whose steps install builds of torch and other packages, write files, run scripts, fetch archives, see
to system packages and services, and name variables throughout. Measures whole processes, as people start them, prints
the medians of their wall and CPU time, and exits with 1 when the wall time was above 1 second. `--keep` leaves the
playbook in FILE.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MOST_S = 1.0
HEAD = """\
stackplan: 1
name: many-steps
description: As many steps as anybody may want to have in one playbook.
nodes: all
vars:
  cuda: 13.0
  venv: ~/ml-env
  torch_index: https://download.pytorch.org/whl/cu130
  torch_version: 2.11.0
  share: /srv/share
  mirror: https://mirror.example.org/archives
defaults: {timeout: 30m}

preconditions:
  - gpu: {count: 8, compute_capability: "12.0", driver: ">=580.65.06"}
  - disk: {path: "{{ venv }}", free: 30GiB}

steps:
"""
STEPS = (
    """\
  - id: torch-@
    why: everything after it is built for the CUDA of this torch
    python_packages:
      venv: "{{ venv }}-@"
      packages: ["torch=={{ torch_version }}", torchvision, torchaudio]
      index_url: "{{ torch_index }}"
      upgrade: true                   # without it a build that satisfies the names is kept, whatever its CUDA
    postconditions:
      - torch: {venv: "{{ venv }}-@", cuda: "{{ cuda }}", version: "=={{ torch_version }}", arch: sm_120}
      - same_build: {venv: "{{ venv }}-@", packages: [torch, torchvision, torchaudio], by: label}
      - python_import: {venv: "{{ venv }}-@", modules: [torch, torchvision, torchaudio]}
      - no_stale_caches: {venv: "{{ venv }}-@"}
""",
    """\
  - id: package-@
    python_packages:
      venv: "{{ venv }}"
      packages: ["package-@==1.@.0"]
      no_deps: true
    postconditions:
      - package: {venv: "{{ venv }}", name: package-@, version: "==1.@.0"}
      - packages_consistent: {venv: "{{ venv }}"}
""",
    """\
  - id: system-@
    apt_packages:
      install: [tool-@=2.@-1]
    postconditions:
      - apt_package: {name: tool-@, version: ">=2.@"}
""",
    """\
  - id: settings-@
    file:
      path: /etc/example/settings-@.conf
      mode: "0644"
      content: |
        # written by stackplan
        cuda = {{ cuda }}
        environment = {{ venv }}
        share = {{ share }}/@
    postconditions:
      - file: {path: /etc/example/settings-@.conf, mode: "0644", type: file}
""",
    """\
  - id: prepare-@
    why: the share has to be there before the server starts
    run:
      script: |
        set -eu
        install -d -m 0755 "{{ share }}/@"
        if [ ! -e "{{ share }}/@/ready" ]; then
          date > "{{ share }}/@/ready"
        fi
    timeout: 5m
    postconditions:
      - file: {path: "{{ share }}/@/ready", type: file}
      - command: {argv: [test, -s, "{{ share }}/@/ready"]}
""",
    """\
  - id: archive-@
    download:
      url: "{{ mirror }}/archive-@.tar.gz"
      path: "{{ share }}/archive-@.tar.gz"
      sha256: "$"
    postconditions:
      - file: {path: "{{ share }}/archive-@.tar.gz", sha256: "$"}
""",
    """\
  - id: service-@
    service: {name: server-@.service, state: restarted}
    postconditions:
      - service: {name: server-@.service, active: true}
        within: 2m
      - http: {url: "http://localhost:3@/health", status: 200}
        within: 5m
""",
)
"""Steps in turn; `@` is the step's number, `$` a digest of its own."""


def main() -> int:
    """Run the benchmark; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", type=Path, metavar="FILE")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        playbook = given.keep or Path(folder) / "playbook.yaml"
        playbook.write_text(_playbook(given.steps))
        size = playbook.stat().st_size
        # The first round fills caches.
        took = [_lint(playbook) for _ in range(given.rounds + 1)][1:]
    wall_s, cpu_s = (statistics.median(column) for column in zip(*took, strict=True))
    print(f"{given.steps} steps, {size // 1024} KiB, Python {sys.version.split()[0]}")
    print(f"lint: {wall_s:.2f} s (at most {MOST_S:.0f} s), {cpu_s:.2f} s of CPU")
    return 1 if wall_s > MOST_S else 0


def _playbook(steps: int) -> str:
    """Return a playbook of so many steps, in which the rules find nothing."""
    turns = (
        STEPS[number % len(STEPS)].replace("@", str(number)).replace("$", f"{number:064x}") for number in range(steps)
    )
    return HEAD + "\n".join(turns)


def _lint(playbook: Path) -> tuple[float, float]:
    """Lint in a process of its own; return the seconds that it took, by the clock and of the CPU."""
    before, started = _children_s(), time.perf_counter()
    line = [sys.executable, "-m", "stackplan", "lint", str(playbook)]
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    wall_s = time.perf_counter() - started
    if done.returncode or "no problem found" not in done.stderr:
        raise SystemExit(f"stackplan lint exited with {done.returncode}:\n{done.stdout}{done.stderr}")
    return wall_s, _children_s() - before


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
