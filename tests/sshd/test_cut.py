"""A network that fails while a step runs: the command goes on, is found again, and is never started a second time."""

import contextlib
import subprocess
import sys
import threading

import pytest

from tests.proxy.tcp import Proxy

SLOW = """
stackplan: 1
name: slow
nodes: all
steps:
  - id: slow
    run: {script: "echo ran >>~/runs; mkfifo ~/gate; read -r word <~/gate; echo $word; touch ~/done"}
    postconditions:
      - file: {path: ~/done}
"""


@pytest.fixture
def proxied(make_site):
    with contextlib.ExitStack() as stack:
        proxies = []

        def through_a_proxy(node):
            proxies.append(stack.enter_context(Proxy(node.port)))
            return proxies[-1].port

        yield make_site(1, ports=through_a_proxy), proxies[-1]


def test_a_step_whose_connection_is_cut_ends_once_and_is_proven(proxied):
    """The script waits at a pipe, so that the cut surely comes while it runs; after the cut it is let go on."""
    site, proxy = proxied
    (node,) = site.nodes.values()
    gate = node.sandbox.home / "gate"
    ended = []
    runner = threading.Thread(target=lambda: ended.append(site.apply(site.playbook(SLOW))))
    runner.start()
    wait_for(gate)
    proxy.cut()
    with gate.open("w") as pipe:
        pipe.write("through\n")
    runner.join()
    (outcome,) = ended
    assert outcome.status == 0, outcome.stderr
    step = outcome.step("slow")
    assert step["outcome"] == "changed"
    assert "through" in step["action"]["output_tail"]
    assert (node.sandbox.home / "runs").read_text() == "ran\n"
    assert proxy.connections >= 2


def wait_for(path):
    """Wait until `path` is there, by a program that waits for it: nothing here guesses how long that takes."""
    code = "import os, sys, time\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.01)"
    subprocess.run([sys.executable, "-c", code, path], check=True, timeout=60)
