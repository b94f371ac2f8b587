"""One run on a node of its own, with faults until its share is used up, and what has to be true of it afterwards."""

import contextlib
import fcntl
import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

from stackplan.lab.inventory import LabNode, inventory_text, known_hosts_text
from stackplan.lab.sandbox import Sandbox, plain_python
from tests.faults.announcement import MOMENTS, Announcements
from tests.faults.injection import FAULTS, Victim
from tests.faults.tally import Tally
from tests.proxy.tcp import Proxy
from tests.sshd.node import sshd_node

STEPS = 6
LINES = 30
# Between one fault and the next: from within the same exchange to well into the next step.
_MOMENTS_S = (0.0, 1.2)
# Half of the faults come that soon after the journal announced something: an exchange takes no longer.
_AT_ONCE_S = (0.0, 0.04)
_ANNOUNCED_WITHIN_S = 5.0
_LOOK_S = 0.02
# What was cut off ends by itself: a node program at the end of its input, sshd's child when it hears of the reset.
_PARTING_S = 30.0
_AGAIN = 4


def playbook(steps=STEPS, lines=LINES):
    """Return a playbook each of whose actions leaves a line in a file, takes some time and prints."""
    text = "stackplan: 1\nname: faults\nnodes: all\nsteps:\n"
    for step in names(steps):
        text += f"""  - id: {step}
    run:
      script: |
        echo {step} >>~/ran
        for number in $(seq {lines}); do echo "{step} line $number"; sleep 0.02; done
        touch ~/{step}
    postconditions: [{{file: {{path: ~/{step}}}}}]
"""
    return text


def names(steps):
    return [f"step-{number}" for number in range(1, steps + 1)]


def printed(step, lines):
    return "".join(f"{step} line {number}\n" for number in range(1, lines + 1))


class Trial:
    """`over` set: the campaign is given up, and the trial with it."""

    def __init__(
        self,
        folder: Path,
        seed: str,
        share: int,
        *,
        steps: int = STEPS,
        deadline_s: float = 300.0,
        over: threading.Event | None = None,
    ) -> None:
        self.folder = folder
        self.name = seed
        self.random = random.Random(seed)
        self.share = share
        self.steps = names(steps)
        self.deadline = time.monotonic() + deadline_s
        self.over = over or threading.Event()
        self.tally = Tally(runs=1, steps=steps)
        self.sandbox = Sandbox(folder / "node")
        self.state = folder / "state"

    def run(self):
        """Return the tally of the trial."""
        key_line = self._make_files()
        with sshd_node(self.sandbox, "gpu-01", key_line) as node, Proxy(node.port) as proxy:
            self._write_inventory(node, proxy)
            status = self._to_the_end(node, proxy)
            if status is not None:
                self._check(status)
        return self.tally

    def _make_files(self):
        for path in (self.sandbox.home, self.sandbox.programs, self.sandbox.folder / "tmp"):
            path.mkdir(parents=True, mode=0o700)
        (self.sandbox.programs / "python3").symlink_to(plain_python())
        (self.folder / "p.yaml").write_text(playbook(len(self.steps)))
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / "id"], check=True)
        return (self.folder / "id.pub").read_text().strip()

    def _write_inventory(self, node, proxy):
        reached = [LabNode(node.name, proxy.port, node.host_key, node.user)]
        (self.folder / "known_hosts").write_text(known_hosts_text(reached))
        text = inventory_text(reached, "http://127.0.0.1:9", self.folder / "id", self.folder / "known_hosts")
        (self.folder / "inventory.yaml").write_text(text)

    def _to_the_end(self, node, proxy):
        """Start the run, and take it up again whenever it broke off; return its exit status, None when it hangs."""
        words = ["apply", self.folder / "p.yaml", "-i", self.folder / "inventory.yaml", "--yes"]
        while True:
            with self._controller(*words) as controller:
                victim = Victim(node, proxy, controller, self.random, self.over.wait)
                if not self._torment(victim):
                    controller.kill()
                    self.wrong("hangs", f"`{words[0]}` did not end in time")
                    return None
            if controller.returncode not in (-9, _AGAIN):
                return controller.returncode
            self.tally.resumed += 1
            # One that was killed before anything of it was kept had begun nothing, and cannot be taken up.
            if any(self.state.glob("runs/*/plan.json")):
                words = ["resume", "last"]

    @contextlib.contextmanager
    def _controller(self, *words):
        environment = {**os.environ, "STACKPLAN_STATE": str(self.state), "SSH_AUTH_SOCK": ""}
        argv = [sys.executable, "-m", "stackplan", *map(str, words), "--format", "json"]
        with (self.folder / "out").open("wb") as out, (self.folder / "err").open("ab") as err:
            process = subprocess.Popen(argv, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.kill()
                process.wait()

    def _torment(self, victim):
        """Do harm at random moments until the controller ends; return whether it did in time."""
        while victim.controlled:
            if self.over.is_set() or time.monotonic() > self.deadline:
                return False
            if self.tally.injected >= self.share:
                self.over.wait(_LOOK_S)
                continue
            self._await_moment(victim)
            (name,) = self.random.choices(list(FAULTS), [often for _, often in FAULTS.values()])
            if victim.controlled and FAULTS[name][0](victim):
                self.tally.faults[name] += 1
        return True

    def _await_moment(self, victim):
        """Let time pass until the next fault is due: some moments, or until something was announced."""
        if self.random.random() < 0.5:
            self._let_pass(victim, self.random.uniform(*_MOMENTS_S))
            return
        event, soon_s = self.random.choice(MOMENTS), self.random.uniform(*_AT_ONCE_S)
        announcements, until = Announcements(self.state), time.monotonic() + _ANNOUNCED_WITHIN_S
        while not announcements.has(event) and victim.controlled and time.monotonic() < until:
            self.over.wait(0.005)
        self._let_pass(victim, soon_s)

    def _let_pass(self, victim, seconds):
        until = time.monotonic() + seconds
        while victim.controlled and time.monotonic() < until:
            self.over.wait(min(_LOOK_S, max(0.0, until - time.monotonic())))

    def _check(self, status):
        said = (self.folder / "err").read_text(errors="replace")[-600:]
        if status != 0:
            self.wrong("reports untrue", f"exit status {status}: {said}")
        if "Traceback" in said:
            self.wrong("reports untrue", said)
        self._check_actions()
        self._check_report()
        self._check_output()
        self._check_node()

    def _check_actions(self):
        path = self.sandbox.home / "ran"
        ran = path.read_text().split() if path.exists() else []
        for step in self.steps:
            count = ran.count(step)
            if count != 1:
                self.wrong("steps run twice" if count else "steps lost", f"{step} ran {count} times")
        if sorted(set(ran)) == sorted(self.steps) and list(dict.fromkeys(ran)) != self.steps:
            self.wrong("reports untrue", f"the actions ran in another order: {ran}")

    def _check_report(self):
        try:
            report = json.loads((self.folder / "out").read_text())
            (node,) = report["nodes"]
            told = {step["id"]: step for step in node["steps"]}
        except (ValueError, KeyError) as error:
            self.wrong("reports untrue", f"there is no report: {error}")
            return
        if (report["outcome"], node["outcome"], list(told)) != ("ok", "ok", self.steps):
            self.wrong("reports untrue", f"the run is {report['outcome']}, the node {node['outcome']}: {list(told)}")
        for step, about in told.items():
            action = about.get("action") or {}
            ended = (about["outcome"], action.get("exit_code"), action.get("attempts"))
            if ended != ("changed", 0, 1):
                self.wrong("reports untrue", f"{step} is told as {ended}: {about.get('message')}")

    def _check_output(self):
        told = dict.fromkeys(self.steps, "")
        for path in self.state.glob("runs/*/events.jsonl"):
            for line in path.read_text().splitlines():
                event = json.loads(line)
                if event.get("event") == "OutputSeen":
                    told[event["step"]] += event["text"]
        for step, text in told.items():
            self.tally.lines += text.count("\n")
            if text != printed(step, LINES):
                self.wrong("outputs incomplete", f"{step} has {text.count(chr(10))} lines: {text[:80]!r}")

    def _check_node(self):
        """Wait until nothing of the run is there any more, for as long as that may take."""
        until = time.monotonic() + _PARTING_S
        while (left := self._processes()) and time.monotonic() < until and not self.over.is_set():
            self.over.wait(0.1)
        if left:
            self.wrong("processes left", f"{left}")
        for lock in self.sandbox.home.glob(".local/state/stackplan/*/lock"):
            with lock.open("rb") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    self.wrong("locks left", str(lock))
        for spool in self.sandbox.home.glob(".local/state/stackplan/*/spool/*"):
            if not (spool / "ending.json").exists():
                self.wrong("reports untrue", f"{spool.name} has no ending")

    def _processes(self):
        """Return what lives with the node's home, by number and command."""
        home = f"HOME={self.sandbox.home}".encode()
        found = {}
        for path in Path("/proc").iterdir():
            if path.name.isdigit():
                with contextlib.suppress(OSError):
                    if home in (path / "environ").read_bytes().split(b"\0"):
                        found[int(path.name)] = (path / "cmdline").read_bytes()[:60]
        return found

    def wrong(self, name, sentence):
        self.tally.wrong[name].append(f"{self.name}: {sentence}")
