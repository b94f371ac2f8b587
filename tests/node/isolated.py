"""A node made of this machine's own programs in namespaces of their own, with overlays where it will be written.

What is changed there vanishes with the node. Needs root and the right to mount; `available` tells.
"""

import contextlib
import functools
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from stackplan.connection.connect import connect
from stackplan.connection.session import Session
from stackplan.model.arguments import Arguments
from stackplan.model.change import Change, differences
from stackplan.model.facts import Facts, Origin, Query
from stackplan.model.job import Ending, Work
from stackplan.model.kind import CannotAct
from stackplan.model.location import Location
from stackplan.model.node import Node, NodeName, Transport
from stackplan.model.room import ACTIONS

AT = Location("playbooks/p.yaml", 37, 7)
# `$1` is a folder that all may enter, in the node alone; the rest are folders to lay overlays over.
OVERLAYS = """
set -e
mount -t tmpfs -o mode=755 tmpfs /mnt
for path in "$@"; do
  mkdir -p "/mnt/.over/upper$path" "/mnt/.over/work$path"
  mount -t overlay overlay -o "lowerdir=$path,upperdir=/mnt/.over/upper$path,workdir=/mnt/.over/work$path" "$path"
done
"""


@functools.cache
def available() -> bool:
    """Return whether nodes can have mount namespaces and overlays of their own."""
    if os.geteuid() != 0 or shutil.which("nsenter") is None:
        return False
    script = f"{OVERLAYS}\ntest -d /mnt/.over/upper/etc"
    argv = ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", script, "probe", "/etc"]
    return subprocess.run(argv, check=False, capture_output=True).returncode == 0


@dataclass
class IsolatedNode:
    """A process that keeps the namespaces alive, and a session with a node program inside them.

    `root` is where this machine sees the node's root folder, when that is not the process's own.
    """

    process: subprocess.Popen[bytes]
    enter: tuple[str, ...]
    session: Session | None = None
    jobs: int = 0
    root: str | None = None

    def run(self, *argv: str) -> str:
        """Run a program in the node as its administrator would at the console, and return what it printed."""
        done = subprocess.run([*self.enter, *argv], check=False, capture_output=True, text=True)
        assert done.returncode == 0, f"{argv} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def inside(self, path: str) -> Path:
        """Return where this machine sees the node's `path`."""
        return Path(f"{self.root or f'/proc/{self.process.pid}/root'}{path}")

    def open(self) -> Session:
        if self.session is None:
            node = Node(name=NodeName("isolated"), transport=Transport.COMMAND, command=self.enter)
            self.session = connect(node)
        return self.session

    def ask(self, *queries: Query) -> Facts:
        return Facts("isolated", Origin.LIVE, "2026-12-01T03:10:22Z", self.open().ask(queries))

    def start(self, kind: str, **values: object) -> tuple[str, Facts]:
        """Start the job of an action; return its name and the facts from before."""
        action = ACTIONS.find(kind).read(arguments(values))
        facts = self.ask(*action.queries())
        job = action.job(facts)
        assert not isinstance(job, CannotAct), job
        self.jobs += 1
        name = f"20261201T031022Z-4f2a.step.{self.jobs}"
        self.open().start(Work(name=name, job=job, timeout_s=60.0))
        return name, facts

    def act(self, kind: str, **values: object) -> tuple[Ending, str, tuple[Change, ...]]:
        """Have an action done; return how it ended, what it printed and what changed."""
        name, before = self.start(kind, **values)
        ending, output = self.watch(name)
        action = ACTIONS.find(kind).read(arguments(values))
        after = self.ask(*action.queries())
        return ending, output, differences(action.state(before), action.state(after))

    def watch(self, name: str) -> tuple[Ending, str]:
        said: list[bytes] = []
        ending = self.open().watch(name, said.append)
        return ending, b"".join(said).decode("utf-8", "replace")

    def predict(self, kind: str, **values: object) -> object:
        """Return what an action foretells of itself on this node."""
        action = ACTIONS.find(kind).read(arguments(values))
        facts = self.ask(*action.queries())
        return action.predict(facts.merged(self.ask(*action.forecast(facts))))

    def refusal(self, kind: str, **values: object) -> CannotAct:
        action = ACTIONS.find(kind).read(arguments(values))
        job = action.job(self.ask(*action.queries()))
        assert isinstance(job, CannotAct), job
        return job


def arguments(values: Mapping[str, object]) -> Arguments:
    frozen = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    return Arguments(frozen, AT)  # type: ignore[arg-type]


@contextlib.contextmanager
def isolated_node(*overlaid: str, environment: Mapping[str, str] | None = None) -> Iterator[IsolatedNode]:
    """Yield a node whose `overlaid` folders can be written without being written."""
    script = f"{OVERLAYS}\necho ready\nexec cat"
    argv = ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", script, "node", *overlaid]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"ready\n", "the node's overlays could not be mounted"
        settings = [
            f"{name}={value}" for name, value in {"XDG_STATE_HOME": "/mnt/state", **(environment or {})}.items()
        ]
        node = IsolatedNode(process, ("nsenter", "--mount", f"--target={process.pid}", "--", "env", *settings))
        try:
            yield node
        finally:
            if node.session is not None:
                node.session.close()
            process.stdin.close()
            process.wait(15)
